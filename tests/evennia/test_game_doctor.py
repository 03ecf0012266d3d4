"""What the doctor says of the game itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test import override_settings
from evennia.utils.create import create_object

from mud_assistant.assistant.checks.finding import FindingState
from mud_assistant.assistant.worlds.evennia import hooks
from mud_assistant.assistant.worlds.evennia.console import doctor
from mud_assistant.llm.testing import serve
from tests.evennia.office import office, ollama, reactor
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


async def test_what_a_day_cannot_keep_is_told_with_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "characters"
    folder.mkdir()
    entries = ("06:00", "smithy"), ("12:00", "sunken vault"), ("18:00", "hall")
    days = "".join(f'[[day]]\nfrom = "{at}"\nplace = "{place}"\nsays = ["Aye."]\n' for at, place in entries)
    (folder / "bran.toml").write_text(f'name = "Bran"\npersona = "You are Bran."\n{days}')
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        create_object("evennia.DefaultRoom", key="The Sunken Vault")
        await here.sage(url, assistant={"character": "bran", "tools": ["look", "move"]})
        told = await here.orders("assistant/doctor Sage")
    assert "day tools: Sage is not granted say, so it says nothing of the entries 06:00, 12:00, 18:00: add say" in told
    assert '"smithy" (06:00): no room of the game has such a name' in told
    assert '"sunken vault" (12:00): there is The Sunken Vault, and no way that Sage may pass' in told
    assert '"hall"' not in told
    assert "ok       day clock: it goes by the clock of the game" in told
