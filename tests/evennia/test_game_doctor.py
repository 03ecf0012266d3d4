"""What the doctor says of the game itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test import override_settings

from mud_assistant.assistant.checks.finding import FindingState
from mud_assistant.assistant.worlds.evennia import hooks
from mud_assistant.assistant.worlds.evennia.console import doctor
from tests.evennia.opened import opened

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


async def test_a_sound_game_has_nothing_wrong(tmp_path: Path) -> None:
    async with opened(tmp_path):
        found = {finding.check: finding for finding in await doctor.findings()}
    assert {check: finding.state for check, finding in found.items() if finding.check != doctor.DATABASE} == {
        "service": FindingState.OK, "reactor": FindingState.OK,
        "page": FindingState.OK,
    }  # fmt: skip
    assert str(tmp_path / "server/assistants.sqlite3") in found["service"].sentence


async def test_a_service_that_is_not_running_is_told() -> None:
    (found,) = [finding for finding in await doctor.findings() if finding.check == "service"]
    assert (found.state, "not running" in found.sentence) == (FindingState.WRONG, True)


def test_ports_that_other_machines_reach_are_named_with_the_setting() -> None:
    with override_settings(TELNET_INTERFACES=["0.0.0.0"], SSH_ENABLED=False, SSH_INTERFACES=["0.0.0.0"]):  # noqa: S104
        (found,) = doctor.ports()
    assert found.state is FindingState.UNKNOWN
    assert "TELNET_INTERFACES lets other machines in (0.0.0.0)" in found.sentence


@pytest.mark.parametrize(
    ("level", "state"), [("FULL", FindingState.WRONG), ("NORMAL", FindingState.OK), ("OFF", FindingState.OK)]
)
def test_the_pragma_that_is_in_force_is_what_counts(level: str, state: FindingState) -> None:
    found = doctor.judge_pragmas("wal", ("OFF", "NORMAL", "FULL").index(level))
    assert found.state is state
    assert f"synchronous={level.lower()}" in found.sentence
    assert (doctor.PRAGMAS_CURE in found.sentence) is (state is FindingState.WRONG)


def test_it_is_asked_of_the_games_own_connection() -> None:
    with connection.cursor() as cursor:
        (level,) = cursor.execute("PRAGMA synchronous").fetchone()
    assert f"synchronous={('off', 'normal', 'full', 'extra')[level]}" in doctor.pragmas_in_force().sentence


def test_the_start_of_the_server_raises_nothing() -> None:
    hooks.at_server_start()
    assert doctor.pragmas_in_force().check == "the game's database"


async def test_where_the_page_is_is_told_and_under_which_names(tmp_path: Path) -> None:
    async with opened(tmp_path):
        with override_settings(WEBSERVER_PORTS=[(4001, 4005)], ALLOWED_HOSTS=["*"]):
            (found,) = [finding for finding in await doctor.findings() if finding.check == "page"]
    assert found.sentence.startswith("http://localhost:4001/assistants, for Admins")
    assert "put it into SERVER_HOSTNAME or ALLOWED_HOSTS" in found.sentence


async def test_a_game_without_a_web_server_is_told_how_its_journal_is_read_all_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path):
        with override_settings(WEBSERVER_ENABLED=False):
            (found,) = [finding for finding in await doctor.findings() if finding.check == "page"]
    assert found.state is FindingState.SKIPPED
    journal = tmp_path / "server/assistants.sqlite3"
    assert found.sentence.endswith(f"mud-assistant serve --journal {journal} --read-only")
