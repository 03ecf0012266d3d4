"""Assistants come and go by the command `assistant`."""

from __future__ import annotations

from pathlib import Path

import pytest
from evennia.accounts.models import AccountDB

from mud_assistant.assistant.events.tick import MAX_CRASHES
from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.llm.testing import serve
from tests.evennia.office import office, ollama, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


async def test_an_assistant_is_made_where_its_maker_stands_and_lives_at_once(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        told = await here.orders("assistant/create Old Sage = You keep the |rlibrary.")
        (sage,) = creation.assistants()
        assert "Old Sage is here: Hall" in told
        assert (sage.key, sage.location) == ("Old Sage", here.village.hall)
        assert creation.config_of(sage).assistant.persona == "You keep the |rlibrary."
        assert server.runner_of(sage) is not None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("assistant/create", "Give it a name: assistant/create NAME"),
        ("assistant/create Each", "assistant/budget means others by Each"),
        ("assistant/create Boss", "A player is named Boss"),
        ("assistant/create ../x", "name: give letters, digits, spaces"),
        ("assistant/status", "There is no assistant yet. Make one with: assistant/create"),
        ("assistant/start Nobody", "There is no assistant yet"),
        ("assistant/fly", "There is no switch 'fly'. There are: create, list"),
        ("assistant/de x", "'de' is the beginning of deny, delete: type more of it."),
    ],
)
async def test_what_cannot_be_done_is_told_with_what_to_type_instead(tmp_path: Path, line: str, told: str) -> None:
    async with office(tmp_path) as here:
        assert told in await here.orders(line)
        assert creation.assistants() == []


async def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        assert "there is an assistant named sage already" in await here.orders("assistant/create sage")
        assert len(creation.assistants()) == 1


async def test_a_list_tells_where_each_is_and_what_it_thinks_with(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        creation.create_assistant("Mira", here.village.garden, start=False)
        listed = await here.orders("assistant")
        sage, mira = listed.splitlines()[2:]
        assert sage.split()[:3] == ["Sage", "Hall", "awake"]
        assert f"Ollama at {url}" in sage
        assert mira.split() == ["Mira", "Garden", "off"]


async def test_a_stopped_assistant_stays_off_until_it_is_started(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        runner = await here.sage(url)
        (sage,) = creation.assistants()
        assert "is stopped, and stays so until started again. This holds through restarts." in await here.orders(
            "assistant/stop sag"
        )
        assert (runner.state, server.runner_of(sage), creation.is_off(sage)) == (RunnerState.STOPPED, None, True)
        assert "Start it with: assistant/start Sage" in await here.orders("assistant/status Sage")
        assert "Sage starts." in await here.orders("assistant/start Sage")
        again = server.runner_of(sage)
        assert again is not None
        await again.settled()
        assert again.state is RunnerState.AWAKE
        assert "Sage runs already" in await here.orders("assistant/start Sage")


async def test_deleting_takes_the_whole_name_and_a_yes(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        assert "type the whole name: Sage" in await here.orders("assistant/delete Sa = yes")
        assert "type: assistant/delete Sage = yes" in await here.orders("assistant/delete Sage")
        assert len(creation.assistants()) == 1
        assert "what it remembered stays" in await here.orders("assistant/delete Sage = yes")
        assert creation.assistants() == []


def holds(folder: Path, words: bytes) -> bool:
    """Whether a file of the journal has these words in it."""
    return any(words in path.read_bytes() for path in folder.glob("journal*"))


async def test_who_is_deleted_with_its_memory_knows_nothing_when_it_is_made_again(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.says(here.admin, await here.sage(url), "Sage, my secret is blue")
        assert holds(tmp_path, b"my secret is blue")
        assert "and all it remembered" in await here.orders("assistant/delete Sage = yes, forget")
        assert not holds(tmp_path, b"my secret is blue")


async def test_the_emergency_stop_is_lifted(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        runner = await here.sage(url)
        assert "not under an emergency stop" in await here.orders("assistant/reset Sage")
        assert runner.assistant is not None
        tick = runner.assistant.tick
        tick._crashes = MAX_CRASHES
        assert runner.emergency
        assert "emergency stop" in await here.orders("assistant/list")
        assert "is lifted" in await here.orders("assistant/reset Sage")
        assert not runner.emergency


async def test_a_mind_is_cleared_without_forgetting_anybody(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        runner = await here.sage(url)
        await here.says(here.admin, runner, "Sage, my boat is called Heron")
        assert runner.assistant is not None
        context, who = runner.assistant.context, principal_of(here.admin.character, here.admin.character)
        known = await context.memory.memories.about(who.id)
        assert known
        assert len(context.memory.history) > 0
        for line in ("assistant/forget Sage = everything", "assistant/forget Sag", "assistant/forget"):
            assert "forgotten what" not in await here.orders(line)
            assert len(context.memory.history) > 0
        told = await here.orders("assistant/forget Sage")
        assert "has forgotten what it had in mind" in told
        assert "What it remembers of people is still there." in told
        assert len(context.memory.history) == 0
        assert await context.memory.memories.about(who.id) == known
        assert "1 memories" in await here.orders("assistant/forget Sage = memories")
        assert await context.memory.memories.about(who.id) == []
        await here.says(here.admin, runner, "Sage, how is the weather?")
        assert "Heron" not in str(fake.chats[-1].messages)


async def test_nobody_below_an_admin_has_the_command(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        anna = here.player("Anna", "Builder")
        await here.orders("assistant/create Sage", anna)
        assert creation.assistants() == []


async def test_without_a_service_the_reason_is_told(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        (sage,) = creation.assistants()
        await creation.stop_assistant(sage)
        open_, server._Running.service = server._Running.service, None
        try:
            assert "service of the assistants is not running" in await here.orders("assistant/start Sage")
            assert "Sage" in await here.orders("assistant/list")
            assert "No assistant can live now: the service of the assistants is not running" in await here.orders(
                "assistant/status"
            )
            assert "service of the assistants is not running" in await here.orders("assistant/usage")
        finally:
            server._Running.service = open_


async def test_everything_of_ours_can_be_taken_out_of_the_game(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        await here.orders("assistant/account Sage = on")
        assert "type: assistant/uninstall = yes" in await here.orders("assistant/uninstall")
        assert "install(globals())" in await here.orders("assistant/uninstall = yes")
        assert creation.assistants() == []
        assert not AccountDB.objects.filter(username="Sage").exists()
