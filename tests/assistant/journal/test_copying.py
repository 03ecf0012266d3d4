"""A journal is copied whole and byte for byte, from a file to a database and back, or not at all."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import CannotCopy
from mud_assistant.assistant.journal.files import create
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.runtime.sharing.journal import RecallPostgres
from mud_assistant.assistant.surfaces.journal import copying
from mud_assistant.assistant.surfaces.journal.copying import OF_ONE_PLACE, copy_journal
from tests.assistant.journal.keeping import fact, memories_of, noon
from tests.assistant.living import reactor
from tests.assistant.surfaces.replay.recording import (
    ANSWERED,
    NOON,
    TRIGGER,
    name_of,
    record,
    said,
    says,
    store_at,
    writing,
)
from tests.postgres import PostgresServer

ODD = "Zo\u00eb \U0001f409 \ufeff\u202e \\ % ? :name 'x' \x01\x7f \uffff"
#: Rows of every table, as they may be at worst.
ROWS: dict[str, Sequence[tuple[Any, ...]]] = {
    "meta": [("name of a", ODD), ("compact", "1")],
    "leases": [("a", 7, 1.5), (ODD, 2**40, -0.0)],
    "events": [
        (3, "a", ODD, b"\x00\xff" * 600_000, "trigger", 10, 1, 0.1, "pending", 0, "", "7"),
        (9, "a", "e", b"", "context", -1, 0, 1e300, "parked", 3, ODD, ""),
        (2**53 + 1, ODD, "e", b"{}", "ignore", 0, 0, 1.0, "done", 0, "", ODD),
    ],
    "runs": [(4, "a", 6, 0.1, None, None), (5, "a", 7, 1 / 3, 2.0, b"\x00")],
    "run_events": [(4, "a", 3), (5, "a", 3), (5, "a", 9)],
    "responses": [(4, "a", 1, bytes(range(256)) * 20_000)],
    "intents": [(4, "a", 1, 0, 0.1, b"x", 0), (4, "a", 1, 1, 0.2, b"y", 1)],
    "results": [(4, "a", 1, 0, b"z")],
    "stream": [(8, "a", 5, b"[]", b"\xf0\x9f", 2, b"[]", b"")],
    "usage": [(20_000, "all assistants", 3, 2**33, 0.1 + 0.2), (-1, ODD, 0, 0, 0.0)],
    "muted": [("a", ODD, ODD, 0.7)],
    "key_bindings": [("env:A", "https://a.example:443", 1.0)],
    "memories": [
        (6, "a", "m6", "note", ODD, "7", ODD, "", "", 0.1, 9, 1, 10, 0, 0.0, "", None, "", b""),
        (2, "a", "m2", "fact", "", "7", "", "", "", 0.1, 9, 1, 10, 5, 1.5, "m6", 2.5, "e", b"\x00"),
    ],
    "memory_state": [("a", 12, b"\x00sleep")],
    "acquaintances": [("a", "7", ODD, ODD, 0.1, 0.2, 0.0, 3, -1.0)],
    "acquaintance_facts": [("a", "7", "kin", ODD, "", ODD, "", ODD, "e", "m6", 0.1, 1, 2.5, 0.0, b"\x00")],
    "goals": [("a", ODD, "7", "", "open", 0.1, 0.2, b"\x00goal"), ("a", "g2", "8", ODD, "done", -0.0, 1e300, b"")],
}
#: The highest number that a row of a table ever had, where it is above those that are there.
LAST = {"events": 2**53 + 7, "runs": 500, "stream": 8, "memories": 6}


def fill(path: Path) -> None:
    create(path, SCHEMA)
    with closing(sqlite3.connect(path)) as db, db:
        for table, rows in ROWS.items():
            marks = ", ".join("?" * len(rows[0]))
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
        for table, number in LAST.items():
            db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (number, table))


def rows_in(db: Database) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of every table, but for those of `meta` that belong to one place. The token of a lease is left out."""
    there: dict[str, list[tuple[Any, ...]]] = {}
    for table, columns in SCHEMA.tables().items():
        rows = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()  # noqa: S608
        there[table] = sorted((row for row in rows if table != "meta" or row[0] not in OF_ONE_PLACE), key=repr)
    there["leases"] = [(assistant, at) for assistant, _, at in there["leases"]]
    return there


def rows_at(place: JournalPlace) -> dict[str, list[tuple[Any, ...]]]:
    with open_for_reading(place, NOON) as journal:
        return rows_in(journal.db)


def tokens(place: JournalPlace) -> dict[str, int]:
    with open_for_reading(place, NOON) as journal:
        return dict(journal.db.execute("SELECT assistant, token FROM leases").fetchall())


