"""The journal's file and its disk."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.finding import Finding, FindingState, Problem, Unclear
from mud_assistant.assistant.checks.journal import bindings, durable, room, searchable, sound
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.journal.files import create
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.memory.recall import SqliteIndex
from mud_assistant.assistant.memory.recall_file import ENDING
from tests.assistant.living import reactor


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "sage.journal"
    create(path, SCHEMA)
    return path


def test_a_sound_file_is_sound_and_is_left_as_it_is(journal: Path) -> None:
    before = (journal.read_bytes(), sorted(journal.parent.iterdir()))
    assert sound(journal, 0.0) == f"{journal} is sound"
    assert (journal.read_bytes(), sorted(journal.parent.iterdir())) == before


@pytest.mark.parametrize(("version", "is_taken"), [((3, 33, 0), False), ((3, 34, 0), True)])
async def test_an_sqlite_that_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], *, is_taken: bool
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    monkeypatch.setattr(sqlite3, "sqlite_version", ".".join(map(str, version)))
    found: list[Finding] = []
    config = merged({"model": {"provider": "nobody"}, "journal": {"file": "sage.journal"}})
    await examine(reactor, DoctorRequest(config, tmp_path, {}, lambda: 1e6, found.append, lambda _: None))
    states = {finding.check: finding.state for finding in found}
    assert (states["journal"] is FindingState.OK, "journal durable" in states) == (is_taken, is_taken)
    assert any("SQLite 3.33.0, and a journal needs 3.34 or later" in finding.sentence for finding in found) != is_taken


def test_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    assert "will be made" in sound(tmp_path / "a" / "b", 0.0)
    assert not (tmp_path / "a").exists()


def test_a_damaged_file_is_told_and_not_touched(journal: Path) -> None:
    data = bytearray(journal.read_bytes())
    data[4096 * 2 : 4096 * 2 + 600] = b"\xff" * 600
    journal.write_bytes(data)
    with pytest.raises(Problem, match=r"damaged.*the next start repairs it"):
        sound(journal, 0.0)
    assert journal.read_bytes() == bytes(data)


@pytest.mark.parametrize("data", [b"Dear diary\n" * 100, b"SQLite format 3\x00" + b"\x01" * 5000])
def test_another_file_is_told(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "diary"
    path.write_bytes(data)
    with pytest.raises(Problem, match=r"name another file in journal\.file"):
        sound(path, 0.0)


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="it is a directory"):
        sound(tmp_path, 0.0)


def test_this_disk_keeps_what_is_committed_and_nothing_stays_behind(tmp_path: Path) -> None:
    assert durable(tmp_path / "not" / "there" / "yet") == "journal_mode=wal and synchronous=full work there"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="nothing can be written in"):
        durable(tmp_path / "file" / "sage.journal")


def test_room_for_all_that_the_settings_allow(tmp_path: Path) -> None:
    assert room(tmp_path / "j", JournalConfig(max_bytes=1024 * 1024)).endswith("MiB are free")
    with pytest.raises(Problem, match=r"lower journal\.max_bytes"):
        room(tmp_path / "j", JournalConfig(max_bytes=10**18))


def test_which_key_went_where_is_read(journal: Path, tmp_path: Path) -> None:
    with sqlite3.connect(journal) as db:
        db.execute("INSERT INTO key_bindings VALUES ('env:A', 'https://a.example:443', 1.0)")
    db.close()
    assert bindings(journal, 0.0) == {KeyBinding("env:A", "https://a.example:443")}
    assert bindings(tmp_path / "none", 0.0) == ()
    (tmp_path / "diary").write_text("Dear diary")
    assert bindings(tmp_path / "diary", 0.0) == ()


def test_the_index_of_memories_is_looked_at_and_left_as_it_is(journal: Path) -> None:
    assert searchable(journal) == "memories are found by their words"
    index = journal.with_name(journal.name + ENDING)
    opened = SqliteIndex(index)
    assert opened.open() == ""
    opened.close()
    assert stat.S_IMODE(index.stat().st_mode) == 0o600
    assert searchable(journal) == "memories are found by their words"
    index.write_bytes(b"no database" * 1000)
    with pytest.raises(Unclear, match="made anew at the next start"):
        searchable(journal)
    assert index.read_bytes() == b"no database" * 1000
