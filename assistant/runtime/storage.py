"""Opens the storage of assistants: one journal file for all assistants of a process, or memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from assistant.config.schema import JournalConfig
from assistant.journal import (
    Accepted,
    Journal,
    JournalError,
    MemoryJournal,
    Opened,
    Pruned,
    SqliteJournal,
    Store,
    StoredBindings,
    StoredMutes,
    StoredStream,
    StoredUsage,
    StreamEntry,
    next_prune_after,
)
from assistant.journal.files import beside
from assistant.journal.tables.inbox import count_pending
from assistant.journal.tables.removal import erase
from assistant.keys.binding import KeyBinding
from assistant.memory.recall.index import RecallIndex, RecallIndexError
from assistant.memory.recall.words import ENGLISH
from assistant.memory.recall_file import ENDING, IndexWorker, RecallFile, RecallInMemory
from assistant.memory.remembered import IndexedMemories, RowsInMemory, tables_in_memory
from assistant.memory.remembering import Remember, remembering
from assistant.memory.rights import MemoryMutes, Mutes
from assistant.memory.sleep.stored import StoredSleep
from resilience import Launcher
from tools import Memories

_log = Logger()


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage of one assistant."""

    journal: Journal
    memories: Memories
    mutes: Mutes
    sleep: StoredSleep
    #: The stream as the last process left it.
    stream: tuple[StreamEntry, ...] = ()
    #: Grows with every start of this assistant. It is part of the ids of its events.
    life: int = 0


def in_memory(
    now: Callable[[], float],
    inbox_limit: int,
    remember: Remember | None = None,
    kept: RowsInMemory | None = None,
    index: IndexWorker | None = None,
) -> Storage:
    """Return storage that is lost when the process ends. `now` gives clock seconds.

    `remember` says what of an event is remembered. `kept` are the assistant's memories, with their `index`; None makes
    new ones.
    """
    kept = kept or RowsInMemory("assistant")
    rule = remember or remembering(())

    def note(accepted: Accepted) -> None:
        if (memory := rule(accepted)) is not None:
            kept.keep(memory)

    memories = IndexedMemories(kept, index or RecallInMemory(ENGLISH), now)
    return Storage(MemoryJournal(inbox_limit, note), memories, MemoryMutes(now), StoredSleep(kept))


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


class MemoryFile:
    """The storage of all assistants of a process without a journal, with the interface of `JournalFile`."""

    def __init__(self, now: Callable[[], float], language: str = ENGLISH) -> None:
        """Take `now`, which gives clock seconds."""
        self.bindings = self.usage = NothingStored()
        self.recall = RecallInMemory(language)
        self._tables = tables_in_memory()
        self._journals: dict[str, Journal] = {}
        self._now = now

    async def open(self) -> None:
        """Return None: there is no file."""

    async def storage_of(
        self, assistant: str, inbox_limit: int, name: str = "", remember: Remember | None = None
    ) -> Storage:
        """Return new storage for this assistant."""
        kept = RowsInMemory(assistant, self._tables)
        storage = in_memory(self._now, inbox_limit, remember, kept, self.recall)
        self._journals[assistant] = storage.journal
        return storage

    def release(self, assistant: str) -> None:
        """Forget the assistant: its memory goes with it."""
        self._journals.pop(assistant, None)

    async def count_pending(self) -> dict[str, int]:
        """Return how many events wait in the inbox of each assistant."""
        return {assistant: len(await journal.pending()) for assistant, journal in self._journals.items()}

    def watch_commits(self, on_commit: Callable[[float], None] | None) -> None:
        """Do nothing: nothing is committed."""

    async def erase(self, assistant: str) -> int:
        """Return 0: nothing is left of an assistant that does not run."""
        return 0

    async def close(self) -> None:
        """Close the index of memories: there is no file."""
        await self.recall.close()


