"""The script of an assistant: however it comes about, and whatever Evennia does to it, the assistant lives once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evennia.scripts.models import ScriptDB
from evennia.utils import create

from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.assistant.worlds.evennia import creation, runners, server
from mud_assistant.assistant.worlds.evennia.scripts import AssistantScript
from tests.evennia.opened import opened, turns
from tests.evennia.village import script_of

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


async def test_a_script_that_a_builder_puts_on_a_character_lives_in_the_next_turn(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = village.assistant("Sage")
        create.create_script("mud_assistant.assistant.worlds.evennia.scripts.AssistantScript", key="life", obj=sage)
        assert server.runner_of(sage) is None
        await turns()
        assert server.runner_of(sage) is not None
        assert creation.assistants() == [sage]


async def test_evennias_start_of_all_scripts_starts_each_assistant_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        await server.close_service()
        sage, iris = (creation.create_assistant(name, village.hall) for name in ("Sage", "Iris"))
        server.open_service()
        ScriptDB.objects.update_scripts_after_server_start()
        first = server.runner_of(sage)
        assert first is not None
        assert server.runner_of(iris) is not None
        # A connection to the Portal that was lost for a moment has Evennia do it all again.
        ScriptDB.objects.update_scripts_after_server_start()
        assert server.runner_of(sage) is first


async def test_it_has_no_timer_that_a_crash_could_leave_dead(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        script = script_of(creation.create_assistant("Sage", village.hall))
        assert script is not None
        assert script.interval <= 0
        assert (script.is_active, script.ndb._task, script.persistent) == (False, None, True)


async def test_without_its_script_the_character_is_an_empty_shell(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall)
        runner, script = server.runner_of(sage), script_of(sage)
        assert runner is not None
        assert script is not None
        script.delete()
        await turns()
        assert (runner.state, server.runner_of(sage), script_of(sage)) == (RunnerState.STOPPED, None, None)
        with pytest.raises(SettingsError, match="Sage is no assistant"):
            creation.settings_of(sage)


async def test_a_character_of_another_type_says_why_it_does_not_live_and_others_do(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        rose = village.figure("Rose")
        create.create_script(AssistantScript, key="life", obj=rose)
        sage = creation.create_assistant("Sage", village.hall)
        ScriptDB.objects.update_scripts_after_server_start()
        assert server.runner_of(rose) is None
        assert "its type was changed" in runners.trouble_of(rose)
        assert server.runner_of(sage) is not None


async def test_those_who_live_in_one_room_do_not_arrive_to_each_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        cast = [creation.create_assistant(name, village.hall) for name in ("Sage", "Iris", "Brom", "Ida")]
        await until_they_hear(cast)
        await server.close_service()
        server.open_service()  # a restart of the game
        ScriptDB.objects.update_scripts_after_server_start()
        await until_they_hear(cast)
        assert await events() == 0
        ann = village.player("Ann")
        ann.does("pose looks round.")
        await turns()
        for one in cast:
            await runner_of(one).inbox.written()
        assert await events() >= len(cast)  # and what is perceived is counted here


def runner_of(character: Any) -> AssistantRunner:
    runner = server.runner_of(character)
    assert runner is not None
    return runner


async def until_they_hear(cast: list[Any]) -> None:
    """Wait until the journal of each is open. There is no model to think with."""
    for one in cast:
        with pytest.raises(AssistantError):
            await runner_of(one).first_attempt()
        await runner_of(one).inbox.written()


async def events() -> int:
    """How many events all assistants were ever told of."""
    journal: Any = server.service().parts.journal
    count: int = await journal.store.read(lambda db: db.execute("SELECT count(*) FROM events").fetchone()[0])
    return count
