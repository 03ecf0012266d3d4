"""A copy of the journal is kept before a version changes its tables, or they are not changed."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest

from mud_assistant.assistant.journal import ReadOnly, Sound
from mud_assistant.assistant.journal.place import is_news
from mud_assistant.assistant.journal.schema import SCHEMA, version_of
from mud_assistant.assistant.journal.sqlite.earlier_copy import KEPT_SECONDS, copies
from mud_assistant.assistant.journal.sqlite.opening import open_file
from tests.assistant.journal.keeping import NOON

OLD = gzip.decompress(Path(__file__).with_name("version_3.gz").read_bytes())
NAME = f"j.before-{SCHEMA.version}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "j").write_bytes(OLD)
    return tmp_path / "j"


def open_and_close(path: Path, now: float = NOON) -> object:
    db, state = open_file(path, SCHEMA, now)
    if db is not None:
        db.close()
    return state


def rows(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


def test_the_copy_holds_what_was_there_and_the_version_before_opens_it(path: Path) -> None:
    before = rows(path)
    state = open_and_close(path)
    assert isinstance(state, Sound)
    assert is_news(state)
    assert state.sentence.endswith(f"It is kept as it was before as {NAME}, for 30 days.")
    copy = path.with_name(NAME)
    assert rows(copy) == before
    assert copy.stat().st_mode & 0o777 == 0o600
    db, state = open_file(copy, SCHEMA.upto(3), NOON)
    assert db is not None
    db.close()
    assert state == Sound(copy)


def test_what_is_only_in_the_log_of_a_killed_program_is_in_the_copy(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("INSERT INTO muted VALUES ('sage', 'player:9', 'Otto', 1.0)")
        db.commit()
        (tmp_path / "left").mkdir()
        for name in ("j", "j-wal"):  # as a kill leaves them
            shutil.copy(tmp_path / name, tmp_path / "left")
    open_and_close(tmp_path / "left/j")
    assert "Otto" in "".join(rows(tmp_path / "left" / NAME))


def test_a_journal_of_this_version_and_a_new_one_have_no_copy(path: Path, tmp_path: Path) -> None:
    open_and_close(path)
    path.with_name(NAME).unlink()
    assert open_and_close(path) == Sound(path)
    assert not is_news(Sound(path))
    open_and_close(tmp_path / "new")
    assert list(copies(path)) == list(copies(tmp_path / "new")) == []


def test_an_interrupted_upgrade_keeps_the_copy_of_the_first_try(path: Path) -> None:
    open_and_close(path)
    copy = path.with_name(NAME)
    first = copy.read_bytes()
    path.write_bytes(OLD)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        SCHEMA.upto(5).migrate(db)
    open_and_close(path)
    assert copy.read_bytes() == first


def test_only_the_newest_copy_is_kept(path: Path) -> None:
    (path.parent / "j.before-2").write_bytes(b"of an upgrade long ago")
    (path.parent / "j.before-the-flood").write_bytes(b"the owner's own")
    open_and_close(path)
    assert {found.name for found in copies(path)} == {NAME}
    path.write_bytes(OLD)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE leases SET token = token + 1")  # it went on under the version before
        db.commit()
    open_and_close(path)
    assert rows(path.with_name(NAME)) != []
    with closing(sqlite3.connect(path.with_name(NAME))) as db:
        assert version_of(db) == 3
    assert (path.parent / "j.before-the-flood").exists()


@pytest.mark.parametrize(("age", "is_there"), [(KEPT_SECONDS - 1, True), (KEPT_SECONDS, False)])
def test_a_copy_goes_after_thirty_days(path: Path, age: float, is_there: bool) -> None:
    open_and_close(path)
    copy = path.with_name(NAME)
    assert copy.stat().st_mtime == NOON
    open_and_close(path, NOON + age)
    assert copy.exists() is is_there


def test_without_room_for_the_copy_nothing_is_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 2**20))
    state = open_and_close(path)
    assert isinstance(state, ReadOnly)
    assert state.cause == (
        "1 MiB are free, and the copy that is kept before its tables are changed needs 17 MiB: make room there"
    )
    assert path.read_bytes() == OLD
    assert list(copies(path)) == []
    monkeypatch.undo()
    assert isinstance(open_and_close(path), Sound)


def test_a_copy_that_cannot_be_written_leaves_the_journal_as_it_is(path: Path) -> None:
    (path.parent / "j.copying").mkdir()
    state = open_and_close(path)
    assert isinstance(state, ReadOnly)
    assert path.read_bytes() == OLD


def test_a_newer_journal_is_refused_and_its_bytes_stay(path: Path) -> None:
    open_and_close(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
        db.commit()
    before = {found.name: found.read_bytes() for found in path.parent.iterdir()}
    refused, state = open_file(path, SCHEMA, NOON)
    assert refused is None
    version = SCHEMA.version
    assert state.sentence == (
        f"{path} is not used as the journal: it was written by a newer mud-assistant (version {version + 1}, this one "
        f"knows {version}). It was left as it is."
    )
    assert {found.name: found.read_bytes() for found in path.parent.iterdir()} == before
