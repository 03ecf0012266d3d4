"""The storage of assistants whose process keeps no journal: in memory, and gone with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed

from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.journal import Journal, MemoryJournal, StoredMutes
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.tables.lived_log import LivedLog
from mud_assistant.assistant.journal.tables.removal import erase
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.keys.reference import KeySources
from mud_assistant.assistant.life.life_state import StoredLife
from mud_assistant.assistant.memory.acquaintance.known_people import KnownPeople
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import IndexWorker, RecallInMemory
from mud_assistant.assistant.memory.remembered import IndexedMemories, RowsInMemory, tables_in_memory
from mud_assistant.assistant.memory.remembering import Remember
from mud_assistant.assistant.memory.sleep.stored import StoredSleep
from mud_assistant.assistant.runtime.storage import Notices, SharingCounts, Storage
from mud_assistant.resilience.budget.shared import SharedLedger


def in_memory(
    now: Callable[[], float],
    inbox_limit: int,
    remember: Remember | None = None,
    index: IndexWorker | None = None,
    *,
    assistant: str = "assistant",
    tables: sqlite3.Connection | None = None,
) -> Storage:
    """Return storage that is lost when the process ends. `now` gives clock seconds.

    `remember` says what of an event is remembered. Those who share `tables` share the `index`; None makes new ones.
    """
    kept = RowsInMemory(assistant, tables, remember)
    memories = IndexedMemories(kept, index or RecallInMemory(ENGLISH), now)
    mutes, sleep, people = StoredMutes(kept, now), StoredSleep(kept), KnownPeople(kept)
    return Storage(MemoryJournal(inbox_limit, kept.note), memories, mutes, sleep, people, StoredLife(kept, now))


class NothingStored:
    """The stored keys and spending of a process without a journal: there are none, and none are kept."""

    async def load(self) -> frozenset[KeyBinding]:
        """Return no bindings."""
        return frozenset()

    async def remember(self, bindings: Collection[KeyBinding]) -> None:
        """Keep nothing."""

    async def load_usage(self) -> None:
        """Return None: no day is kept."""

    async def save_usage(self, exported: Mapping[str, Any]) -> None:
        """Keep nothing."""

    async def days(self, since: int) -> tuple[tuple[int, str, int, int, float], ...]:
        """Return no days."""
        return ()


class QuietInMemory:
    """What owners want of the initiative of assistants, in a process without a journal."""

    def __init__(self) -> None:
        self._keys: frozenset[str] = frozenset()

    async def load(self) -> frozenset[str]:
        """Return all keys."""
        return self._keys

    async def put(self, key: str, *, is_so: bool) -> None:
        """Keep one key, or remove it."""
        self._keys = self._keys | {key} if is_so else self._keys - {key}


class MemoryFile:
    """The storage of all assistants of a process without a journal, with the interface of `JournalFile`."""

    #: The sums of all processes, None where each counts for itself.
    shared_ledger: SharedLedger | None = None
    #: No other process shares it.
    notices: Notices | None = None

    def __init__(self, now: Callable[[], float], language: str = ENGLISH) -> None:
        """Take `now`, which gives clock seconds."""
        self.bindings = self.usage = NothingStored()
        self.quiet = QuietInMemory()
        self.recall = RecallInMemory(language)
        self._tables = tables_in_memory()
        self._journals: dict[str, Journal] = {}
        self._now = now
        #: Never called: no other process knows of these assistants.
        self.on_lost: Callable[[str], None] = lambda _: None
        #: It is nowhere.
        self.place: JournalPlace | None = None

    async def open(self) -> None:
        """Return None: there is no file."""

    async def storage_of(
        self, assistant: str, inbox_limit: int, name: str = "", remember: Remember | None = None
    ) -> Storage:
        """Return new storage for this assistant."""
        storage = in_memory(self._now, inbox_limit, remember, self.recall, assistant=assistant, tables=self._tables)
        await storage.lasting.load()
        self._journals[assistant] = storage.journal
        return storage

    async def goals_of(self, assistant: str) -> Sequence[Goal]:
        """Return what an assistant that runs promised: what others did is gone."""
        journal = self._journals.get(assistant)
        return () if journal is None else await journal.goals(with_ended=True)

    async def drop_goal(self, assistant: str, goal_id: str, reason: str) -> Goal | None:
        """Return None: what an assistant that does not run promised is gone."""
        return None

    async def lived(self, assistant: str, since: float, since_day: int) -> LivedLog:
        """Return nothing: no log is kept."""
        return LivedLog()

    def begins_to_hear(self, assistant: str) -> None:
        """Do nothing: no words wait for it."""

    def release(self, assistant: str) -> None:
        """Forget the inbox of an assistant that no longer runs here."""
        self._journals.pop(assistant, None)

    async def count_pending(self) -> dict[str, int]:
        """Return how many events wait in the inbox of each assistant."""
        return {assistant: len(await journal.pending()) for assistant, journal in self._journals.items()}

    def sharing_counts(self) -> SharingCounts:
        """Return nothing: no assistant is shared, and memory is never away."""
        return SharingCounts()

    async def count_messages(self) -> int:
        """Return 0: nobody else leaves a message."""
        return 0

    def watch_commits(self, on_commit: Callable[[float], None] | None) -> None:
        """Do nothing: nothing is committed."""

    async def unlock(self, keys: KeySources) -> None:
        """Do nothing."""

    def may_act(self, assistant: str) -> bool:
        """Return True: no other process knows of this assistant."""
        return True

    def until_free(self, assistant: str) -> Deferred[None]:
        """Return at once: no other process knows of this assistant."""
        return succeed(None)

    async def erase(self, assistant: str) -> int:
        """Delete what an assistant remembered, and whom it did not hear; return the number of rows. It must not run."""
        await self.recall.run(lambda index: index.clear(assistant))
        return erase(self._tables, assistant)

    async def close(self) -> None:
        """Close the index of memories: there is no file."""
        await self.recall.close()
