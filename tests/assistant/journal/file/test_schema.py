from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mud_assistant.assistant.journal.place import OpeningRefused, Recovered, Sound
from mud_assistant.assistant.journal.schema import SCHEMA, Schema, version_of
from mud_assistant.assistant.journal.sqlite.opening import open_file

NEXT = Schema(
    (
        *SCHEMA.steps,
        ("ALTER TABLE muted ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'", "CREATE TABLE moods (mood TEXT)"),
    )
)
BROKEN = Schema((*SCHEMA.steps, ("CREATE TABLE moods (mood TEXT)", "INSERT INTO nowhere VALUES (1)")))


def opened(path: Path, schema: Schema) -> sqlite3.Connection:
    db, state = open_file(path, schema, 0.0)
    assert isinstance(state, Sound)
    assert db is not None
    return db


def test_an_older_file_becomes_one_of_this_version_with_all_it_held(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "j", SCHEMA)) as db:
        db.execute("INSERT INTO muted (assistant, principal, name, at) VALUES ('sage', '7', 'tea', 1)")
    with closing(opened(tmp_path / "j", NEXT)) as db:
        assert db.execute("SELECT name, mood FROM muted").fetchall() == [("tea", "calm")]
        assert version_of(db) == SCHEMA.version + 1
    with closing(opened(tmp_path / "j", NEXT)) as db:
        assert version_of(db) == SCHEMA.version + 1


def test_a_file_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    opened(tmp_path / "j", NEXT).close()
    before = (tmp_path / "j").read_bytes()
    db, state = open_file(tmp_path / "j", SCHEMA, 0.0)
    assert db is None
    assert isinstance(state, OpeningRefused)
    assert f"newer mud-assistant (version {SCHEMA.version + 1}, this one knows {SCHEMA.version})" in state.sentence
    assert (tmp_path / "j").read_bytes() == before


def test_a_step_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    opened(tmp_path / "j", SCHEMA).close()
    with closing(sqlite3.connect(tmp_path / "j", isolation_level=None)) as db:
        with pytest.raises(sqlite3.OperationalError):
            BROKEN.migrate(db)
        assert version_of(db) == SCHEMA.version
        assert not SCHEMA.missing(db)
        assert not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'moods'").fetchall()
    opened(tmp_path / "j", SCHEMA).close()


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT count(*) FROM events WHERE assistant = ? AND state = 'pending'", "events_pending"),
        ("SELECT id FROM events WHERE assistant = ? AND state = 'pending' ORDER BY seq", "events_pending"),
        ("SELECT id FROM events WHERE assistant = ? AND state = 'parked' ORDER BY seq", "events_parked"),
        ("SELECT seq FROM runs WHERE assistant = ? AND closed_at IS NULL AND token < 3", "runs_open"),
        ("SELECT seq FROM events WHERE assistant = ? AND who IN ('7', '')", "events_who"),
    ],
)
def test_what_is_asked_often_is_answered_from_an_index(tmp_path: Path, query: str, index: str) -> None:
    with closing(opened(tmp_path / "j", SCHEMA)) as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN {query}", ("sage",)).fetchall()
        assert index in str(plan)
        assert "TEMP B-TREE" not in str(plan)


def test_a_damaged_file_of_an_older_version_is_repaired_and_then_brought_up(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "j", SCHEMA)) as db:
        for number in range(300):
            values = ("sage", str(number), f"{number} {'tea ' * 50}")
            db.execute("INSERT INTO muted (assistant, principal, name, at) VALUES (?, ?, ?, 1)", values)
    data = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(data[:-4096])
    repaired, state = open_file(tmp_path / "j", NEXT, 0.0)
    assert isinstance(state, Recovered)
    assert repaired is not None
    with closing(repaired):
        assert version_of(repaired) == SCHEMA.version + 1
        ((kept, mood),) = repaired.execute("SELECT count(*), min(mood) FROM muted").fetchall()
        assert 250 < kept < 300
        assert mood == "calm"
