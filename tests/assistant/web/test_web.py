"""What the settings of [web] make: readers with their options, time for the tools, the owner's own hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.web.tools import policy_of
from mud_assistant.assistant.web.web import Web, WebProviders
from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.testing.fault_server import serve
from mud_assistant.tools.web.fetch.url import UrlRefused, parse
from tests.tools.web.fetch.fetching import Names
from tests.tools.web.read.fake_readers import FakeCrawl4AI, FakeJina
from tests.tools.web.read.services import PAGES, URL


def config(**web: Any) -> WebConfig:
    return WebConfig.model_validate({"search_provider": "tavily", **web})


@asynccontextmanager
async def made(settings: WebConfig, reactor: Any, keys: Mapping[str, str] | None = None) -> AsyncIterator[WebProviders]:
    exchange = HttpExchange(reactor)
    names = Names({"example.org": [["93.184.216.34"]]})
    providers = WebProviders(settings, keys or {}, reactor, exchange, names)
    try:
        yield providers
    finally:
        await providers.stop()
        await exchange.close()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("jina", {"engin": "browser"}, "there is no option 'engin'; there are engine, page_seconds, total_seconds"),
        ("jina", {"page_seconds": "soon"}, "option 'page_seconds'"),
        ("crawl4ai", {"main_content": "perhaps"}, "option 'main_content'"),
        ("crawl4ai", {"total_seconds": 0}, "option 'total_seconds'"),
        ("direct", {"engine": "browser"}, "direct: there is no option 'engine'; there are none"),
        ("tavily", {"depth": "basic"}, "there is no option 'depth'"),
    ],
)
async def test_an_option_that_a_reader_does_not_take_is_refused_in_a_sentence(
    reactor: Any, name: str, options: dict[str, Any], words: str
) -> None:
    settings = config(read_provider=name, providers={name: {"options": options}})
    async with made(settings, reactor) as providers:
        with pytest.raises(SettingsError) as refused:
            Web(settings, providers, reactor, Random(1))  # noqa: S311
    assert words in str(refused.value)


async def test_a_key_for_the_reader_that_takes_none_is_refused(reactor: Any) -> None:
    async with made(config(providers={"direct": {"key": "env:X"}}), reactor, {"direct": "k"}) as providers:
        with pytest.raises(ValueError, match="takes neither a key nor an address"):
            providers.read("direct")


async def test_the_options_of_readers_reach_their_servers(reactor: Any) -> None:
    jina, crawl4ai = FakeJina(reactor.seconds, PAGES), FakeCrawl4AI(reactor.seconds, PAGES)
    async with serve(jina, reactor) as jina_url, serve(crawl4ai, reactor) as crawl4ai_url:
        settings = config(
            providers={
                "jina": {"url": jina_url, "options": {"engine": "browser", "page_seconds": 7}},
                "crawl4ai": {"url": crawl4ai_url, "options": {"main_content": False}},
            }
        )
        async with made(settings, reactor) as providers:
            await providers.read("jina").read_url(URL)
            await providers.read("crawl4ai").read_url(URL)
    assert (jina.requests[0].headers["x-engine"], jina.requests[0].headers["x-timeout"]) == ("browser", "7")
    assert [one.body["f"] for one in crawl4ai.requests] == ["raw"]


async def test_the_tools_wait_for_as_long_as_their_providers_may_need(reactor: Any) -> None:
    settings = config(read_provider=["jina", "crawl4ai"], search_provider=["tavily", "searxng"])
    settings = settings.model_copy(update={"providers": config(providers={"searxng": {"url": "http://h"}}).providers})
    async with made(settings, reactor) as providers:
        tools = {tool.name: tool for tool in Web(settings, providers, reactor, Random(1)).tools("Sage")}  # noqa: S311
    assert tools["open_page"].timeout_seconds > 30 + 45
    assert tools["web_search"].timeout_seconds > 15 + 2 * 15


def test_the_owners_own_hosts_are_names_addresses_and_networks() -> None:
    own = ["nas.lan", "*.Home.Example", "192.168.7.5", "10.0.0.0/8", "fd00::/8"]
    settings = config(allow_private=own, ports=[80])
    again = WebConfig.model_validate(settings.model_dump(mode="json"))
    for policy in (policy_of(settings), policy_of(again)):
        assert policy.private_names == {"nas.lan", "home.example"}
        for url in ("http://nas.lan/", "http://a.nas.lan/", "http://192.168.7.5/", "http://10.1.2.3/"):
            assert parse(url, policy)
        for url in ("http://tv.lan/", "http://192.168.7.6/", "http://nas/", "http://127.0.0.1/", "http://xnas.lan/"):
            with pytest.raises(UrlRefused):
                parse(url, policy)


@pytest.mark.parametrize("own", ["nas lan", "http://nas.lan/", "10.0.0.0/33", "", "a_b"])
def test_a_host_that_is_none_is_told_with_what_to_write(own: str) -> None:
    with pytest.raises(ValidationError, match=r"write a name such as nas\.lan"):
        config(allow_private=[own])
