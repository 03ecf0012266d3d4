"""Advice is whole, what cannot be undone asks first, tables fit the screen, and a rename is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.worlds.evennia import accounts, creation
from mud_assistant.assistant.worlds.evennia.commands.switches import SWITCHES
from mud_assistant.assistant.worlds.evennia.console.showing import table
from mud_assistant.llm.testing import HttpError, Reply, serve
from tests.evennia.office import office, ollama, reactor
from tests.evennia.test_admin_thinking import hosted, local

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


@pytest.mark.parametrize("name", SWITCHES)
async def test_every_switch_has_a_meaning_what_comes_without_more_and_an_example(tmp_path: Path, name: str) -> None:
    switch = SWITCHES[name]
    assert switch.meaning.endswith(".")
    assert switch.bare.endswith(".")
    assert switch.example.startswith(f"assistant/{name}")
    async with office(tmp_path) as here:
        shown = await here.orders(f"assistant/help {name}")
        assert " ".join(switch.meaning.split()) in " ".join(shown.split())
        assert f"Example: {switch.example.split(' ', maxsplit=1)[0]}" in shown


async def test_help_tells_of_options_as_well_and_of_what_there_is(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        shown = await here.orders("assistant/help room_speech")
        assert '"trigger" answers it' in " ".join(shown.split())
        assert "Allowed: trigger, context or ignore." in shown
        assert "Without a setting: context" in shown
        assert "Example: assistant/web searches_per_hour = " in await here.orders("assistant/help searches_per_hour")
        assert "/parked" in await here.orders("assistant/help")
        assert "There is no switch or option 'xyz'" in await here.orders("assistant/help xyz")


@pytest.mark.parametrize("width", [40, 60, 78, 132])
async def test_tables_are_as_wide_as_the_screen(tmp_path: Path, width: int) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        here.admin.session.protocol_flags["SCREENWIDTH"] = {0: width}
        for line in ("list", "show Sage", "help", "help budget", "budget", "web", "show Sage room_speech"):
            shown = await here.orders(f"assistant/{line}")
            assert max(map(len, shown.splitlines())) <= width, line


def test_a_table_without_room_cuts_the_widest_cells_and_keeps_every_line() -> None:
    rows = [("a" * 90, "b" * 90, "c " * 90)]
    assert max(map(len, table(("one", "two", "three"), rows, 60).splitlines())) <= 60
    wrapped = table(("one", "two", "three"), rows, 60, wraps=True)
    assert max(map(len, wrapped.splitlines())) <= 60
    assert wrapped.count("c") == 90


async def test_a_name_that_is_set_renames_the_character_and_its_account(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        await here.orders("assistant/account Sage = on")
        assert "Sage is named Old Mira now" in await here.orders("assistant/set Sage/name = Old Mira")
        (mira,) = creation.assistants()
        account = accounts.account_of(mira)
        assert account is not None
        assert (mira.key, account.key) == ("Old Mira", "Old Mira")
        assert creation.config_of(mira).assistant.name == "Old Mira"
        await here.settled()
        (runner,) = here.service.runners.values()
        assert runner.embodiment.me.name == "Old Mira"
        assert "A player is named Boss" in await here.orders("assistant/set Old Mira/name = Boss")
        assert "letters, digits, spaces" in await here.orders("assistant/set Old Mira/name = ../x")
        assert creation.assistants()[0].key == "Old Mira"


async def test_an_account_is_deleted_after_a_yes(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        await here.orders("assistant/account Sage = on")
        asked = await here.orders("assistant/account Sage = off")
        assert "Nothing was done yet" in asked
        assert "assistant/account Sage = off yes" in asked
        assert "To undo it afterwards: assistant/account Sage = on" in asked
        assert accounts.account_of(creation.assistants()[0]) is not None
        await here.orders("assistant/account Sage = off, yes")
        assert accounts.account_of(creation.assistants()[0]) is None


async def test_what_is_said_of_a_missing_variable_is_whole_and_repeats_nothing(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(local(), reactor) as url:
        told = await hosted(here, url)
        assert "type export MY_KEY=THE_KEY in the shell it is started from" in told
        assert "start the game anew (evennia stop, evennia start: a reload is not enough)" in told
        assert "assistant/key Sage = env:MY_KEY" not in told
        assert "assistant/provider Sage = local" not in told


async def test_what_is_said_of_a_refused_key_does_not_ask_for_the_same_again(tmp_path: Path) -> None:
    fake = local(HttpError(401, "no such key"))
    async with office(tmp_path, environment={"MY_KEY": "sk-wrong-0123456789"}) as here, serve(fake, reactor) as url:
        told = await hosted(here, url)
        assert "The old setting stays" in told
        assert "See that env:MY_KEY holds a key of this provider" in told
        assert "= env:MY_KEY" not in told
        assert "--key" not in told


async def test_what_it_means_that_a_model_called_no_tool_is_told(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(lambda _: Reply("Yes.")), reactor) as url:
        await here.orders("assistant/create Sage")
        told = await here.orders(f"assistant/provider Sage = ollama {url}")
        assert "Kept: " in told
        assert "it may talk, and yet not walk, look or use commands" in told


async def test_status_tells_of_its_own_servers_only(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as first, serve(ollama(), reactor) as second:
        sage, mira = await here.sage(first), await here.made("Mira", second)
        await here.says(here.player("Anna"), sage, "Sage, hello")
        await here.says(here.player("Ben"), mira, "Mira, hello")
        shown = await here.orders("assistant/status Sage")
        assert f"{first}: answers normally" in shown
        assert second not in shown
        assert second in await here.orders("assistant/status")


async def test_a_player_is_limited_by_the_minute_and_counted_by_name(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        told = await here.orders("assistant/budget player = 100 calls, 1 a minute")
        assert "each player may use: 100 calls. In a minute they are answered 1 time at most." in told
        assert "may use: 100 calls. In a minute they are answered 2 times" in await here.orders(
            "assistant/budget player = 2 a minute"
        )
        await here.settled()
        (runner,) = here.service.runners.values()
        anna = here.player("Anna")
        for text in ("Sage, one", "Sage, two", "Sage, three"):
            await here.says(anna, runner, text)
        assert sum("raises a hand" in line for line in anna.heard()) == 1
        shown = await here.orders("assistant/budget")
        assert ["player", "Anna", "2", "of", "100"] in [line.split()[:5] for line in shown.splitlines()]
        assert "each player is answered 2 times at most" in shown
        assert "as often as they ask" in await here.orders("assistant/budget player = none")
