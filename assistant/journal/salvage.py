"""Carries what can still be read of a damaged journal into a new one. The damaged file is kept.

It reads a copy, so what was found stays as it was found. The new file is whole before it takes the old one's name; a
kill at any moment leaves either the damaged file in its place or the new one about to take it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from assistant.journal.errors import BrokenRecord, NewerRecord
from assistant.journal.files import PAGE_BYTES, beside, build, connect, put_in_place, remove
from assistant.journal.mark import forget_mark, skip_numbers
from assistant.journal.pages import Pages
from assistant.journal.rows import Rows
from assistant.journal.schema import Schema, columns_of, version_of
from assistant.journal.shapes import EVENT
from assistant.journal.wal import with_log

#: A header that claims more pages than this beyond the file's end is not believed.
_MAX_MISSING_PAGES = 100_000
_CHILDREN = ("run_events", "responses", "intents", "results")


def salvage(path: Path, schema: Schema, now: float) -> Path:
    """Where the damaged file was set aside; a repaired one is in its place. OSError or sqlite3.Error: nothing changed.

    Needs room on the disk for the file twice.
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
    """Put a repaired file in its place; where the damaged one is now, None when nothing was to be done."""
    salvaged = beside(path, ".salvaged")
    if not salvaged.exists():
        return None
    aside = _aside(path)
    for ending in ("", "-wal"):
        found, kept = beside(path, ending), beside(aside, ending)
        if found.exists() and not kept.exists():
            _keep(found, kept)
    for ending in ("-wal", "-shm"):  # a log beside a file that it does not belong to would ruin it
        beside(path, ending).unlink(missing_ok=True)
    put_in_place(salvaged, path)
    forget_mark(path)
    return aside


def set_aside_log(path: Path) -> Path | None:
    """Where the write-ahead log of a missing file is now, None when there was none."""
    log = beside(path, "-wal")
    if not log.exists() or not log.stat().st_size:
        return None
    aside = _aside(path)
    log.rename(beside(aside, "-wal"))
    return beside(aside, "-wal")


def copy_log_aside(path: Path) -> Path | None:
    """Copy the write-ahead log to a name of its own; None when there is none."""
    log = beside(path, "-wal")
    if not log.exists() or not log.stat().st_size:
        return None
    kept = beside(_aside(path), "-wal")
    shutil.copy2(log, kept)
    return kept


def _aside(path: Path) -> Path:
    """The name for the damaged file: the one it has already, or the next that is free."""
    number = 1
    while True:
        aside = beside(path, f".damaged-{number}")
        if not aside.exists() and not beside(aside, "-wal").exists():
            return aside
        if path.exists() and aside.exists() and aside.samefile(path):
            return aside
        number += 1


def _keep(found: Path, kept: Path) -> None:
    """Give a file a second name; where the file system cannot, make a copy."""
    try:
        os.link(found, kept)
    except OSError:
        shutil.copy2(found, kept)


def _carry(path: Path, scratch: Path, target: sqlite3.Connection, schema: Schema) -> Rows:
    """Carry over what the tables' trees lead to, and then what their pages hold besides."""
    log = beside(path, "-wal")
    data = with_log(path.read_bytes(), log.read_bytes() if log.exists() else b"")
    scratch.write_bytes(_padded(data))
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
    """The version that the file says it has, ours when it says nothing sensible."""
    with path.open("rb") as file:
        version = int.from_bytes(file.read(64)[60:], "big")
    return version if 0 < version <= schema.version else schema.version


def _padded(data: bytes) -> bytes:
    """The file with zeros up to what its header says, when it was cut off: SQLite opens no shorter one."""
    pages = -(-len(data) // PAGE_BYTES)
    claimed = int.from_bytes(data[28:32], "big")
    if pages < claimed < pages + _MAX_MISSING_PAGES:
        pages = claimed
    return data.ljust(pages * PAGE_BYTES, b"\0")


def _settle(db: sqlite3.Connection, now: float) -> None:
    """Make the carried rows fit together again, and skip the numbers that lost rows may have had."""
    db.execute("BEGIN IMMEDIATE")
    has_who = "who" in columns_of(db, "events")
    for seq, event_id, record in db.execute("SELECT seq, id, payload FROM events").fetchall():
        with suppress(BrokenRecord, NewerRecord):  # the record has a checksum, the columns have none
            event = EVENT.decode(record)
            if event.id != event_id:
                db.execute("UPDATE OR IGNORE events SET id = ? WHERE seq = ?", (event.id, seq))
            if has_who:
                db.execute("UPDATE events SET who = ? WHERE seq = ? AND who <> ?", (event.who.id, seq, event.who.id))
    for table in _CHILDREN:  # a run that lost its row: open when its events still wait, so that it is looked at
        db.execute(
            f"""INSERT INTO runs (seq, assistant, token, opened_at, closed_at)
                SELECT run, min(assistant), 0, ?, CASE WHEN EXISTS (
                    SELECT 1 FROM run_events JOIN events ON events.seq = event
                    WHERE run_events.run = {table}.run AND state = 'pending') THEN NULL ELSE ? END
                FROM {table} WHERE run NOT IN (SELECT seq FROM runs) GROUP BY run""",  # noqa: S608  (our own names)
            (now, now),
        )
    db.execute("DELETE FROM run_events WHERE event NOT IN (SELECT seq FROM events)")
    skip_numbers(db)
    db.execute("COMMIT")
