"""Removes the oldest finished runs and events, in slices too small to delay other writes."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from assistant.journal.tables.lease import Lease

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


async def prune(lease: Lease, older_than_days: float, max_bytes: int) -> Pruned:
    """Remove what was finished more than `older_than_days` ago, then the oldest until the rest is within `max_bytes`.

    What is pending, parked or open stays. Freed room in the file is used again; when more than half of the file is
    free, it shrinks at the next start (`compacting.py`). A removed event would be taken again if it came again.
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
