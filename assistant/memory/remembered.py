"""What one assistant remembers: rows in the journal, found by an index that is made from them.

The journal is the truth. The index is brought up to date before each search, and what it finds is read from the
journal, so what was forgotten there never comes back. Every way to a memory passes `may_hear`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from twisted.internet.defer import DeferredLock
from twisted.python.failure import Failure

from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.journal.database import Database, owe
from mud_assistant.assistant.journal.errors import JournalError
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.tables import memories as rows
from mud_assistant.assistant.journal.tables.acquaintances import meet
from mud_assistant.assistant.journal.tables.lease import MemoryRows
from mud_assistant.assistant.journal.tables.removal import forget_entries
from mud_assistant.assistant.memory.recall.index import RecallIndex, RecallIndexError
from mud_assistant.assistant.memory.recall.search import RecallHits, RecallQuery
from mud_assistant.assistant.memory.recall_file import IndexWorker
from mud_assistant.assistant.memory.remembering import Remember, profile_id, remembering
from mud_assistant.assistant.memory.sleep.stored import note_lost
from mud_assistant.resilience.background import Relay, run_relay
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.memories import RECALLED, KeptMemory, Memory, Recalled
from mud_assistant.tools.trust import TOP, Audience, may_hear

T = TypeVar("T")
R = TypeVar("R")
#: What the index found, its memories with the numbers of their rows, and the ids of those not used lately.
_Found = tuple[RecallHits, list[tuple[int, Memory]], list[str]]
#: How many rows are indexed at once: 0.1 s of the index's thread.
_AT_ONCE = 2000
#: How many of the newest are looked through for an empty query.
_NEWEST = 200


def tables_in_memory() -> sqlite3.Connection:
    """Return the tables of the journal, empty and in memory, for all assistants of a process without one."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    SCHEMA.migrate(db)
    return db


class RowsInMemory:
    """The rows of an assistant without a journal, kept until the process ends. `tables` may be shared with others.

    `rule` says what of an event is remembered.
    """

    __slots__ = ("_db", "_rule", "assistant")

    def __init__(self, assistant: str, tables: sqlite3.Connection | None = None, rule: Remember | None = None) -> None:
        self.assistant = assistant
        self._rule = rule or remembering(())
        self._db = tables_in_memory() if tables is None else tables

    async def write(self, work: Callable[[Database], T]) -> T:
        """Return what `work` returns."""
        return work(self._db)

    async def read(self, work: Callable[[Database], T]) -> T:
        """Return what `work` returns."""
        return work(self._db)

    def read_then(self, work: Callable[[Database], T], then: Callable[[T | Failure], object]) -> None:
        """Call `then` with what `work` returns."""
        then(work(self._db))

    def call_back(self, call: Callable[[T], object], value: T) -> None:
        """Call at once: there is no other thread."""
        call(value)

    async def compact(self) -> bool:
        """Return True: there is no file."""
        return True

    def note(self, accepted: Accepted) -> None:
        """Write down at once who caused an event, and what is remembered of it."""
        meet(self._db, self.assistant, accepted.event)
        if (memory := self._rule(accepted)) is not None:
            rows.keep(self._db, self.assistant, memory)