def last_numbers(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT name, seq FROM sqlite_sequence"))


def test_every_table_is_filled() -> None:
    assert ROWS.keys() == SCHEMA.tables().keys()


def test_there_and_back_nothing_is_lost_or_changed(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "SLICE_ROWS", 2)
    first, database, last = tmp_path / "first", PostgresPlace(postgres_url), tmp_path / "last"
    fill(first)
    before = first.read_bytes()
    there, back = copy_journal(first, database, NOON), copy_journal(database, last, NOON)
    assert first.read_bytes() == before
    assert rows_at(first) == rows_at(database) == rows_at(last)
    assert (tokens(first), tokens(last)) == ({"a": 7, ODD: 2**40}, {"a": 9, ODD: 2**40 + 2})
    assert last_numbers(first) == last_numbers(last) == LAST
    assert (there.changed, back.changed) == (0, 0)
    sums = [{table.name: (table.rows, table.checksum) for table in copied.tables} for copied in (there, back)]
    assert all((sums[0][table] == sums[1][table]) == (table != "leases") for table in ROWS)
    assert {table: rows for table, (rows, _) in sums[0].items()} == {table: len(rows) for table, rows in ROWS.items()}


async def test_a_lived_journal_goes_on_in_the_database_and_again_in_a_file(tmp_path: Path, postgres_url: str) -> None:
    first, database, last = tmp_path / "first", PostgresPlace(postgres_url), tmp_path / "last"
    async with writing(first, "assistant:1") as journal:
        await record(journal, [said(1)], [says("Hello.")], ANSWERED)
        await journal.accept(said(2), TRIGGER)
        token = journal.lease.token
    copy_journal(first, database, NOON)
    async with writing(database, "assistant:1") as journal:
        assert journal.lease.token > token + 1
        assert [waiting.event for waiting in await journal.pending()] == [said(2)]
        await journal.accept(said(1), TRIGGER)  # it was taken before
        assert await record(journal, [said(2)], [says("Yes.")], ANSWERED) == "run-2"
    copy_journal(database, last, NOON)
    async with writing(last, "assistant:1") as journal:
        assert await record(journal, [said(3)], [says("So.")], ANSWERED) == "run-3"
        assert await journal.pending() == ()


async def test_memories_are_found_again_where_they_were_copied_to(tmp_path: Path, postgres_url: str) -> None:
    first, database, last = tmp_path / "first", PostgresPlace(postgres_url), tmp_path / "last"
    async with writing(first) as journal:
        for text in ("The old mill burnt down.", "Anna likes tea."):
            await memories_of(journal).keep(fact(text))
    copy_journal(first, database, NOON)
    index = RecallPostgres(partial(connect, postgres_url), reactor, ENGLISH)
    async with writing(database) as journal:
        found = await IndexedMemories(journal.lease, index, noon).recall("Who likes tea?", hearers=frozenset())
        assert [memory.text for memory in found.memories] == ["Anna likes tea."]
        await IndexedMemories(journal.lease, index, noon).keep(fact("The mill is built anew."))
    await index.close()
    copy_journal(database, last, NOON)
    async with writing(last) as journal:
        found = await memories_of(journal).recall("mill", hearers=frozenset())
    assert {memory.text for memory in found.memories} == {"The old mill burnt down.", "The mill is built anew."}


def test_a_nul_in_a_text_is_replaced_where_the_database_cannot_store_it(tmp_path: Path, postgres_url: str) -> None:
    path, database = tmp_path / "j", PostgresPlace(postgres_url)
    create(path, SCHEMA)
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany("INSERT INTO muted VALUES ('a', ?, ?, 1.0)", [("p\0q", "\0\0"), ("fine", "fine")])
        db.execute("INSERT INTO memory_state VALUES ('a', 1, x'0000')")
    assert copy_journal(path, tmp_path / "file", NOON).changed == 0
    assert copy_journal(path, database, NOON).changed == 2
    there = rows_at(database)
    assert there["muted"] == [("a", "fine", "fine", 1.0), ("a", "p\ufffdq", "\ufffd\ufffd", 1.0)]
    assert there["memory_state"] == [("a", 1, b"\0\0")]
    assert rows_at(tmp_path / "file") == rows_at(path)


def test_a_large_journal_is_read_in_slices_and_told_of(tmp_path: Path, postgres_url: str) -> None:
    path, told = tmp_path / "j", list[tuple[str, int, int]]()
    create(path, SCHEMA)
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            """INSERT INTO stream (assistant, importance, event_ids, payload, sources, audience)
               VALUES (?, ?, ?, ?, ?, ?)""",
            [("a", 1, b"[]", bytes(2_000_000), b"", b"")] * 6 + [("a", 1, b"[]", b"x", b"", b"")] * 4000,
        )
    copied = copy_journal(path, PostgresPlace(postgres_url), NOON, lambda *progress: told.append(progress))
    assert next(table.rows for table in copied.tables if table.name == "stream") == 4006
    with open_for_reading(PostgresPlace(postgres_url), NOON) as journal:  # the server knows what to expect there
        assert journal.db.execute("SELECT reltuples FROM pg_class WHERE oid = 'stream'::regclass").fetchone() == (4006,)
    sizes = [size for _, _, size in told]
    assert max(after - before for before, after in zip([0, *sizes], sizes, strict=False)) <= 8_100_000
    assert len(told) < 40


