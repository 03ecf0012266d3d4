"""The owner sees and sets the web in the game: it counts at once and outlives a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.stored import game_overrides
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step, serve
from tests.evennia.office import Office, office, ollama, reactor
from tests.evennia.opened import opened

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")
KEY = "tvly-planted-0123456789abcdef"


def tools(here: Office) -> set[str]:
    (runner,) = here.service.runners.values()
    assert runner.assistant is not None
    return set(runner.assistant.context.tools.registry.names())


async def test_the_web_is_switched_on_and_off_for_everybody_at_once(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        assert "The web is off" in await here.orders("assistant/web")
        assert "web_search" not in tools(here)
        assert "searched with duckduckgo and read with direct" in await here.orders("assistant/web on")
        await here.settled()
        assert {"web_search", "open_page"} <= tools(here)
        shown = await here.orders("assistant/web")
        assert "The web is on." in shown
        assert ["Sage", "60", "of", "60", "60", "of", "60"] in [line.split() for line in shown.splitlines()]
        assert "The web is on already" in await here.orders("assistant/web on")
        assert "search_provider = brave" not in shown
        await here.orders("assistant/web provider = tavily duckduckgo")
        await here.settled()
        assert "The web is off" in await here.orders("assistant/web = off")
        await here.settled()
        assert "web_search" not in tools(here)
        assert "off already" in await here.orders("assistant/web off")


async def test_what_was_chosen_comes_back_when_the_web_is_switched_on_again(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/web provider = tavily, duckduckgo")
        await here.orders("assistant/web off")
        assert not here.service.web.config.search_provider
        told = await here.orders("assistant/web on")
        assert "searched with tavily, duckduckgo" in told


async def test_provider_reader_key_and_options_are_kept_and_outlive_a_restart(tmp_path: Path) -> None:
    async with office(tmp_path, environment={"MY_KEY": KEY}) as here:
        await here.orders("assistant/web provider = tavily")
        await here.orders("assistant/web reader = jina, direct")
        told = await here.orders("assistant/web key tavily = env:MY_KEY")
        assert "Kept: tavily (key env:MY_KEY)." in told
        assert "Kept: searches_per_hour = 5." in await here.orders("assistant/web searches_per_hour = 5")
        shown = await here.orders("assistant/web")
        assert "Search: tavily (key env:MY_KEY)" in shown
        assert KEY not in shown
        assert KEY not in str(game_overrides())
    async with opened(tmp_path / "game"):
        config = server.service().web.config
        assert (config.search_provider, config.read_provider) == (("tavily",), ("jina", "direct"))
        assert (config.searches_per_hour, config.providers["tavily"].key) == (5, "env:MY_KEY")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (f"key tavily = {KEY}", "A key is never typed out here"),
        (f"provider = {KEY}", "A key is never typed out here"),
        ("key tavily = env:NOPE", "type export NOPE=THE_KEY in the shell it is started from, and start the game anew"),
        ("provider = bing", "there is no 'bing'; those there are: duckduckgo, tavily"),
        (
            "provider = brave",
            "brave needs a key. Say first where it is, as in: assistant/web key brave = env:BRAVE_API_KEY",
        ),
        ("key searxng = env:MY_KEY", "needs the address of its server first: assistant/web url searxng"),
        ("url searxng = somewhere", "give the address of a server"),
        ("searches_per_hour = lots", "searches_per_hour: give a whole number from 0 to 100000, as in"),
        ("colour = red", "There is no setting of the web 'colour'"),
    ],
)
async def test_what_cannot_be_is_told_and_changes_nothing(tmp_path: Path, typed: str, told: str) -> None:
    async with office(tmp_path, environment={"MY_KEY": KEY}) as here:
        said = await here.orders(f"assistant/web {typed}")
        assert told in said
        assert KEY not in said
        assert game_overrides() == {}
        assert here.service.web.config.search_provider == ()


async def test_an_option_is_shown_whole_and_taken_back(tmp_path: Path) -> None:
    async with office(tmp_path, settings={"web": {"pages_per_hour": 9}}) as here:
        shown = await here.orders("assistant/web pages_per_hour")
        assert "pages_per_hour = 9" in shown
        assert "Example: assistant/web pages_per_hour = " in shown
        await here.orders("assistant/web pages_per_hour = 3")
        assert "Kept: pages_per_hour = 9." in await here.orders("assistant/web pages_per_hour =")


async def test_what_is_left_of_the_hour_is_counted_over_a_change_of_the_assistant(tmp_path: Path) -> None:
    calls = [Reply(calls=(Call("web_search", {"query": "roses"}),)), Reply(calls=(Call("say", {"text": "Hm."}),))]

    def brain(_: RecordedRequest) -> Step:
        return calls.pop(0)

    settings: dict[str, Any] = {
        "web": {"search_provider": "searxng", "providers": {"searxng": {"url": "http://127.0.0.1:9"}}}
    }
    async with office(tmp_path, settings=settings) as here, serve(ollama(brain), reactor) as url:
        runner = await here.sage(url)
        await here.says(here.player("Anna"), runner, "Sage, look for roses")
        assert here.service.web.left(server.id_of(creation.assistants()[0]))[0] == 59
        await here.orders("assistant/set Sage/max_steps = 7")
        await here.settled()
        assert "59 of 60" in await here.orders("assistant/web")
