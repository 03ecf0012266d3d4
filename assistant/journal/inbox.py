"""The events of one assistant as rows: taken once, pending until dealt with, parked when they do harm. SQL only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from assistant.classify import Attention, Verdict
from assistant.journal.errors import BrokenRecord, NewerRecord
from assistant.journal.journal import Accepted, InboxFullError
from assistant.journal.shapes import EVENT

#: How many crashed runs park an event.
MAX_CRASHES = 3

Row = tuple[str, bytes, str, int, int]
_COLUMNS = "id, payload, verdict, importance, addressed"


@dataclass(frozen=True, slots=True)
class Parked:
    """An event that is not tried any more, and why. `accepted` is None when it cannot be read."""

    event_id: str
    accepted: Accepted | None
    crashes: int
    reason: str


def take(db: sqlite3.Connection, assistant: str, accepted: Accepted, record: bytes, *, limit: int, now: float) -> None:
    """Put an event into the inbox, once. InboxFullError when `limit` are pending.

    One that asks for an answer takes the place of the oldest that was only overheard.
    """
    event_id, attention = accepted.event.id, accepted.attention
    if db.execute("SELECT 1 FROM events WHERE assistant = ? AND id = ?", (assistant, event_id)).fetchone():
        return
    waiting = db.execute(
        "SELECT count(*) FROM events WHERE assistant = ? AND state = 'pending'", (assistant,)
    ).fetchone()[0]
    if waiting >= limit and not (attention.verdict is Verdict.TRIGGER and _drop_overheard(db, assistant)):
        raise InboxFullError(f"{waiting} events are waiting")
    db.execute(
        f"INSERT INTO events (assistant, {_COLUMNS}, accepted_at, who) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            *(assistant, event_id, record),
            *(attention.verdict.value, attention.importance, attention.addressed),
            *(now, accepted.event.who.id),
        ),
    )


def _drop_overheard(db: sqlite3.Connection, assistant: str) -> bool:
    """Deal with the oldest overheard event by leaving it out; False when none waits outside of a run."""
    dropped = db.execute(
        """UPDATE events SET state = 'done' WHERE seq = (
               SELECT seq FROM events WHERE assistant = ? AND state = 'pending' AND verdict = ?
               AND NOT EXISTS (SELECT 1 FROM run_events WHERE event = events.seq) ORDER BY seq LIMIT 1)""",
        (assistant, Verdict.CONTEXT.value),
    )
    return dropped.rowcount > 0


def pending(db: sqlite3.Connection, assistant: str) -> tuple[list[Accepted], list[tuple[str, str]]]:
    """The events that wait, oldest first, and the ids of those that cannot be read, each with why."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM events WHERE assistant = ? AND state = 'pending' ORDER BY seq",  # noqa: S608
        (assistant,),
    )
    return _read_all(rows)


def of_run(db: sqlite3.Connection, run: int) -> list[Accepted]:
    """The events of a run that can be read, oldest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM events JOIN run_events ON event = seq WHERE run = ? ORDER BY seq",  # noqa: S608
        (run,),
    )
    return _read_all(rows)[0]


def is_poisoned(db: sqlite3.Connection, run: int) -> bool:
    """Whether any event of the run is parked."""
    found = "SELECT 1 FROM run_events JOIN events ON seq = event WHERE run = ? AND state = 'parked' LIMIT 1"
    return db.execute(found, (run,)).fetchone() is not None


def park(db: sqlite3.Connection, assistant: str, ids: Iterable[tuple[str, str]]) -> None:
    """Try these events no more, each for the reason given with its id."""
    db.executemany(
        "UPDATE events SET state = 'parked', reason = ? WHERE assistant = ? AND id = ? AND state = 'pending'",
        [(reason, assistant, event_id) for event_id, reason in ids],
    )


def parked(db: sqlite3.Connection, assistant: str) -> tuple[Parked, ...]:
    """The events that are not tried any more, oldest first."""
    rows = db.execute(
        f"""SELECT {_COLUMNS}, crashes, reason FROM events
            WHERE assistant = ? AND state = 'parked' ORDER BY seq""",  # noqa: S608
        (assistant,),
    )
    return tuple(Parked(row[0], _readable(row[:5]), row[5], row[6]) for row in rows)


def unpark(db: sqlite3.Connection, assistant: str, event_id: str) -> bool:
    """Try the event again, with a clean record; False when it is not parked."""
    changed = db.execute(
        """UPDATE events SET state = 'pending', crashes = 0, reason = ''
           WHERE assistant = ? AND id = ? AND state = 'parked'""",
        (assistant, event_id),
    )
    return changed.rowcount > 0


def discard(db: sqlite3.Connection, assistant: str, event_id: str) -> bool:
    """Mark a parked event as dealt with; False when it is not parked."""
    changed = db.execute(
        "UPDATE events SET state = 'done' WHERE assistant = ? AND id = ? AND state = 'parked'", (assistant, event_id)
    )
    return changed.rowcount > 0


def settle(db: sqlite3.Connection, run: int) -> None:
    """The events of the run are dealt with."""
    db.execute(
        "UPDATE events SET state = 'done' WHERE seq IN (SELECT event FROM run_events WHERE run = ?)",
        (run,),
    )


def blame(db: sqlite3.Connection, run: int, why: str) -> None:
    """Count a crash against each waiting event of the run; the third parks it."""
    waiting = "state = 'pending' AND seq IN (SELECT event FROM run_events WHERE run = ?)"
    db.execute(f"UPDATE events SET crashes = crashes + 1 WHERE {waiting}", (run,))  # noqa: S608
    db.execute(
        f"UPDATE events SET state = 'parked', reason = ? WHERE {waiting} AND crashes >= ?",  # noqa: S608
        (f"{MAX_CRASHES} runs over it crashed, the last one because {why}", run, MAX_CRASHES),
    )


def _read_all(rows: Iterable[Row]) -> tuple[list[Accepted], list[tuple[str, str]]]:
    readable: list[Accepted] = []
    unreadable: list[tuple[str, str]] = []
    for row in rows:
        try:
            readable.append(_read(row))
        except (BrokenRecord, NewerRecord, ValueError) as error:
            unreadable.append((row[0], f"it cannot be read: {error}"))
    return readable, unreadable


def _readable(row: Row) -> Accepted | None:
    found, _ = _read_all([row])
    return found[0] if found else None


def _read(row: Row) -> Accepted:
    _, record, verdict, importance, addressed = row
    return Accepted(EVENT.decode(record), Attention(Verdict(verdict), importance, bool(addressed)))