class IndexedMemories:
    """The memories of one assistant. `now` gives seconds since 1970. Writes raise Fenced and JournalUnwritable."""

    __slots__ = (
        "_begun",
        "_erasing",
        "_index",
        "_is_checked",
        "_known",
        "_now",
        "_one_at_a_time",
        "_rows",
        "utc_offset",
    )

    def __init__(self, stored: MemoryRows, index: IndexWorker, now: Callable[[], float]) -> None:
        self._rows = stored
        self._index = index
        self._now = now
        #: The last row that is indexed and how many removals the index has seen; None when that is not known.
        self._known: tuple[int, int] | None = None
        self._is_checked = False
        #: How often the index had been begun anew when `_known` was read.
        self._begun = 0
        #: How many removals are under way that must leave no byte.
        self._erasing = 0
        #: The owner's time minus UTC, in seconds, by which "yesterday" is a day.
        self.utc_offset = 0.0
        #: Held while the index catches up: rows read before a removal must not follow it. Made at the first search.
        self._one_at_a_time: DeferredLock | None = None

    async def keep(self, memory: Memory) -> KeptMemory:
        """Write a memory down; one that is known is made newer. Raises ToolFailed when it alone is too large."""
        if memory.size_bytes > rows.PERSON_BYTES:
            raise ToolFailed(f"That is too long to remember: at most {rows.PERSON_BYTES} bytes.")
        whose = self._rows.assistant
        return await self._rows.write(lambda db: rows.keep(db, whose, memory))

    async def recall(self, query: str, *, hearers: Audience, asker: str = "", limit: int = RECALLED) -> Recalled:
        """Return what fits `query` and may be told to the hearers, best first; the newest for an empty query.

        What is from a time that the query names comes before the rest. Raises JournalUnreadable, and RecallIndexError
        when no index can be made.
        """
        whose = self._rows.assistant
        if not query.strip():
            newest = await self._rows.read(lambda db: rows.newest(db, whose, _NEWEST))
            return Recalled(tuple(memory for memory in newest if may_hear(memory.audience, hearers))[:limit])
        meaning = self._index.meaning
        vector = await meaning.of_query(query) if meaning is not None else None
        asked = RecallQuery(query, hearers, asker, limit, self._now(), vector=vector, utc_offset=self.utc_offset)
        profiles = (profile_id(asker, frozenset({asker})), profile_id(asker, None)) if asker else ()

        def read(hits: RecallHits, db: Database) -> _Found:
            found = rows.find(db, whose, (*hits.ids, *profiles))
            return hits, found, rows.unused_lately(db, whose, hits.ids, asked.now)

        hits, found, unused = await self._up_to_date(lambda index: index.search(whose, asked), read)
        if unused:
            work = self._rows.write(lambda db: rows.count_uses(db, whose, unused, asked.now))
            self._index.later(_count(work), "counting what was recalled")
        told = {one.id: one for _, one in found if may_hear(one.audience, hearers)}
        before = tuple(pair for pair in hits.before if told.keys() >= set(pair))
        profile = next((told[each] for each in profiles if each in told), None)
        memories = tuple(told[each] for each in hits.ids if each in told and told[each] is not profile)
        return Recalled(memories, hits.withheld, profile, before, hits.unsure & told.keys())

    async def about(self, principal_id: str) -> Sequence[Memory]:
        """Return what came from this principal or is about them, newest first."""
        return await self._rows.read(lambda db: rows.about(db, self._rows.assistant, principal_id))

    async def drop(self, memory_id: str) -> int:
        """Delete one memory and what was derived from it, to the last byte. Return how many there were."""
        count = await self._remove(partial(_drop, self._rows.assistant, memory_id))
        if count:
            await self._rows.compact()
        return count

    async def forget(self, principal_id: str) -> int:
        """Delete what has this principal among its sources, to the last byte of the index. Return how many.

        The journal may have removed the rows already, with what else it holds of them, and is rewritten by itself.
        """
        return await self._remove(partial(_forget, self._rows.assistant, principal_id))

    async def clear(self) -> int:
        """Delete every memory, to the last byte of the index. Return how many; see `forget`."""
        return await self._remove(partial(_clear, self._rows.assistant))

    async def supersede(self, old_id: str, new: Memory) -> bool:
        """Keep `new` in place of the old memory, which stays; False when the old one is not there or somebody else's.

        An operator's word, which has the highest authority, corrects anybody's.
        """
        whose = self._rows.assistant
        kept = await self._rows.write(lambda db: rows.supersede(db, whose, old_id, new, may=new.authority >= TOP))
        return kept is not None

    async def _remove(self, work: Callable[[Database], Collection[object]]) -> int:
        """Remove rows, and every byte of them from the index. Return how many there were.

        A search meanwhile may be the first to see that they are gone: it erases them as well.
        """
        self._erasing += 1
        try:
            gone = await self._rows.write(work)
            await self._up_to_date(_nothing, _nothing)
        except BaseException:
            self._is_checked = False  # the next one erases what this one may have left
            raise
        finally:
            self._erasing -= 1
        return len(gone)

    async def _up_to_date(self, work: Callable[[RecallIndex], T], read: Callable[[T, Database], R]) -> R:
        """Bring the index up to date with the rows, do `work` on it then, and return what `read` finds to its result.

        At the first time, what a process that died removed from the rows alone is removed to the last byte.
        """
        lock = self._one_at_a_time = self._one_at_a_time or DeferredLock()
        async with lock:
            for is_last in (False, True):
                if self._begun != self._index.begun:
                    self._begun, self._known = self._index.begun, None
                try:
                    known, result = await run_relay(self._catch_up(work, read), self._rows.call_back)
                except RecallIndexError:  # it was begun anew, and is filled from the first row
                    if is_last:
                        raise
                    continue
                if (meaning := self._index.meaning) is not None and (known != self._known or not self._is_checked):
                    self._index.later(meaning.fill(self._index, self._rows.assistant), "giving memories their vectors")
                self._known, self._is_checked = known, True
                if self._begun == self._index.begun:  # else it broke meanwhile, and was empty
                    return result
            raise RecallIndexError("the index of memories breaks again and again")

    def _catch_up(
        self, work: Callable[[RecallIndex], T], read: Callable[[T, Database], R]
    ) -> Relay[tuple[tuple[int, int], R]]:
        """Index the new rows, the last of them in one go with `work`; return how far that is, and what `read` found.

        The index's thread and the journal's take turns, so that the reactor waits once. In both, what a removal does
        comes after what was read before it, even when nobody waits any more.
        """
        whose = self._rows.assistant
        seq, removed = self._known or (yield partial(self._index.run_then, lambda index: index.state(whose)))
        new: list[tuple[int, Memory]]
        new, count = yield partial(self._rows.read_then, partial(_changes, whose, seq))
        while len(new) == _AT_ONCE:
            yield partial(self._index.run_then, partial(_add_and, _nothing, whose, new))
            seq = new[-1][0]
            new, count = yield partial(self._rows.read_then, partial(_changes, whose, seq))
        if count != removed:
            erase = self._erasing > 0 or not self._is_checked
            there: frozenset[str] = yield partial(self._rows.read_then, lambda db: rows.all_ids(db, whose))
            yield partial(self._index.run_then, partial(_remove_others, whose, there, count, erase))
        result: T = yield partial(self._index.run_then, partial(_add_and, work, whose, new))
        found: R = yield partial(self._rows.read_then, partial(read, result))
        return (new[-1][0] if new else seq, count), found


