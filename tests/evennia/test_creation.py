"""Making, changing and deleting assistants in a running game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import ServiceNotRunning
from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.assistant.worlds.evennia import creation, runners, server
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.llm.testing import serve
from tests.evennia.opened import NO_MODEL, hello, model_at, opened, reactor, settled, turns
from tests.evennia.village import script_of

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


async def test_a_new_assistant_lives_at_once_hears_and_answers(tmp_path: Path) -> None:
    fake = hello()
    async with serve(fake, reactor) as url, opened(tmp_path, model_at(url)) as village:
        anna = village.player("Anna")
        sage = creation.create_assistant("Sage", village.hall)
        assert isinstance(sage, AssistantCharacter)
        anna.raw()
        anna.does("say Hello Sage")
        await settled(sage)
        assert 'Sage says, "Hello there."' in anna.heard()
        runner = server.runner_of(sage)
        assert runner is not None
        assert (runner.state, runner.embodiment.me.id, runner.config.assistant.name) == (
            RunnerState.AWAKE, f"assistant:{sage.pk}", "Sage",
        )  # fmt: skip


async def test_nothing_that_was_said_while_it_started_is_lost(tmp_path: Path) -> None:
    fake = hello()
    async with serve(fake, reactor) as url, opened(tmp_path, model_at(url)) as village:
        anna = village.player("Anna")
        sage = creation.create_assistant("Sage", village.hall)
        anna.does("say Hello Sage")
        creation.change_settings(sage, {"assistant": {"max_steps": 2}})
        anna.does("say Are you there, Sage?")
        await settled(sage)
        asked = str([request.messages for request in fake.chats])
        assert "Hello Sage" in asked
        assert "Are you there" in asked


async def test_its_settings_are_the_games_then_its_name_then_its_own(tmp_path: Path) -> None:
    toml = f"{NO_MODEL}\n[assistant]\nname = 'Everybody'\nmax_steps = 3\n[assistant.required_permission]\nmove = 2\n"
    async with opened(tmp_path, toml) as village:
        sage = creation.create_assistant("Sage", village.hall, overrides={"assistant": {"permission": 2}})
        config = creation.config_of(sage).assistant
        assert (config.name, config.max_steps, config.permission, config.required_permission) == (
            "Sage",
            3,
            2,
            {"move": 2},
        )
        runner = server.runner_of(sage)
        assert runner is not None
        assert (runner.embodiment.me.name, runner.embodiment.me.permission) == ("Sage", 2)
        assert creation.settings_of(sage) == {"assistant": {"permission": 2}}


@pytest.mark.parametrize("name", ["", "!", "x" * 41, "Sage", "SAGE", "  sage  "])
async def test_a_name_that_cannot_be_makes_nothing(name: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        creation.create_assistant("Sage", village.hall)
        before = len(village.hall.contents)
        with pytest.raises(SettingsError):
            creation.create_assistant(name, village.hall)
        assert len(village.hall.contents) == before


async def test_settings_that_cannot_be_change_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall, overrides={"assistant": {"max_steps": 4}})
        runner = server.runner_of(sage)
        with pytest.raises(SettingsError, match="max_steps"):
            creation.change_settings(sage, {"assistant": {"max_steps": 99}})
        with pytest.raises(SettingsError, match=r"model\.key"):
            creation.change_settings(sage, {"model": {"key": "sk-this-is-no-reference"}})
        assert creation.settings_of(sage) == {"assistant": {"max_steps": 4}}
        assert server.runner_of(sage) is runner


async def test_changed_settings_are_kept_and_lived_with(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall)
        before = server.runner_of(sage)
        after = creation.change_settings(sage, {"assistant": {"max_steps": 2}})
        assert after is not None
        assert after is not before
        assert after is server.runner_of(sage)
        assert after.config.assistant.max_steps == 2
        assert creation.settings_of(sage) == {"assistant": {"max_steps": 2}}


async def test_what_is_given_out_is_a_copy(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall, overrides={"assistant": {"aliases": ["old one"]}})
        creation.settings_of(sage)["assistant"]["aliases"].append("fool")
        assert creation.settings_of(sage) == {"assistant": {"aliases": ["old one"]}}
        assert type(creation.settings_of(sage)["assistant"]) is dict


async def test_one_that_is_switched_off_stays_off_until_it_is_started(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall, start=False)
        await turns()
        assert server.runner_of(sage) is None
        _server_starts(sage)
        assert server.runner_of(sage) is None
        assert creation.start_assistant(sage) is server.runner_of(sage)
        await creation.stop_assistant(sage)
        _server_starts(sage)
        assert (server.runner_of(sage), creation.is_off(sage)) == (None, True)


async def test_its_settings_stand_in_one_attribute_of_the_script_and_nowhere_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        stock = {kept.key for kept in village.figure("Rose").attributes.all()}
        sage = creation.create_assistant("Sage", village.hall, overrides={"assistant": {"permission": 5}})
        script = script_of(sage)
        assert script is not None
        assert [kept.key for kept in script.attributes.all()] == ["overrides"]
        assert {kept.key for kept in sage.attributes.all()} == stock
        assert "developer" not in [tag.db_key for tag in sage.db_tags.all()]


async def test_deleting_one_stops_it_and_leaves_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall)
        runner = server.runner_of(sage)
        assert runner is not None
        await creation.delete_assistant(sage)
        assert (runner.state, sage.pk, creation.assistants()) == (RunnerState.STOPPED, None, [])


async def test_with_forget_what_it_remembers_is_deleted_as_well(tmp_path: Path) -> None:
    fake = hello()
    async with serve(fake, reactor) as url, opened(tmp_path, model_at(url)) as village:
        anna = village.player("Anna")
        sage = creation.create_assistant("Sage", village.hall)
        anna.does("say Hello Sage, I am a beekeeper")
        await settled(sage)
        await creation.delete_assistant(sage, forget=True)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "server").glob("assistants.sqlite3*"))
    assert b"beekeeper" not in kept


async def test_a_character_that_a_builder_destroys_takes_its_assistant_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall)
        runner = server.runner_of(sage)
        assert runner is not None
        assert sage.delete()
        await turns()
        assert (runner.state, creation.assistants()) == (RunnerState.STOPPED, [])


async def test_without_a_service_one_is_made_all_the_same_and_lives_when_the_server_has_started(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as village:
        await server.close_service()
        sage = creation.create_assistant("Sage", village.hall)
        assert server.runner_of(sage) is None
        with pytest.raises(ServiceNotRunning):
            creation.start_assistant(sage)
        server.open_service()
        _server_starts(sage)
        assert server.runner_of(sage) is not None


async def test_one_whose_settings_do_not_fit_any_more_says_why_and_does_not_stop_the_others(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        sage = creation.create_assistant("Sage", village.hall, start=False)
        script = script_of(sage)
        assert script is not None
        script.overrides = {"assistant": {"no_such": 1}}
        script.is_off = False
        _server_starts(sage)
        assert server.runner_of(sage) is None
        assert "no_such" in runners.trouble_of(sage)


def _server_starts(character: Any) -> None:
    """What Evennia calls for each script when its Server has started."""
    script = script_of(character)
    assert script is not None
    script.at_server_start()
