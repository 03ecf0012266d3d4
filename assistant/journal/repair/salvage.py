"""Copies what can still be read of a damaged journal into a new one. The damaged file is kept.

It reads from a copy, so the damaged file is not changed. The new file is whole before it takes the old one's name. A
kill at any moment leaves either the damaged file in its place, or the new one about to take that place.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from mud_assistant.assistant.durable import put_in_place
from mud_assistant.assistant.journal.errors import BrokenRecord, NewerRecord
from mud_assistant.assistant.journal.files import PAGE_BYTES, beside, build, connect, forget_mark, remove, skip_numbers
from mud_assistant.assistant.journal.records import EVENT
from mud_assistant.assistant.journal.repair.rows import Rows
from mud_assistant.assistant.journal.repair.sqlite_format import Pages, with_log
from mud_assistant.assistant.journal.schema import Schema, columns_of, version_of

#: A header that claims this many pages or more beyond the file's end is not believed.
_MAX_MISSING_PAGES = 100_000
_CHILDREN = ("run_events", "responses", "intents", "results")


def salvage(path: Path, schema: Schema, now: float) -> Path:
    """Put a repaired file in place of the damaged one; return where the damaged one was set aside.

    Needs room on the disk for the file twice. Raises OSError or sqlite3.Error, and then nothing has changed.
    """
    scratch, new = beside(path, ".scratch"), beside(path, ".new")
    schema = schema.upto(_version(path, schema))
    try:
        with closing(build(new, schema)) as target:
            target.execute("PRAGMA foreign_keys = OFF")
            rows = _carry(path, scratch, target, schema)
            _settle(target, now)
            target.execute("INSERT OR REPLACE INTO meta VALUES ('salvage', ?)", (f"{rows.saved} {rows.places}",))
        put_in_place(new, beside(path, ".salvaged"))
    finally:
        remove(scratch)
        remove(new)
    aside = finish_salvage(path)
    if aside is None:
        raise OSError("the repaired journal is gone")
    return aside


def finish_salvage(path: Path) -> Path | None:
    """Move a repaired file to its place. Return where the damaged file is now, None when there is no repaired file."""
    salvaged = beside(path, ".salvaged")
    if not salvaged.exists():
        return None
    aside = _aside(path)
    for ending in ("", "-wal"):
        found, kept = beside(path, ending), beside(aside, ending)
        if found.exists() and not kept.exists():
            _keep(found, kept)
    for ending in ("-wal", "-shm"):  # the log of another file would ruin the new one
        beside(path, ending).unlink(missing_ok=True)
    put_in_place(salvaged, path)
    forget_mark(path)
    return aside


def set_aside_log(path: Path) -> Path | None:
    """Move the write-ahead log of a missing file aside. Return where it is now, None when there was none."""
    log = beside(path, "-wal")
    if not log.exists() or not log.stat().st_size:
        return None
    aside = _aside(path)
    log.rename(beside(aside, "-wal"))
    return beside(aside, "-wal")


def copy_log_aside(path: Path) -> Path | None:
    """Copy the write-ahead log to a name of its own. Return the copy, None when there is no log."""
    log = beside(path, "-wal")
    if not log.exists() or not log.stat().st_size:
        return None
    kept = beside(_aside(path), "-wal")
    shutil.copy2(log, kept)
    return kept


def _aside(path: Path) -> Path:
    """Return the name for the damaged file: the one it already has, or the next free one."""
    number = 1
    while True:
        aside = beside(path, f".damaged-{number}")
        if not aside.exists() and not beside(aside, "-wal").exists():
            return aside
        if path.exists() and aside.exists() and aside.samefile(path):
            return aside
        number += 1


def _keep(found: Path, kept: Path) -> None:
    """Give a file a second name, or copy it where the file system has no hard links."""
    try:
        os.link(found, kept)
    except OSError:
        shutil.copy2(found, kept)


def _carry(path: Path, scratch: Path, target: sqlite3.Connection, schema: Schema) -> Rows:
    """Copy the rows that the tables' trees lead to, and then the other rows found in the pages."""
    log = beside(path, "-wal")
    data = with_log(path.read_bytes(), log.read_bytes() if log.exists() else b"")
    scratch.write_bytes(_pad(data))
    rows = Rows(target)
    target.execute("BEGIN IMMEDIATE")
    try:
        with closing(connect(scratch)) as source:
            if version_of(source) <= schema.version and not schema.missing(source):
                rows.carry_tables(source, schema.tables())
            else:
                rows.places += 1
    except (sqlite3.DatabaseError, UnicodeError):  # SQLite's own message may hold garbled letters
        rows.places += 1  # not even its list of tables can be read
    rows.carry_found(Pages(data))
    target.execute("COMMIT")
    return rows


def _version(path: Path, schema: Schema) -> int:
    """Return the version in the file's header, ours when that is no known version."""
    with path.open("rb") as file:
        version = int.from_bytes(file.read(64)[60:], "big")
    return version if 0 < version <= schema.version else schema.version


def _pad(data: bytes) -> bytes:
    """Pad a file that was cut off with zeros up to the size in its header: SQLite does not open a shorter one."""
    pages = -(-len(data) // PAGE_BYTES)
    claimed = int.from_bytes(data[28:32], "big")
    if pages < claimed < pages + _MAX_MISSING_PAGES:
        pages = claimed
    return data.ljust(pages * PAGE_BYTES, b"\0")


def _settle(db: sqlite3.Connection, now: float) -> None:
    """Make the copied rows fit together again, and skip the numbers that lost rows may have had."""
    db.execute("BEGIN IMMEDIATE")
    has_who = "who" in columns_of(db, "events")
    for seq, event_id, record in db.execute("SELECT seq, id, payload FROM events").fetchall():
        with suppress(BrokenRecord, NewerRecord):  # the record has a checksum, the columns have none
            event = EVENT.decode(record)
            if event.id != event_id:
                db.execute("UPDATE OR IGNORE events SET id = ? WHERE seq = ?", (event.id, seq))
            if has_who:
                db.execute("UPDATE events SET who = ? WHERE seq = ? AND who <> ?", (event.who.id, seq, event.who.id))
    for table in _CHILDREN:  # a run that lost its row is open while its events are pending, so that recovery sees it
        db.execute(
            f"""INSERT INTO runs (seq, assistant, token, opened_at, closed_at)
                SELECT run, min(assistant), 0, ?, CASE WHEN EXISTS (
                    SELECT 1 FROM run_events JOIN events ON events.seq = event
                    WHERE run_events.run = {table}.run AND state = 'pending') THEN NULL ELSE ? END
                FROM {table} WHERE run NOT IN (SELECT seq FROM runs) GROUP BY run""",  # our own names
            (now, now),
        )
    db.execute("DELETE FROM run_events WHERE event NOT IN (SELECT seq FROM events)")
    skip_numbers(db)
    db.execute("COMMIT")
