"""Forgets a player: what they said, what was made of it, and what was remembered of them. SQL only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress

from assistant.journal.entries import Forgotten
from assistant.journal.errors import BrokenRecord, NewerRecord
from assistant.journal.file.compacting import owe
from assistant.journal.records import EVENT
from assistant.journal.tables.lease import NAME_OF
from assistant.journal.tables.notes import forget_notes
from assistant.journal.tables.stream import names_in

#: SQL: whether an event belongs to a run that is not over.
_IN_OPEN_RUN = """EXISTS (SELECT 1 FROM run_events JOIN runs ON runs.seq = run
                  WHERE event = events.seq AND closed_at IS NULL)"""


def forget(db: sqlite3.Connection, assistant: str, principal_id: str) -> Forgotten:
    """Remove a player's settled and parked events, finished runs over them, notes about them, and their stream entries.

    Events that wait, or whose run is open, stay and are counted.
    """
    owe(db)
    settled: dict[int, str] = {}
    waiting = 0
    for seq, event_id, is_waiting in _events_of(db, assistant, principal_id):
        if is_waiting:
            waiting += 1
        else:
            settled[seq] = event_id
    one_each = [(seq,) for seq in settled]
    runs = db.executemany("DELETE FROM runs WHERE seq IN (SELECT run FROM run_events WHERE event = ?)", one_each)
    removed = runs.rowcount if settled else 0
    db.executemany("DELETE FROM events WHERE seq = ?", one_each)
    notes = forget_notes(db, assistant, principal_id)
    entries = _forget_entries(db, assistant, {principal_id}, set(settled.values()))
    return Forgotten(len(settled), removed, notes, entries, waiting)


def _events_of(db: sqlite3.Connection, assistant: str, principal_id: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the row, the id and "still waiting" of each event of the player.

    Events written by schema version 1 name the player only in the record.
    """
    rows = db.execute(
        f"""SELECT seq, id, state = 'pending' OR {_IN_OPEN_RUN}, who, payload FROM events
            WHERE assistant = ? AND who IN (?, '')""",  # noqa: S608  (our own words)
        (assistant, principal_id),
    )
    for seq, event_id, is_waiting, who, record in rows.fetchall():
        named = who
        if not who:
            with suppress(BrokenRecord, NewerRecord):
                named = EVENT.decode(record).who.id
        if named == principal_id:
            yield seq, event_id, bool(is_waiting)


def _forget_entries(db: sqlite3.Connection, assistant: str, who: set[str], event_ids: set[str]) -> int:
    """Remove the stream entries that the player is a source of, and those whose sources cannot be read."""
    rows = db.execute("SELECT seq, event_ids, sources FROM stream WHERE assistant = ?", (assistant,))
    gone = [(seq,) for seq, ids, sources in rows if _names(sources, who) or _names(ids, event_ids)]
    db.executemany("DELETE FROM stream WHERE seq = ?", gone)
    return len(gone)


def _names(record: bytes, wanted: set[str]) -> bool:
    try:
        return not wanted.isdisjoint(names_in(record))
    except (BrokenRecord, TypeError):
        return True


#: The tables that hold an assistant's life; steps, calls and results are deleted with their runs. The lease stays, so
#: that a process that still runs the assistant elsewhere stays shut out.
_ITS_OWN = ("events", "runs", "stream", "notes", "muted")


def erase(db: sqlite3.Connection, assistant: str) -> int:
    """Remove everything an assistant heard, did and remembered; return how many rows. What it spent stays."""
    owe(db)
    db.execute("DELETE FROM meta WHERE key = ?", (NAME_OF + assistant,))
    return sum(
        db.execute(f"DELETE FROM {table} WHERE assistant = ?", (assistant,)).rowcount  # noqa: S608  (our own words)
        for table in _ITS_OWN
    )
