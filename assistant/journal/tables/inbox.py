"""Stores the events of one assistant. Each is taken once, pending until dealt with, parked after crashes. SQL only."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.journal.database import Database, PipelinedDatabase
from mud_assistant.assistant.journal.errors import BrokenRecord, InboxFullError, NewerRecord
from mud_assistant.assistant.journal.protocol import Accepted, Parked
from mud_assistant.assistant.journal.records import EVENT

#: After this many crashed runs over it, an event is parked.
MAX_CRASHES = 3

Row = tuple[str, bytes, str, int, int]
_COLUMNS = "id, payload, verdict, importance, addressed"
_INSERT = f"INSERT INTO events (assistant, {_COLUMNS}, accepted_at, who)"
_WAITING = "assistant = ? AND state = 'pending'"


class Taken(Enum):
    """What became of an event that was put into the inbox."""

    NEW = "new"
    IN_PLACE = "in place of the oldest that was only overheard"
    BEFORE = "it was taken before, and not again"


def take(db: Database, assistant: str, accepted: Accepted, record: bytes, *, limit: int, now: float) -> Taken:
    """Put an event into the inbox, unless it was taken before. Raises InboxFullError at `limit`.

    In a full inbox, an event that asks for an answer takes the place of the oldest that was only overheard.
    """
    event_id, attention = accepted.event.id, accepted.attention
    row = (
        *(assistant, event_id, record),
        *(attention.verdict.value, attention.importance, attention.addressed),
        *(now, accepted.event.who.id),
    )
    if isinstance(db, PipelinedDatabase):
        has_room = f"(SELECT count(*) FROM events WHERE {_WAITING}) < ?"
        new = f"{_INSERT} SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE {has_room} ON CONFLICT (assistant, id) DO NOTHING"
        db.expect(db.execute(new, (*row, assistant, limit)), some=True)
        return Taken.NEW
    if db.execute("SELECT 1 FROM events WHERE assistant = ? AND id = ?", (assistant, event_id)).fetchone():
        return Taken.BEFORE
    waiting = db.execute(f"SELECT count(*) FROM events WHERE {_WAITING}", (assistant,)).fetchone()[0]
    is_full = waiting >= limit
    if is_full and not (attention.verdict is Classification.TRIGGER and _drop_overheard(db, assistant)):
        raise InboxFullError(f"{waiting} events are waiting")
    db.execute(f"{_INSERT} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return Taken.IN_PLACE if is_full else Taken.NEW


def _drop_overheard(db: Database, assistant: str) -> bool:
    """Mark the oldest overheard event as done without a run. Return False when none waits outside of a run."""
    dropped = db.execute(
        """UPDATE events SET state = 'done' WHERE seq = (
               SELECT seq FROM events WHERE assistant = ? AND state = 'pending' AND verdict = ?
               AND NOT EXISTS (SELECT 1 FROM run_events WHERE event = events.seq) ORDER BY seq LIMIT 1)""",
        (assistant, Classification.CONTEXT.value),
    )
    return dropped.rowcount > 0


def pending(db: Database, assistant: str) -> tuple[list[Accepted], list[tuple[str, str]]]:
    """Return the pending events, oldest first, and the ids of those that cannot be read, each with the reason."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM events WHERE assistant = ? AND state = 'pending' ORDER BY seq",
        (assistant,),
    )
    return _read_all(rows)


def count_pending(db: Database) -> dict[str, int]:
    """Return how many events wait, by assistant; those without any are left out."""
    return dict(db.execute("SELECT assistant, count(*) FROM events WHERE state = 'pending' GROUP BY assistant"))


def of_run(db: Database, run: int) -> list[Accepted]:
    """Return the readable events of a run, oldest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM events JOIN run_events ON event = seq WHERE run = ? ORDER BY seq",
        (run,),
    )
    return _read_all(rows)[0]


def is_poisoned(db: Database, run: int) -> bool:
    """Tell whether any event of the run is parked."""
    found = "SELECT 1 FROM run_events JOIN events ON seq = event WHERE run = ? AND state = 'parked' LIMIT 1"
    return db.execute(found, (run,)).fetchone() is not None


def park(db: Database, assistant: str, ids: Iterable[tuple[str, str]]) -> None:
    """Park these events, each for the reason given with its id: they are no longer tried."""
    db.executemany(
        "UPDATE events SET state = 'parked', reason = ? WHERE assistant = ? AND id = ? AND state = 'pending'",
        [(reason, assistant, event_id) for event_id, reason in ids],
    )


def parked(db: Database, assistant: str) -> tuple[Parked, ...]:
    """Return the parked events, oldest first."""
    rows = db.execute(
        f"""SELECT {_COLUMNS}, crashes, reason FROM events
            WHERE assistant = ? AND state = 'parked' ORDER BY seq""",
        (assistant,),
    )
    return tuple(Parked(row[0], _readable(row[:5]), row[5], row[6]) for row in rows)


def unpark(db: Database, assistant: str, event_id: str) -> bool:
    """Make a parked event pending again, with no crashes counted. Return False when it is not parked."""
    changed = db.execute(
        """UPDATE events SET state = 'pending', crashes = 0, reason = ''
           WHERE assistant = ? AND id = ? AND state = 'parked'""",
        (assistant, event_id),
    )
    return changed.rowcount > 0


def discard(db: Database, assistant: str, event_id: str) -> bool:
    """Mark a parked event as dealt with. Return False when it is not parked."""
    changed = db.execute(
        "UPDATE events SET state = 'done' WHERE assistant = ? AND id = ? AND state = 'parked'", (assistant, event_id)
    )
    return changed.rowcount > 0


def settle(db: Database, run: int) -> None:
    """Mark the events of the run as dealt with."""
    db.execute(
        "UPDATE events SET state = 'done' WHERE seq IN (SELECT event FROM run_events WHERE run = ?)",
        (run,),
    )


def blame(db: Database, run: int, why: str) -> None:
    """Count a crash for each pending event of the run; the third crash parks the event."""
    waiting = "state = 'pending' AND seq IN (SELECT event FROM run_events WHERE run = ?)"
    db.execute(f"UPDATE events SET crashes = crashes + 1 WHERE {waiting}", (run,))
    db.execute(
        f"UPDATE events SET state = 'parked', reason = ? WHERE {waiting} AND crashes >= ?",
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
    return Accepted(EVENT.decode(record), Attention(Classification(verdict), importance, bool(addressed)))
