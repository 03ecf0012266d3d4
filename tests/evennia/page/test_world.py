"""What the page shows and changes of a game is what the commands show and change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from twisted.internet.defer import succeed
from twisted.internet.task import Clock

from mud_assistant.assistant.characters import CharacterError
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import ServiceNotRunning
from mud_assistant.assistant.page.operations.making import say
from mud_assistant.assistant.page.operations.settings import character, preview_lore
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import InvalidInput, NotFound, PageHost, Visitor
from mud_assistant.assistant.page.values.actions import NewModel
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.service.operations.lore_pieces import add_piece, delete_piece
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.personas import set_persona
from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.page.world import GameHost
from mud_assistant.assistant.worlds.evennia.stored import game_overrides
from mud_assistant.llm.testing import serve
from mud_assistant.tools import Kind, Principal
from tests.evennia.office import Office, office, ollama, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")
T = TypeVar("T")
BOSS = Visitor(Principal("account:1", "Boss", Kind.OPERATOR, 5), VisitorRole.OWNER, "session")


def at_once(work: Callable[[], T], /) -> Awaitable[T]:
    """The tables of the tests are in the memory of this thread's connection."""
    return succeed(work())


@asynccontextmanager
async def with_sage(folder: Path) -> AsyncIterator[tuple[Office, GameHost, str]]:
    """An office with Sage, the game as the page sees it, and Sage's id."""
    async with office(folder) as here:
        await here.orders("assistant/create Sage")
        (sage,) = creation.assistants()
        yield here, GameHost(Clock(), at_once), server.id_of(sage)


def sources(here: Office, host: PageHost) -> Sources:
    """What the page reads and changes, without a journal to read."""
    records: Any = None
    return Sources(here.service, host, records, "1", lambda: 0.0)


async def line(host: GameHost, name: str, assistant: str = "") -> SettingLine:
    (found,) = [one for one in await host.settings(assistant) if one.name == name]
    return found


async def test_assistants_are_listed_once_a_second(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        clock = Clock()
        host = GameHost(clock, at_once)
        assert list(host.assistants()) == []
        await here.orders("assistant/create Sage")
        assert list(host.assistants()) == []
        clock.advance(1)
        (sage,) = host.assistants()
        assert (sage.name, sage.is_off, sage.place) == ("Sage", False, "Hall")
        await host.stay_off(sage.id)
        (sage,) = host.assistants()
        assert sage.is_off


async def test_an_assistant_is_stopped_and_started_as_by_the_commands(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage):
        await host.stay_off(sage)
        await host.stay_off(sage)
        assert "off" in await here.orders("assistant/list")
        await host.start(sage)
        assert sage in here.service.runners


async def test_nobody_is_found_under_an_id_of_something_else(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, _):
        for wrong in ("", "Sage", "assistant:", "assistant:999", f"assistant:{here.village.hall.pk}", "assistant:²",
                      "assistant:1 or 1", f"assistant:{'9' * 50}"):  # fmt: skip
            with pytest.raises(NotFound):
                await host.start(wrong)


async def test_names_are_those_of_accounts_characters_and_assistants(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage):
        boss = here.admin
        account, character = f"account:{boss.account.pk}", f"character:{boss.character.pk}"
        asked = [account, character, sage, "account:9999", "world", "thing:x", f"character:{'9' * 50}"]
        assert await host.names(asked) == {account: "Boss", character: "Boss", sage: "Sage"}


async def test_a_setting_says_what_set_it(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage):
        assert (await line(host, "max_steps", sage)).set_by == "default"
        assert (await line(host, "model.url", sage)).set_by == "game"
        done = await host.change_setting(sage, "max_steps", "7", force=False)
        assert (done.value, done.sentence) == ("7", "Sage: max_steps = 7 (kept).")
        changed = await line(host, "max_steps", sage)
        assert (changed.set_by, changed.value) == ("assistant", "7")
        assert "max_steps = 7, set here" in await here.orders("assistant/show Sage max_steps")
        await host.change_setting(sage, "max_steps", "", force=False)
        assert (await line(host, "max_steps", sage)).set_by == "default"
        await set_persona(Operated(here.service, host), BOSS, sage, "librarian")
        played = await line(host, "persona", sage)
        assert (played.set_by, played.value) == ("character", (await character(sources(here, host), sage)).persona)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("max_steps", "99", "give a whole number from 1 to 10"),
        ("max_stepps", "9", "those like it: max_steps"),
        ("temperature", "hot", "temperature"),
    ],
)
async def test_a_wrong_value_is_refused_as_by_the_command(tmp_path: Path, option: str, value: str, told: str) -> None:
    async with with_sage(tmp_path) as (_, host, sage):
        with pytest.raises(SettingsError, match=told):
            await host.change_setting(sage, option, value, force=False)
        assert creation.settings_of(creation.assistants()[0]) == {}


