"""Removes what is not to be kept: what a player is forgotten by, a whole assistant, and finished runs that are old.

A player is forgotten with what they said, what was made of it, and what was remembered of them. What is old goes in
slices too small to delay other writes. SQL only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from assistant.journal.errors import BrokenRecord, NewerRecord
from assistant.journal.files import owe
from assistant.journal.protocol import Forgotten
from assistant.journal.records import EVENT
from assistant.journal.tables.lease import NAME_OF, Lease
from assistant.journal.tables.notes import forget_notes
from assistant.journal.tables.stream import names_in

#: SQL: whether an event belongs to a run that is not over.
_IN_OPEN_RUN = """EXISTS (SELECT 1 FROM run_events JOIN runs ON runs.seq = run
                  WHERE event = events.seq AND closed_at IS NULL)"""
#: The tables that hold an assistant's life; steps, calls and results are deleted with their runs. The lease stays, so
#: that a process that still runs the assistant elsewhere stays shut out.
_ITS_OWN = ("events", "runs", "stream", "notes", "muted")
#: How many rows of a kind one write removes.
SLICE = 200
#: A prune that removes this many rows of a kind shows a backlog: the next prune comes soon.
BACKLOG = 10 * SLICE
_SOON_SECONDS = 600.0
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many finished runs and events were removed."""

    runs: int = 0
    events: int = 0

    def __add__(self, other: Pruned) -> Pruned:
        """Return the sums of both."""
        return Pruned(self.runs + other.runs, self.events + other.events)


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


def erase(db: sqlite3.Connection, assistant: str) -> int:
    """Remove everything an assistant heard, did and remembered; return how many rows. What it spent stays."""
    owe(db)
    db.execute("DELETE FROM meta WHERE key = ?", (NAME_OF + assistant,))
    return sum(
        db.execute(f"DELETE FROM {table} WHERE assistant = ?", (assistant,)).rowcount  # our own words
        for table in _ITS_OWN
    )


async def prune(lease: Lease, older_than_days: float, max_bytes: int) -> Pruned:
    """Remove what was finished more than `older_than_days` ago, then the oldest until the rest is within `max_bytes`.

    What is pending, parked or open stays. Freed room in the file is used again; when more than half of the file is
    free, it shrinks at the next start (`compact_file`). A removed event would be taken again if it came again.
    Cancelling stops after the current slice. Raises Fenced and JournalUnwritable.
    """
    oldest = lease.store.wall() - older_than_days * _DAY_SECONDS
    total = Pruned()
    while (done := await lease.write(lambda db: _slice(db, lease.assistant, oldest))) != Pruned():
        total += done
    while await lease.read(_used_bytes) > max_bytes:
        done = await lease.write(lambda db: _slice(db, lease.assistant, lease.store.wall()))
        if done == Pruned():
            break
        total += done
    return total


def next_prune_after(last: Pruned | None) -> float:
    """Return the seconds to wait before the next prune, from what the `last` one removed (None: there was none).

    It is soon after the first prune or a backlog, else daily; both intervals are our choice.
    """
    if last is None or max(last.runs, last.events) >= BACKLOG:
        return _SOON_SECONDS
    return float(_DAY_SECONDS)


def _events_of(db: sqlite3.Connection, assistant: str, principal_id: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the row, the id and "still waiting" of each event of the player.

    Events written by schema version 1 name the player only in the record.
    """
    rows = db.execute(
        f"""SELECT seq, id, state = 'pending' OR {_IN_OPEN_RUN}, who, payload FROM events
            WHERE assistant = ? AND who IN (?, '')""",  # our own words
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


def _slice(db: sqlite3.Connection, assistant: str, before: float) -> Pruned:
    """Remove a slice of what was finished before this time. Return zeros when nothing is left."""
    runs = db.execute(
        """DELETE FROM runs WHERE seq IN (
            SELECT seq FROM runs WHERE assistant = ? AND closed_at < ? ORDER BY closed_at LIMIT ?)""",
        (assistant, before, SLICE),
    ).rowcount
    events = db.execute(
        """DELETE FROM events WHERE seq IN (
            SELECT seq FROM events WHERE assistant = ? AND state = 'done' AND accepted_at < ?
            AND NOT EXISTS (SELECT 1 FROM run_events WHERE event = events.seq) ORDER BY accepted_at LIMIT ?)""",
        (assistant, before, SLICE),
    ).rowcount
    return Pruned(runs, events)


def _used_bytes(db: sqlite3.Connection) -> int:
    """Return how many bytes the pages in use take."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
