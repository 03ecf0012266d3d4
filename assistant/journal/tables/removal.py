"""Removes what is not to be kept: what a player is forgotten by, a whole assistant, and finished runs that are old.

A player is forgotten with what they said, what was made of it, and what was remembered of them. What is old goes in
slices too small to delay other writes. SQL only.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress

from msgspec import Struct

from mud_assistant.assistant.events.events import Event, spoken_text
from mud_assistant.assistant.events.goal import GOAL_EVENT
from mud_assistant.assistant.journal.database import Database, delete_all, is_sqlite, owe
from mud_assistant.assistant.journal.errors import BrokenRecord, NewerRecord
from mud_assistant.assistant.journal.protocol import Cleared, Forgotten
from mud_assistant.assistant.journal.records import EVENT, MESSAGES
from mud_assistant.assistant.journal.tables import memories, promised_goals
from mud_assistant.assistant.journal.tables.acquaintances import spare_people
from mud_assistant.assistant.journal.tables.lease import NAME_OF, Lease
from mud_assistant.assistant.journal.tables.process_wide import QUIET_KEYS
from mud_assistant.assistant.journal.tables.repeats import has_any, own_words
from mud_assistant.assistant.journal.tables.stream import names_in
from mud_assistant.tools.memories import Memory

#: SQL: whether an event belongs to a run that is not over.
_IN_OPEN_RUN = """EXISTS (SELECT 1 FROM run_events JOIN runs ON runs.seq = run
                  WHERE event = events.seq AND closed_at IS NULL)"""
#: The tables that hold an assistant's life; steps, calls and results are deleted with their runs. The lease stays, so
#: that a process that still runs the assistant elsewhere stays shut out.
_ITS_OWN = (
    "events", "runs", "stream", "memories", "memory_state", "muted", "acquaintances", "acquaintance_facts", "goals",
)  # fmt: skip
#: Stands in the record of what the character did. Players' words cannot hold it: a mark in them is escaped.
_ANSWER = b'"role":"assistant"'
#: How many rows of a kind one write removes.
SLICE = 200
#: A prune that removes this many rows of a kind shows a backlog: the next prune comes soon.
BACKLOG = 10 * SLICE
_SOON_SECONDS = 600.0
_DAY_SECONDS = 86_400


class Pruned(Struct, frozen=True):
    """How many finished runs and events were removed."""

    runs: int = 0
    events: int = 0

    def __add__(self, other: Pruned) -> Pruned:
        """Return the sums of both."""
        return Pruned(self.runs + other.runs, self.events + other.events)


def forget(db: Database, assistant: str, principal_id: str, on_lost: Callable[[list[Memory]], object]) -> Forgotten:
    """Remove a player's settled and parked events, finished runs over them, what is remembered of them, their entries.

    Finished runs and answers in the stream that repeat them to others go too (`repeats.py`), and so do their goals with
    the events that were to keep them. Events that wait, or whose run is open, stay and are counted. `on_lost` is called
    with the memories that went.
    """
    owe(db)
    settled: dict[int, str] = {}
    waiting = 0
    own = _own_words(db, assistant, lambda event: _whose(event) == principal_id)
    promised = promised_goals.forget(db, assistant, principal_id, lambda words: has_any(words, own))
    for seq, event_id, is_waiting in _events_of(db, assistant, principal_id, promised):
        if is_waiting:
            waiting += 1
        else:
            settled[seq] = event_id
    one_each = [(seq,) for seq in settled]
    runs = db.executemany("DELETE FROM runs WHERE seq IN (SELECT run FROM run_events WHERE event = ?)", one_each)
    removed = (runs.rowcount if settled else 0) + _forget_repeats(db, assistant, own)
    db.executemany("DELETE FROM events WHERE seq = ?", one_each)
    remembered = memories.forget(db, assistant, principal_id)
    on_lost(remembered)
    entries = forget_entries(db, assistant, {principal_id}, set(settled.values()))
    return Forgotten(len(settled), removed, len(remembered), entries, waiting)


def forget_event(
    db: Database, assistant: str, event_id: str, memory_id: str, on_lost: Callable[[list[Memory]], object]
) -> int:
    """Remove one settled event, the finished runs over it, the stream entries that hold it, and what repeats it.

    Its memory goes with all that was derived from it. Return how many memories went; `on_lost` is called with them.
    """
    owe(db)
    dropped = memories.drop(db, assistant, memory_id)
    on_lost(dropped)
    forget_entries(db, assistant, (), {memories.SHOWN + memory.id for memory in dropped})
    if not event_id:
        return len(dropped)
    _forget_repeats(db, assistant, _own_words(db, assistant, lambda event: event.id == event_id))
    row = db.execute(
        f"""SELECT seq FROM events WHERE assistant = ? AND id = ? AND state != 'pending' AND NOT {_IN_OPEN_RUN}""",
        (assistant, event_id),
    ).fetchone()
    if row is not None:
        db.execute("DELETE FROM runs WHERE seq IN (SELECT run FROM run_events WHERE event = ?)", row)
        db.execute("DELETE FROM events WHERE seq = ?", row)
    forget_entries(db, assistant, (), {event_id})
    return len(dropped)


def clear_mind(db: Database, assistant: str, *, with_memories: bool) -> Cleared:
    """Remove the stream of an assistant, and all its memories if told to."""
    owe(db)
    entries = db.execute("DELETE FROM stream WHERE assistant = ?", (assistant,)).rowcount
    return Cleared(entries, len(memories.clear(db, assistant)) if with_memories else 0)


def erase(db: Database, assistant: str) -> int:
    """Remove everything an assistant heard, did and remembered; return how many rows. What it spent stays."""
    owe(db)
    of_it = [(word + assistant,) for word in (NAME_OF, *QUIET_KEYS)]
    db.executemany("DELETE FROM meta WHERE key = ?", of_it)
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
    await lease.write(lambda db: spare_people(db, lease.assistant))
    await lease.write(lambda db: promised_goals.prune(db, lease.assistant, oldest))
    return total


def next_prune_after(last: Pruned | None) -> float:
    """Return the seconds to wait before the next prune, from what the `last` one removed (None: there was none).

    It is soon after the first prune or a backlog, else daily; both intervals are our choice.
    """
    if last is None or max(last.runs, last.events) >= BACKLOG:
        return _SOON_SECONDS
    return float(_DAY_SECONDS)


def _events_of(
    db: Database, assistant: str, principal_id: str, promised: Container[str]
) -> Iterator[tuple[int, str, bool]]:
    """Yield the row, the id and "still waiting" of each event of the player, and of those that keep their goals.

    Events written by schema version 1 name the player only in the record. `promised` are the ids of their goals.
    """
    rows = db.execute(
        f"""SELECT seq, id, state = 'pending' OR {_IN_OPEN_RUN}, who, payload FROM events
            WHERE assistant = ? AND (who IN (?, '') OR substr(id, 1, ?) = ?)""",  # our own words
        (assistant, principal_id, len(GOAL_EVENT), GOAL_EVENT),
    )
    for seq, event_id, is_waiting, who, record in rows.fetchall():
        named = who
        if not who or event_id.startswith(GOAL_EVENT):
            with suppress(BrokenRecord, NewerRecord):
                named = _whose(EVENT.decode(record))
        if principal_id in {who, named} or promised_goals.goal_of(event_id) in promised:
            yield seq, event_id, bool(is_waiting)


def _whose(event: Event) -> str:
    """Return the id of who caused an event; one that keeps a goal was caused by who asked for it."""
    asker = event.by_rule.requester if event.by_rule and event.by_rule.goal else None
    return event.who.id if asker is None else asker.id


def forget_entries(db: Database, assistant: str, who: Container[str], ids: Container[str]) -> int:
    """Remove the stream entries of these principals and events, those that repeat them, and what cannot be read."""
    rows = db.execute(
        "SELECT seq, event_ids, sources, payload FROM stream WHERE assistant = ?", (assistant,)
    ).fetchall()
    gone = {row[0] for row in rows if _names(row[2], who) or _names(row[1], ids)}
    answers = {row[0]: _text(row[3]) for row in rows if _ANSWER in row[3]}  # whole: the words stand in its calls
    heard = [(row[0], _message_text(row[3])) for row in rows if row[0] not in answers]
    theirs, others = ([text for seq, text in heard if (seq in gone) is goes] for goes in (True, False))
    own = own_words(theirs, others)
    gone.update(seq for seq, text in answers.items() if has_any(text, own))
    delete_all(db, "stream", assistant, list(gone))
    return len(gone)


def _own_words(db: Database, assistant: str, goes: Callable[[Event], bool]) -> frozenset[str]:
    """Return the words that only the events which go used."""
    theirs: list[str] = []
    others: list[str] = []
    for (record,) in db.execute("SELECT payload FROM events WHERE assistant = ?", (assistant,)):
        with suppress(BrokenRecord, NewerRecord):
            event = EVENT.decode(record)
            (theirs if goes(event) else others).append(spoken_text(event))
    return own_words(theirs, others)


def _forget_repeats(db: Database, assistant: str, own: frozenset[str]) -> int:
    """Remove the finished runs whose records hold one of these words. Return how many."""
    gone: set[int] = set()
    for table in ("responses", "intents", "results") if own else ():
        found = db.execute(
            f"""SELECT run, payload FROM {table} JOIN runs ON runs.seq = run
                WHERE {table}.assistant = ? AND closed_at IS NOT NULL""",
            (assistant,),
        )
        gone.update(run for run, record in found if run not in gone and has_any(_text(record), own))
    db.executemany("DELETE FROM runs WHERE seq = ?", [(run,) for run in gone])
    return len(gone)


def _text(record: bytes) -> str:
    return bytes(record).decode(errors="replace")


def _message_text(record: bytes) -> str:
    """Return the text of a stream entry without the words of its record's form; empty when it cannot be read."""
    try:
        return "\n".join(message.text for message in MESSAGES.decode(record))
    except (BrokenRecord, NewerRecord):
        return ""


def _names(record: bytes, wanted: Container[str]) -> bool:
    try:
        return any(name in wanted for name in names_in(record))
    except (BrokenRecord, TypeError):
        return True


def _slice(db: Database, assistant: str, before: float) -> Pruned:
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


def _used_bytes(db: Database) -> int:
    """Return how many bytes the pages in use take; 0 in PostgreSQL, where the whole server's disk is what counts."""
    if not is_sqlite(db):
        return 0
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
