"""The shapes of a Crawl4AI server, over loopback."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.read.crawl4ai import Crawl4AIReadProvider, Crawl4AISettings
from tests.tools.web.read.fake_readers import Failing, FakeCrawl4AI
from tests.tools.web.read.services import PAGES, URL, reading, refusal


def crawl4ai(token: str = "", **settings: Any) -> Any:
    return lambda shared, judge, url: Crawl4AIReadProvider(
        shared, judge, token, Crawl4AISettings(base_url=f"{url}/", **settings)
    )


async def test_a_page_is_read_whole_and_cut(reactor: Any) -> None:
    fake = FakeCrawl4AI(Clock().seconds, PAGES)
    async with reading(fake, reactor, crawl4ai()) as (reader, judge):
        page = await reader.read_url(URL, offset=10, max_length=4)
    assert (page.title, page.url, page.content, page.truncated) == ("A page", URL, "Some", True)
    assert judge.judged == [(URL, 0)]
    assert fake.requests[0].body == {"url": URL, "f": "fit", "q": None, "c": "0"}


async def test_a_page_without_main_content_is_asked_for_whole(reactor: Any) -> None:
    fake = FakeCrawl4AI(Clock().seconds, PAGES)
    fake.bare = frozenset({URL})
    async with reading(fake, reactor, crawl4ai()) as (reader, _):
        assert (await reader.read_url(URL)).content == PAGES[URL].content
    assert [one.body["f"] for one in fake.requests] == ["fit", "raw"]
    async with reading(fake, reactor, crawl4ai(main_content=False)) as (reader, _):
        await reader.read_url(URL)
    assert fake.requests[-1].body["f"] == "raw"
    assert len(fake.requests) == 3


async def test_a_private_address_never_leaves(reactor: Any) -> None:
    fake = FakeCrawl4AI(Clock().seconds, PAGES)
    async with reading(fake, reactor, crawl4ai()) as (reader, _):
        assert (await refusal(reader, "http://10.0.0.1/")).kind is ErrorKind.POLICY
    assert not fake.requests


@pytest.mark.parametrize(
    ("failing", "kind", "words"),
    [
        (Failing(403, {"detail": "Not authenticated"}), ErrorKind.AUTH, "Not authenticated"),
        (Failing(400, {"detail": "Invalid URL format."}), ErrorKind.BAD_REQUEST, "Invalid URL"),
        (Failing(422, {"detail": [{"msg": "Field required"}]}), ErrorKind.BAD_REQUEST, "Field required"),
        (Failing(429, {"error": "Rate limit exceeded: 10 per 1 minute"}), ErrorKind.RATE_LIMITED, "10 per 1 minute"),
        (Failing(500, {"detail": "Page.goto: net::ERR_CONNECTION_REFUSED"}), ErrorKind.BLOCKED_OR_EMPTY, "net::ERR"),
        (Failing(500, {"detail": "browser has been closed"}), ErrorKind.SERVER, "closed"),
        (Failing(502, b"<html>bad gateway"), ErrorKind.SERVER, "502"),
        (Failing(504, b""), ErrorKind.TIMEOUT, "504"),
        (Failing(200, {"status": "ok"}), ErrorKind.PARSE, "no Crawl4AI server"),
        (Failing(200, b"<html>"), ErrorKind.PARSE, "JSON"),
        (Failing(307, b"", {"Location": "http://10.0.0.1/"}), ErrorKind.SERVER, "redirect"),
    ],
)
async def test_what_the_server_says_instead(reactor: Any, failing: Failing, kind: ErrorKind, words: str) -> None:
    fake = FakeCrawl4AI(Clock().seconds, PAGES)
    fake.failures.append(failing)
    async with reading(fake, reactor, crawl4ai()) as (reader, _):
        error = await refusal(reader)
    assert (error.kind, error.provider) == (kind, "crawl4ai")
    assert words in error.message
    assert len(fake.requests) == 1


async def test_the_token_and_a_wrong_one(reactor: Any) -> None:
    fake = FakeCrawl4AI(Clock().seconds, PAGES, key="right")
    async with reading(fake, reactor, crawl4ai("right")) as (reader, _):
        assert (await reader.read_url(URL)).title == "A page"
    async with reading(fake, reactor, crawl4ai()) as (reader, _):
        assert (await refusal(reader)).kind is ErrorKind.AUTH


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://example.org/nowhere", ErrorKind.BLOCKED_OR_EMPTY),
        ("https://example.org/empty", ErrorKind.BLOCKED_OR_EMPTY),
    ],
)
async def test_a_page_that_is_none(reactor: Any, url: str, kind: ErrorKind) -> None:
    async with reading(FakeCrawl4AI(Clock().seconds, PAGES), reactor, crawl4ai()) as (reader, _):
        assert (await refusal(reader, url)).kind is kind


async def test_its_limit_a_minute(reactor: Any) -> None:
    fake = FakeCrawl4AI(Clock().seconds, PAGES)
    fake.per_minute = 1
    async with reading(fake, reactor, crawl4ai()) as (reader, _):
        await reader.read_url(URL)
        assert (await refusal(reader)).kind is ErrorKind.RATE_LIMITED