@pytest.mark.parametrize("way", ["file", "database"])
def test_what_is_there_already_is_left_as_it_is(tmp_path: Path, postgres_url: str, way: str) -> None:
    path = tmp_path / "j"
    fill(path)
    target: JournalPlace = tmp_path / "other" if way == "file" else PostgresPlace(postgres_url)
    copy_journal(path, target, NOON)
    before = tokens(target)
    with pytest.raises(CannotCopy, match=r"is there already|is not empty \(see its table leases\)"):
        copy_journal(path, target, NOON)
    assert tokens(target) == before
    with pytest.raises(CannotCopy, match=r"is there already|is not empty"):
        copy_journal(target, target, NOON)


@pytest.mark.parametrize("way", ["file", "database"])
def test_of_a_copy_that_came_out_wrong_nothing_is_left(
    tmp_path: Path, postgres_url: str, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    fill(tmp_path / "j")
    target: JournalPlace = tmp_path / "new" / "file" if way == "file" else PostgresPlace(postgres_url)
    whole = copying._Copying._as_copied

    def wrong(self: Any, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        copied = whole(self, table, row)
        if table == "memory_state":
            self._target.execute("UPDATE muted SET name = 'another'")
        return copied

    monkeypatch.setattr(copying._Copying, "_as_copied", wrong)
    with pytest.raises(CannotCopy, match="copy of the table muted is not what was read"):
        copy_journal(tmp_path / "j", target, NOON)
    if isinstance(target, Path):
        assert list(target.parent.iterdir()) == []
    else:
        schema = postgres_url.rpartition("%3D")[2]
        assert postgres_server.execute("SELECT 1 FROM pg_tables WHERE schemaname = %s", (schema,)) == []


async def test_a_journal_that_a_process_writes_is_not_copied(tmp_path: Path, journal_place: JournalPlace) -> None:
    async with writing(journal_place, "assistant:1"):
        told = in_another_process(journal_place, tmp_path / "copy")
        assert "in use" in told
        assert not (tmp_path / "copy").exists()
    if isinstance(journal_place, PostgresPlace):  # nobody gave the lease back: it ends by itself
        store = store_at(journal_place)
        await store.open()
        await store.write(lambda db: db.execute("UPDATE leases SET expires_at = now()"))
        await store.close()
    assert "read back, and are the same" in in_another_process(journal_place, tmp_path / "copy")


def in_another_process(source: JournalPlace, target: JournalPlace) -> str:
    command = [sys.executable, "-m", "mud_assistant", "journal", "copy", str(name_of(source)), str(name_of(target))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, env=dict(os.environ))
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_a_file_of_another_version_or_with_damage_is_not_copied(tmp_path: Path) -> None:
    old, newer, damaged = tmp_path / "old", tmp_path / "newer", tmp_path / "damaged"
    create(old, SCHEMA.upto(3))
    for path in (newer, damaged):
        fill(path)
    with closing(sqlite3.connect(newer)) as db:
        db.execute("PRAGMA user_version = 99")
    with damaged.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 4096)
    for path, why in (
        (old, "is of version 3"),
        (newer, "newer"),
        (damaged, "it is damaged"),
        (tmp_path / "absent", "there is no file"),
    ):
        with pytest.raises(Exception, match=why) as refused:
            copy_journal(path, tmp_path / "copy", NOON)
        assert type(refused.value).__name__ in {"CannotCopy", "CannotRead"}
        assert not (tmp_path / "copy").exists()


def test_why_a_database_cannot_be_the_target_is_said(tmp_path: Path, postgres_server: PostgresServer) -> None:
    fill(tmp_path / "j")
    for url, why in (
        (postgres_server.url("absent_schema"), "CREATE SCHEMA"),
        (postgres_server.url(user="nobody_here"), "no role nobody_here"),
    ):
        with pytest.raises(CannotCopy, match=why):
            copy_journal(tmp_path / "j", PostgresPlace(url), NOON)
