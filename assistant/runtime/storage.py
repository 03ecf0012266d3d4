"""Opens the storage of assistants: one journal file for all assistants of a process, or memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from assistant.config.schema import JournalConfig
from assistant.journal import (
    Journal,
    JournalError,
    MemoryJournal,
    Opened,
    Pruned,
    SqliteJournal,
    Store,
    StoredBindings,
    StoredMutes,
    StoredNotes,
    StoredStream,
    StoredUsage,
    StreamEntry,
    next_prune_after,
)
from assistant.journal.tables.removal import erase
from assistant.keys.binding import KeyBinding
from assistant.memory.rights import MemoryMutes, Mutes
from resilience import Launcher
from tools import MemoryNotes, Notes

_log = Logger()


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage of one assistant."""

    journal: Journal
    notes: Notes
    mutes: Mutes
    #: The stream as the last process left it.
    stream: tuple[StreamEntry, ...] = ()
    #: Grows with every start of this assistant. It is part of the ids of its events.
    life: int = 0


def in_memory(now: Callable[[], float], inbox_limit: int) -> Storage:
    """Return storage that is lost when the process ends. `now` gives clock seconds."""
    return Storage(MemoryJournal(inbox_limit), MemoryNotes(now), MemoryMutes(now))


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

    def __init__(self, now: Callable[[], float]) -> None:
        """Take `now`, which gives clock seconds."""
        self.bindings = self.usage = NothingStored()
        self._now = now

    async def open(self) -> None:
        """Return None: there is no file."""

    async def storage_of(self, assistant: str, inbox_limit: int, name: str = "") -> Storage:
        """Return new storage for this assistant."""
        return in_memory(self._now, inbox_limit)

    def release(self, assistant: str) -> None:
        """Do nothing: memory goes with the assistant."""

    async def erase(self, assistant: str) -> int:
        """Return 0: nothing is left of an assistant that does not run."""
        return 0

    async def close(self) -> None:
        """Do nothing: there is no file."""


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
    ) -> None:
        self.store = Store(path, reactor, wall, on_trouble=on_trouble)
        self.bindings = StoredBindings(self.store)
        self.usage = StoredUsage(self.store)
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

    async def storage_of(self, assistant: str, inbox_limit: int, name: str = "") -> Storage:
        """Return the storage of this assistant. Any other process that runs the same assistant is shut out from now on.

        The character's `name` is stored too, for people who read the file. Raises JournalError when the file cannot be
        read or written.
        """
        journal = SqliteJournal(self.store, assistant, inbox_limit, name)
        life = await journal.start()
        loaded = await StoredStream(journal.lease).load_stream()
        if loaded.unreadable:
            _log.warn("{count} entries of {name}'s memory cannot be read", count=loaded.unreadable, name=assistant)
        self._journals[assistant] = journal
        if self._next is None:
            self._next = self._reactor.callLater(next_prune_after(None), self._tidy)
        notes = StoredNotes(journal.lease, self._wall)
        return Storage(journal, notes, StoredMutes(journal.lease), loaded.entries, life)

    def release(self, assistant: str) -> None:
        """Stop pruning the journal of an assistant that no longer runs here."""
        self._journals.pop(assistant, None)

    async def erase(self, assistant: str) -> int:
        """Delete all that an assistant heard, did and remembered, and return the number of rows. It must not run.

        The file is rewritten, so that no trace of it is left there. Raises JournalError.
        """
        removed = await self.store.write(lambda db: erase(db, assistant))
        await self.store.compact()
        return removed

    async def close(self) -> None:
        """Finish the pending work and close the file."""
        if self._next is not None and self._next.active():
            self._next.cancel()
        await self._launcher.stop()
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