async def test_a_model_is_asked_before_a_change_is_kept(tmp_path: Path) -> None:
    fake = ollama()
    async with serve(fake, reactor) as url, with_sage(tmp_path) as (_, host, sage):
        with pytest.raises(InvalidInput, match="The old setting stays") as refused:
            await host.change_setting(sage, "model.provider", "ollama sage http://127.0.0.1:9", force=False)
        assert "force" not in str(refused.value)
        assert creation.settings_of(creation.assistants()[0]) == {}
        done = await host.change_setting(sage, "model.provider", f"ollama sage {url}", force=False)
        assert done.sentence.startswith("Kept: ")
        assert done.value == "ollama"
        assert (await line(host, "model.model", sage)).value == "sage"
        done = await host.change_setting(sage, "model.model", "another", force=True)
        assert done.sentence.startswith("Kept without being tried")


async def test_a_key_is_refused_and_never_repeated(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (_, host, sage):
        planted = "sk-planted-1234567890abcdef1234567890"
        for option, value in (("model.key", planted), ("model.provider", f"openai gpt {planted}")):
            with pytest.raises(InvalidInput) as refused:
                await host.change_setting(sage, option, value, force=True)
            assert planted not in str(refused.value)
        with pytest.raises(InvalidInput):
            await host.change_setting("", "web.search_provider", planted, force=False)
        assert planted not in str(await host.settings(sage))


async def test_tools_names_and_limits_are_changed_by_their_own_functions(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage):
        await host.change_setting(sage, "tools", "-whisper", force=False)
        assert "Not granted: whisper" in await here.orders("assistant/tools Sage")
        await host.change_setting(sage, "name", "Sagitta", force=False)
        assert creation.assistants()[0].key == "Sagitta"
        with pytest.raises(InvalidInput, match="A player is named Boss"):
            await host.change_setting(sage, "name", "Boss", force=False)
        await host.change_setting(sage, "budget", "5 calls", force=False)
        limit = await line(host, "budget", sage)
        assert (limit.value, limit.set_by) == ("5 calls", "assistant")
        await host.change_setting(sage, "budget", "", force=False)
        limit = await line(host, "budget", sage)
        assert (limit.value, limit.set_by) == ("none", "default")


async def test_settings_of_the_whole_game_are_its_limits_and_its_web(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, _):
        for option, value in (("budget.total", "20 calls 2.5 money"), ("budget.player_per_minute", "6"),
                              ("web.searches_per_hour", "3")):  # fmt: skip
            done = await host.change_setting("", option, value, force=False)
            assert done.value == value
            assert (await line(host, option)).set_by == "game"
        assert "6 times at most" in await here.orders("assistant/budget")
        assert game_overrides()["budget"]["total"] == {"calls": 20, "tokens": None, "money": 2.5}
        await host.change_setting("", "budget.player_per_minute", "", force=False)
        assert (await line(host, "budget.player_per_minute")).value == "none"
        with pytest.raises(SettingsError, match=r"of the whole game; there are: budget.total"):
            await host.change_setting("", "max_steps", "3", force=False)
        with pytest.raises(InvalidInput, match="Give numbers"):
            await host.change_setting("", "budget.total", "much", force=False)


async def test_persona_and_lore_are_shown_and_changed(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage):
        await set_persona(Operated(here.service, host), BOSS, sage, "You are a grumpy cook.")
        shown = await character(sources(here, host), sage)
        assert (shown.persona, shown.character, shown.lore) == ("You are a grumpy cook.", "", ())
        assert "librarian" in shown.known_characters
        with pytest.raises(InvalidInput, match="There is no character 'wizzard'"):
            await set_persona(Operated(here.service, host), BOSS, sage, "wizzard")
        there, keys = Operated(here.service, host), ["well", "bucket"]
        told = await add_piece(there, BOSS, sage, title="The well", keys=keys, text="It is dry\nsince spring.")
        assert "The well stands in" in told
        (piece,) = (await character(sources(here, host), sage)).lore
        assert (piece.number, piece.title, piece.keys, piece.text, piece.own) == (
            1, "The well", ("well", "bucket"), "It is dry since spring.", True,
        )  # fmt: skip
        assert "The well" in await here.orders("assistant/lore Sage")
        brought = await preview_lore(sources(here, host), sage, "Where is a bucket?")
        assert (brought.pieces, brought.text) == ((piece,), "It is dry since spring.")
        assert (await preview_lore(sources(here, host), sage, "Hello.")).pieces == ()
        for title, keys, text in (("", ["well"], "text"), ("title", [], "  "), ("title", ["a,b"], "text"),
                                  ("The well", [], "again")):  # fmt: skip
            with pytest.raises((InvalidInput, CharacterError)):
                await add_piece(there, BOSS, sage, title=title, keys=keys, text=text)
        with pytest.raises(InvalidInput):
            await delete_piece(Operated(here.service, host), BOSS, sage, 2)
        assert "Deleted" in await delete_piece(Operated(here.service, host), BOSS, sage, 1)
        assert (await character(sources(here, host), sage)).lore == ()


async def test_what_ships_is_not_deleted(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage):
        await set_persona(Operated(here.service, host), BOSS, sage, "librarian")
        shown = await character(sources(here, host), sage)
        assert shown.character == "librarian"
        assert [piece for piece in shown.lore if piece.own] == []
        for piece in shown.lore[:1]:
            with pytest.raises(InvalidInput, match="only what was added later"):
                await delete_piece(Operated(here.service, host), BOSS, sage, piece.number)


async def test_the_doctor_of_the_game_is_that_of_the_command(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (_, host, _sage):
        found = {one.check: one.state for one in await host.findings()}
        assert (found["service"], found["page"]) == ("ok", "ok")


async def test_while_no_service_runs_the_page_says_so(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage):
        runner = here.service.runners[sage]
        assert runner.state is not RunnerState.STOPPED
        await host.stay_off(sage)
        server._Running.service = None
        try:
            with pytest.raises(ServiceNotRunning, match="not running"):
                await host.start(sage)
        finally:
            server._Running.service = here.service


async def test_an_assistant_is_made_as_by_the_command(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, _):
        told = await host.create("Mira", "You are a grumpy cook.")
        assert told.startswith("Mira is here: ")
        _, mira = creation.assistants()
        assert creation.config_of(mira).assistant.persona == "You are a grumpy cook."
        assert server.id_of(mira) in here.service.runners
        assert [one.name for one in host.assistants()] == ["Sage", "Mira"]
        told = await host.create("Brann", "librarian")
        assert creation.config_of(creation.assistants()[-1]).assistant.character == "librarian"
        for taken in ("Mira", here.admin.character.key):
            with pytest.raises((InvalidInput, SettingsError)):
                await host.create(taken, "")
        with pytest.raises((InvalidInput, SettingsError)):
            await host.create("", "")
        assert len(creation.assistants()) == 3


async def test_provider_address_model_and_key_are_changed_as_one(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (_, host, sage), serve(ollama(), reactor) as url:
        wanted = NewModel(provider="ollama", url=url, model="sage")
        config = await host.model_with(sage, wanted)
        assert (config.provider, config.url, config.model, config.key) == ("ollama", url, "sage", "")
        (there,) = creation.assistants()
        assert "model" not in creation.settings_of(there)
        assert "Kept. Sage: provider ollama, model sage" in await host.keep_model(sage, wanted)
        table = creation.settings_of(there)["model"]
        assert {name: table[name] for name in ("provider", "url", "model", "key")} == {
            "provider": "ollama", "url": url, "model": "sage", "key": "",
        }  # fmt: skip
        with pytest.raises((InvalidInput, SettingsError)) as caught:
            await host.model_with(sage, NewModel(provider="openai", key="sk-planted-0123456789abcdef0123456789"))
        assert "sk-planted" not in str(caught.value)
        runner = server.runner_of(there)
        assert runner is not None
        await runner.settled()
        assert runner.models[0].provider.model == "sage"


async def test_who_says_something_by_the_page_reads_the_answer_in_an_empty_room(tmp_path: Path) -> None:
    async with with_sage(tmp_path) as (here, host, sage), serve(ollama(), reactor) as url:
        await host.keep_model(sage, NewModel(provider="ollama", url=url, model="sage"))
        (there,) = creation.assistants()
        there.location = here.village.garden
        runner = server.runner_of(there)
        assert runner is not None
        await runner.settled()
        here.admin.raw()
        done = await say(sources(here, host), BOSS, sage, "Hello Sage")
        assert done.sentence == "Sage has dealt with it."
        assert here.admin.heard() == []
        entries = str(runner.assistant and runner.assistant.context.memory.history.entries())
        assert "Hello Sage" in entries
        assert "Hello there." in entries