def _changes(assistant: str, seq: int, db: Database) -> tuple[list[tuple[int, Memory]], int]:
    """Return the next rows after `seq`, and how many were ever removed."""
    return rows.since(db, assistant, seq, _AT_ONCE), rows.removed_count(db, assistant)


def _nothing(*_: object) -> None:
    """Do nothing more."""


def _add_and(
    work: Callable[[RecallIndex], T], assistant: str, more: Sequence[tuple[int, Memory]], index: RecallIndex
) -> T:
    if more:
        index.add(assistant, more)
    return work(index)


def _remove_others(assistant: str, there: frozenset[str], count: int, erase: bool, index: RecallIndex) -> None:
    """Remove from the index what the rows have no more. It counts as done when its last byte is gone."""
    index.remove(assistant, index.ids(assistant) - there)
    if erase:
        index.erase()
    index.remove(assistant, (), count)


def _drop(assistant: str, memory_id: str, db: Database) -> list[Memory]:
    owe(db)
    gone = rows.drop(db, assistant, memory_id)
    forget_entries(db, assistant, (), {rows.SHOWN + memory.id for memory in gone})
    return note_lost(db, assistant, gone)


def _clear(assistant: str, db: Database) -> Collection[str]:
    owe(db)
    return rows.clear(db, assistant)


def _forget(assistant: str, principal_id: str, db: Database) -> list[Memory]:
    owe(db)
    return note_lost(db, assistant, rows.forget(db, assistant, principal_id))


async def _count(work: Awaitable[None]) -> None:
    """Wait for a count, which may be lost: with the lease when the assistant is restarted, or with the disk."""
    with suppress(JournalError):  # troubles of the journal are told by those who write what matters
        await work
