"""What each landed stage wrote opens with the program of today, goes on, and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mud_assistant.assistant.config.settings import FORMER_NAMES
from tests.postgres import PostgresServer
from tests.upgrades.going_on import Upgraded, game_of, journal_in_database, journal_in_file, settings_of
from tests.upgrades.stages import FIXTURES, STAGES, Stage

stages = pytest.mark.parametrize("stage", STAGES, ids=[stage.commit for stage in STAGES])
with_database = [stage for stage in STAGES if stage.has_postgres]


def check(found: Upgraded) -> None:
    assert found.lost == ()
    assert found.before
    assert found.after >= found.before
    assert found.answered


@stages
def test_a_journal_in_a_file_goes_on(stage: Stage, tmp_path: Path) -> None:
    for found in journal_in_file(stage, tmp_path).values():
        check(found)


@pytest.mark.parametrize("stage", with_database, ids=[stage.commit for stage in with_database])
def test_a_journal_in_a_database_goes_on(stage: Stage, tmp_path: Path, postgres_server: PostgresServer) -> None:
    for found in journal_in_database(stage, tmp_path, postgres_server).values():
        check(found)


@stages
def test_settings_mean_what_they_meant_and_the_log_says_what_they_are_called_now(stage: Stage, tmp_path: Path) -> None:
    found, logged = settings_of(stage, tmp_path)
    check(found)
    former = [line.partition(" = ")[0] for line in stage.settings.splitlines()]
    renamed = [
        f"assistant.{name} is now called assistant.{FORMER_NAMES[name]}" for name in former if name in FORMER_NAMES
    ]
    assert sorted(logged) == sorted(renamed)


@stages
def test_the_files_of_a_game_name_what_is_there_today(stage: Stage, tmp_path: Path) -> None:
    found, said = game_of(stage, tmp_path)
    check(found)
    changed = {line.partition(" names ")[0] for line in said}
    assert ("server/conf/settings.py" in changed) is (stage.module == "assistant")


def test_each_earlier_program_refused_a_journal_of_today_and_touched_nothing() -> None:
    tried = json.loads((FIXTURES / "older.json").read_text())
    assert {one["program"] for one in tried} == {stage.commit for stage in STAGES}
    assert all(
        (one["status"], one["unchanged"]) == (2, True) and "newer mud-assistant" in one["sentence"] for one in tried
    )
