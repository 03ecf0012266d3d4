"""`mud-assistant doctor --before-upgrade`: what stands in the way of a newer version, and what to do about it."""

from __future__ import annotations

import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mud_assistant.assistant.__main__ import main
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.journal.files import create
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.schema import migrate
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.backup.backup_command import LAST_BACKUP, LastBackup
from mud_assistant.assistant.surfaces.before_upgrade import OLD_BACKUP_SECONDS, before_upgrade
from tests.assistant.journal.postgres.neighbours import living
from tests.assistant.surfaces.replay.recording import NOON
from tests.postgres import PostgresServer
from tests.upgrades.stages import STAGES

OLD, WRONG, UNKNOWN = STAGES[1], FindingState.WRONG, FindingState.UNKNOWN


def examined(settings: Path) -> tuple[int, dict[str, Finding]]:
    found: list[Finding] = []
    status = before_upgrade(settings, {}, Secrets(), NOON, found.append)
    assert len({finding.check for finding in found}) == len(found)
    return status, {finding.check: finding for finding in found}


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """The settings of an installation with a journal of this version, and with a backup of an hour ago."""
    (tmp_path / "assistant.toml").write_text('[journal]\nfile = "sage.journal"\n')
    create(tmp_path / "sage.journal", SCHEMA)
    backed_up(tmp_path, 3600)
    return tmp_path / "assistant.toml"


def backed_up(folder: Path, ago: float) -> None:
    (folder / "b.tar.gz").touch()
    (folder / LAST_BACKUP).write_bytes(msgspec.json.encode(LastBackup(NOON - ago, str(folder / "b.tar.gz"))))


def test_an_installation_that_may_be_upgraded(settings: Path) -> None:
    before = {path.name: path.read_bytes() for path in settings.parent.iterdir()}
    status, found = examined(settings)
    assert status == 0
    assert {finding.state for finding in found.values()} == {FindingState.OK}
    assert found["journal tables"].sentence.endswith(f"has the tables of this version ({SCHEMA.version})")
    assert found["journal runs"].sentence == "no run is open"
    assert {path.name: path.read_bytes() for path in settings.parent.iterdir()} == before


def test_what_an_earlier_stage_left_says_what_will_become_of_it(tmp_path: Path) -> None:
    home = OLD.unpack(tmp_path) / "home"
    (home / "assistant.toml").write_text((home / "assistant.toml").read_text().replace("PLACEHOLDER", "http://[::1]:1"))
    status, found = examined(home / "assistant.toml")
    assert status == 1
    assert "budget_excuse is budget_line, excuse is fallback_line" in found["settings"].sentence
    assert f"has tables of version {OLD.tables}; the first start brings them to" in found["journal tables"].sentence
    assert f"as it is as sage.journal.before-{SCHEMA.version}" in found["journal tables"].sentence
    assert found["journal runs"].sentence == "1 run is open: the next start goes on with what was begun"
    assert found["backup"] == Finding("backup", WRONG, f"none was made here: mud-assistant backup {home}")


def test_a_game_whose_files_name_our_modules_as_before(tmp_path: Path) -> None:
    game = OLD.unpack(tmp_path) / "game"
    _, found = examined(game / "server/conf/assistant.toml")
    assert found["game files"].state is WRONG
    assert found["game files"].sentence.endswith(f"called as before there: mud-assistant upgrade {game}")
    assert main(["upgrade", str(game)]) == 0
    _, found = examined(game / "server/conf/assistant.toml")
    assert found["game files"].state is FindingState.OK


def test_a_journal_of_a_newer_version_and_a_damaged_one(settings: Path) -> None:
    path = settings.with_name("sage.journal")
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
        db.commit()
    status, found = examined(settings)
    assert (status, found["journal tables"].state) == (1, WRONG)
    assert "was written by a newer mud-assistant" in found["journal tables"].sentence
    path.write_bytes(path.read_bytes()[:20_000])
    assert "start this version once" in examined(settings)[1]["journal tables"].sentence


def test_without_room_for_the_copy(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 2**20))
    status, found = examined(settings)
    assert (status, found["journal copy"].state) == (1, WRONG)
    assert found["journal copy"].sentence.endswith("make room there")


@pytest.mark.parametrize(
    ("ago", "state", "sentence"),
    [
        (OLD_BACKUP_SECONDS + 1, WRONG, "the last one is 7 days old: mud-assistant backup"),
        (OLD_BACKUP_SECONDS - 1, FindingState.OK, "b.tar.gz is 6 days old"),
        (-60.0, FindingState.OK, "b.tar.gz is less than a day old"),
    ],
)
def test_the_age_of_the_last_backup(settings: Path, ago: float, state: FindingState, sentence: str) -> None:
    backed_up(settings.parent, ago)
    finding = examined(settings)[1]["backup"]
    assert finding.state is state
    assert sentence in finding.sentence
    (settings.parent / "b.tar.gz").unlink()
    if state is not WRONG:
        assert "is not there any more" in examined(settings)[1]["backup"].sentence


async def test_a_database_says_who_is_at_work(tmp_path: Path, postgres_url: str, reactor: Any) -> None:
    (tmp_path / "assistant.toml").write_text(f'[journal]\nurl = "{postgres_url}"\n')
    async with living(postgres_url, reactor, "alpha"):
        status, found = examined(tmp_path / "assistant.toml")
    assert status == 0
    assert found["backup"].state is UNKNOWN
    assert found["journal tables"].sentence.startswith("they are those of this version")
    at_work = f"at work: alpha {version('mud-assistant')}; upgrade and start them one after the other"
    assert found["processes"].sentence == at_work


def test_a_process_whose_version_is_not_told_is_named_too(tmp_path: Path, postgres_url: str) -> None:
    (tmp_path / "assistant.toml").write_text(f'[journal]\nurl = "{postgres_url}"\n')
    with closing(connect(postgres_url, None, "mud-assistant listens")) as db:
        migrate(db)
        db.execute("INSERT INTO processes (id, name, lock_key, address) VALUES ('older', 'alpha', 7, '')")
        db.execute("SELECT pg_advisory_lock(7)")
        found = examined(tmp_path / "assistant.toml")[1]
    assert found["processes"].sentence.startswith("at work: alpha (version unknown); upgrade")


def test_older_tables_in_a_database_and_newer_ones(tmp_path: Path, postgres_server: PostgresServer) -> None:
    schema = "of_be6d829"
    postgres_server.drop_schema(schema)
    postgres_server.execute((STAGES[2].unpack(tmp_path) / "postgres.sql").read_text().replace("PLACEHOLDER", schema))
    settings = tmp_path / "assistant.toml"
    settings.write_text(f'[journal]\nurl = "{postgres_server.url(schema)}"\n')
    status, found = examined(settings)
    assert status == 0
    assert found["journal tables"].sentence.startswith(
        "they are of version 1; the first process of this version brings"
    )
    assert found["journal runs"].sentence.startswith("1 run is open")
    assert found["processes"].sentence == "none is at work"
    postgres_server.execute(f"UPDATE {schema}.meta SET value = '99' WHERE key = 'schema version'")  # noqa: S608
    assert "newer mud-assistant (version 99" in examined(settings)[1]["journal tables"].sentence


def test_the_command_prints_it(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (settings.parent / LAST_BACKUP).unlink()
    assert main(["doctor", "--before-upgrade", "--config", str(settings)]) == 1
    assert f"wrong    backup: none was made here: mud-assistant backup {settings.parent}\n" in capsys.readouterr().out
