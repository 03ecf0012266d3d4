"""Files of versions 1 and 3, made by the programs of those versions with rows in every table, under that of today."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.journal import Recovered, Sound, StoredBindings, StoredMutes, StoredStream, StoredUsage
from mud_assistant.assistant.journal.files import PAGE_BYTES
from mud_assistant.assistant.journal.schema import SCHEMA, columns_of, version_of
from mud_assistant.assistant.journal.sqlite.opening import open_file
from mud_assistant.llm import user
from mud_assistant.tools.memories import Memory, MemoryKind
from tests.assistant.journal.keeping import ANNA, NOON, SAY, event, memories_of, response, started

#: Version 1: an answered run over events 1 and 2 with a call of unknown outcome, a poison, one left open. Version 3:
#: what `write_life` of ../life.py wrote then.
OLD = {version: gzip.decompress(Path(__file__).with_name(f"version_{version}.gz").read_bytes()) for version in (1, 3)}
PAGES = [(version, page) for version, data in OLD.items() for page in range(len(data) // PAGE_BYTES)]
TABLES = ("leases", "events", "runs", "run_events", "responses", "intents", "results", "stream", "notes", "usage")
#: What rows of version 1 say where they had no column.
ADDED = {
    "SELECT DISTINCT who FROM events": [("",)],
    "SELECT DISTINCT effect FROM intents": [(1,)],
    "SELECT DISTINCT authority, sources FROM stream": [(0, b"[]#0d4cbb29")],
    "SELECT DISTINCT authority, origin, kind, importance, uses FROM memories": [(0, b"", "note", 9, 0)],
}


def kept(db: sqlite3.Connection, columns: dict[str, tuple[str, ...]]) -> dict[str, list[Any]]:
    """All rows of the tables of an old version, as far as that version knew them; of notes, what they became."""
    found = {}
    for table, names in columns.items():
        query = f"SELECT {', '.join(names)} FROM {table}"  # noqa: S608
        if table == "notes":
            wanted = [name for name in names if name != "seq"]
            query = f"SELECT {', '.join(wanted)} FROM notes"  # noqa: S608
            if version_of(db) > 3:
                became = {"about_id": "who", "about_name": "name", "trust": "authority"}
                query = f"SELECT {', '.join(became.get(name, name) for name in wanted)} FROM memories"  # noqa: S608
        found[table] = sorted(db.execute(query), key=repr)
    return found


def old_rows(folder: Path, version: int) -> tuple[dict[str, tuple[str, ...]], dict[str, list[Any]]]:
    (folder / "old").write_bytes(OLD[version])
    with closing(sqlite3.connect(folder / "old")) as db:
        columns = {table: columns_of(db, table) for table in TABLES}
        return columns, kept(db, columns)


@pytest.mark.parametrize("version", OLD)
def test_every_row_of_an_old_version_is_there_after_the_step(tmp_path: Path, version: int) -> None:
    columns, before = old_rows(tmp_path, version)
    assert all(before.values())
    (tmp_path / "j").write_bytes(OLD[version])
    for kept_copy in (tmp_path / f"j.before-{SCHEMA.version}", None):
        db, state = open_file(tmp_path / "j", SCHEMA, NOON)
        assert state == Sound(tmp_path / "j", copy=kept_copy)
        assert db is not None
        with closing(db):
            assert version_of(db) == SCHEMA.version
            assert not SCHEMA.missing(db)
            assert kept(db, columns) == before
            if version == 1:
                assert {query: db.execute(query).fetchall() for query in ADDED} == ADDED


async def test_a_journal_of_version_1_goes_on(tmp_path: Path, reactor: Any) -> None:
    (tmp_path / "j").write_bytes(OLD[1])
    async with started(tmp_path / "j", reactor) as journal:
        assert [accepted.event for accepted in await journal.pending()] == [event(4, "I wait.")]
        assert [parked.event_id for parked in await journal.parked()] == ["event-3"]
        assert [unknown.call for unknown in await journal.unknown_effects()] == [SAY]
        left = await journal.interrupted()
        assert left is not None
        assert ([accepted.event.id for accepted in left.events], left.poisoned) == (["event-4"], False)
        assert left.steps[0].response == response(SAY)
        assert left.steps[0].calls[0].intended
        anna = frozenset({ANNA.id})
        remembered = (await memories_of(journal).recall("", hearers=anna)).memories
        assert [replace(memory, id="") for memory in remembered] == [
            Memory("", "The bridge is out", MemoryKind.NOTE, NOON, importance=9),
            Memory(
                "", "Anna likes tea", MemoryKind.NOTE, NOON, ANNA.id, "Anna", importance=9, sources=anna, audience=anna
            ),
        ]
        assert len({memory.id for memory in remembered}) == 2
        entries = (await StoredStream(journal.lease).load_stream()).entries
        assert [(entry.messages, entry.event_ids, entry.authority, entry.sources) for entry in entries] == [
            ((user("Anna arrives."),), ("event-1", "event-2"), 0, ()),
            ((user("It rains."),), (), 0, ()),
        ]
        usage = await StoredUsage(journal.lease.store).load_usage()
        assert usage is not None
        assert usage["spent"]["all"]["tokens"] == 700
        assert await StoredMutes(journal.lease, journal.lease.store.wall).muted() == ()
        assert await StoredBindings(journal.lease.store).load() == frozenset()


@pytest.mark.parametrize(("version", "page"), PAGES)
def test_a_damaged_file_of_an_old_version_is_repaired_and_then_brought_up(
    tmp_path: Path, version: int, page: int
) -> None:
    data = bytearray(OLD[version])
    data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = b"\xa5" * PAGE_BYTES
    (tmp_path / "j").write_bytes(data)
    columns, before = old_rows(tmp_path, version)
    db, state = open_file(tmp_path / "j", SCHEMA, NOON)
    assert isinstance(state, Recovered)
    assert db is not None
    with closing(db):
        assert version_of(db) == SCHEMA.version
        after = kept(db, columns)
    lost = [table for table in TABLES if not set(before[table]) <= set(after[table])]
    assert len(lost) <= 2  # the table whose page it was, and what stood on it


@pytest.mark.parametrize("version", OLD)
def test_old_rows_of_a_damaged_file_of_today_are_found_page_by_page(tmp_path: Path, version: int) -> None:
    """They are shorter in their pages than new ones: the step that added columns did not write them anew."""
    (tmp_path / "j").write_bytes(OLD[version])
    columns, before = old_rows(tmp_path, version)
    db, _ = open_file(tmp_path / "j", SCHEMA, NOON)
    assert db is not None
    db.close()
    data = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(data[:64] + b"\xa5" * (PAGE_BYTES - 64) + data[PAGE_BYTES:])
    repaired, state = open_file(tmp_path / "j", SCHEMA, NOON)
    assert isinstance(state, Recovered)
    assert repaired is not None
    with closing(repaired):
        assert kept(repaired, columns) == before
        added = {query: repaired.execute(query).fetchall() for query in ADDED if version == 1}
        who = added.pop("SELECT DISTINCT who FROM events", [])
        assert who == ([(ANNA.id,)] if version == 1 else [])  # a repair reads every event, so it knows
        assert added == {query: rows for query, rows in ADDED.items() if query in added}