class JournalFile:
    """One journal on disk, for all assistants of a process. `wall` gives seconds since 1970, on any thread.

    `on_trouble` is told in a sentence when the journal cannot be written or read, and with "" when it can again.
    """

    # Any: the reactor as clock, and for calls from other threads.
    def __init__(
        self,
        path: Path,
        reactor: Any,
        wall: Callable[[], float],
        config: JournalConfig,
        on_trouble: Callable[[str], None] = lambda _: None,
        *,
        language: str = ENGLISH,
    ) -> None:
        self.store = Store(path, reactor, wall, on_trouble=on_trouble)
        self.bindings = StoredBindings(self.store)
        self.usage = StoredUsage(self.store)
        self.recall = RecallFile(beside(path, ENDING), reactor, language)
        self._reactor = reactor
        self._wall = wall
        self._config = config
        #: The journals of the running assistants, by assistant.
        self._journals: dict[str, SqliteJournal] = {}
        self._launcher = Launcher()
        self._next: IDelayedCall | None = None

    def open(self) -> Awaitable[Opened]:
        """Open the file and return the state in which it was found. A damaged or missing file raises no error."""
        return self.store.open()

    async def storage_of(
        self, assistant: str, inbox_limit: int, name: str = "", remember: Remember | None = None
    ) -> Storage:
        """Return the storage of this assistant. Any other process that runs the same assistant is shut out from now on.

        The character's `name` is stored too, for people who read the file. `remember` says what of an event is
        remembered. Raises JournalError when the file cannot be
        read or written.
        """
        journal = SqliteJournal(self.store, assistant, inbox_limit, name, remember or remembering((name,)))
        life = await journal.start()
        loaded = await StoredStream(journal.lease).load_stream()
        if loaded.unreadable:
            _log.warn("{count} entries of {name}'s memory cannot be read", count=loaded.unreadable, name=assistant)
        self._journals[assistant] = journal
        if self._next is None:
            self._next = self._reactor.callLater(next_prune_after(None), self._tidy)
        memories = IndexedMemories(journal.lease, self.recall, self._wall)
        sleep = StoredSleep(journal.lease)
        return Storage(journal, memories, StoredMutes(journal.lease), sleep, loaded.entries, life)

    def release(self, assistant: str) -> None:
        """Stop pruning the journal of an assistant that no longer runs here."""
        self._journals.pop(assistant, None)

    async def count_pending(self) -> dict[str, int]:
        """Return how many events wait in the inbox of each assistant; those with an empty inbox are left out.

        Raises JournalError.
        """
        return await self.store.read(count_pending)

    def watch_commits(self, on_commit: Callable[[float], None] | None) -> None:
        """Call `on_commit` with the seconds of each commit, on the writer's thread; None ends that."""
        self.store.watch_commits(on_commit)

    async def erase(self, assistant: str) -> int:
        """Delete all that an assistant heard, did and remembered, and return the number of rows. It must not run.

        The file is rewritten, so that no trace of it is left there. Raises JournalError.
        """
        removed = await self.store.write(lambda db: erase(db, assistant))
        await self.store.compact()

        def work(index: RecallIndex) -> None:
            index.clear(assistant)
            index.erase()

        with suppress(RecallIndexError):  # one that breaks is deleted
            await self.recall.run(work)
        return removed

    async def close(self) -> None:
        """Finish the pending work and close the file."""
        if self._next is not None and self._next.active():
            self._next.cancel()
        await self._launcher.stop()
        await self.recall.close()
        await self.store.close()

    def _tidy(self) -> None:
        self._launcher.launch(self._prune(), "removing old runs from the journal")

    async def _prune(self) -> None:
        """Remove old runs of every assistant, and schedule the next round."""
        removed = Pruned()
        for journal in tuple(self._journals.values()):
            try:
                removed += await journal.prune(self._config.keep_days, self._config.max_bytes)
            except JournalError as error:
                _log.warn("old runs were not removed: {why}", why=str(error))
        self._next = self._reactor.callLater(next_prune_after(removed), self._tidy)
