"""Where an assistant remembers things, opened and ready: a journal file for all of a process, or memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from assistant.config import JournalConfig
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
from assistant.journal.erasure import erase
from assistant.rights import MemoryMutes, Mutes
from assistant.troubles import Troubles
from resilience import Launcher
from tools import MemoryNotes, Notes

_log = Logger()


@dataclass(frozen=True, slots=True)
class Storage:
    """What one assistant remembers things in."""

    journal: Journal
    notes: Notes
    mutes: Mutes
    #: The stream as it was left.
    stream: tuple[StreamEntry, ...] = ()
    #: Grows with every start of this assistant: ids of events begin with it.
    life: int = 0


def in_memory(now: Callable[[], float], inbox_limit: int) -> Storage:
    """Storage that is gone with the process. `now` gives clock seconds."""
    return Storage(MemoryJournal(inbox_limit), MemoryNotes(now), MemoryMutes(now))


class JournalFile:
    """One journal on disk, for all assistants of a process. `wall` gives seconds since 1970, on any thread.

    `troubles` are told when it cannot be written or read.
    """

    # Any: the reactor as clock and as what other threads call into.
    def __init__(
        self,
        path: Path,
        reactor: Any,
        wall: Callable[[], float],
        config: JournalConfig,
        troubles: Troubles | None = None,
    ) -> None:
        self.store = Store(path, reactor, wall, on_trouble=(troubles or Troubles()).of_journal)
        self.bindings = StoredBindings(self.store)
        self.usage = StoredUsage(self.store)
        self._reactor = reactor
        self._wall = wall
        self._config = config
        #: The journals of those who live, by assistant.
        self._journals: dict[str, SqliteJournal] = {}
        self._launcher = Launcher()
        self._next: IDelayedCall | None = None

    def open(self) -> Awaitable[Opened]:
        """The state in which the file was found. Never fails for the file's sake."""
        return self.store.open()

    async def storage_of(self, assistant: str, inbox_limit: int, name: str = "") -> Storage:
        """What this assistant remembers things in; any other process that lives as it is shut out from now on.

        The character's `name` is kept with it, for whoever reads the file.
        Raises JournalError when nothing can be read from the file or written to it.
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
        """Look after the journal of this assistant no more: it does not live here any longer."""
        self._journals.pop(assistant, None)

    async def erase(self, assistant: str) -> int:
        """How many rows were removed of an assistant that does not live: all it heard, did and remembered.

        The file is rewritten, so that nothing of it is left there. Raises JournalError.
        """
        removed = await self.store.write(lambda db: erase(db, assistant))
        await self.store.compact()
        return removed

    async def close(self) -> None:
        """Finish what was asked for and close the file."""
        if self._next is not None and self._next.active():
            self._next.cancel()
        await self._launcher.stop()
        await self.store.close()

    def _tidy(self) -> None:
        self._launcher.launch(self._prune(), "removing old runs from the journal")

    async def _prune(self) -> None:
        """Remove what is old of every assistant, and set the time of the next round."""
        removed = Pruned()
        for journal in tuple(self._journals.values()):
            try:
                removed += await journal.prune(self._config.keep_days, self._config.max_bytes)
            except JournalError as error:
                _log.warn("old runs were not removed: {why}", why=str(error))
        self._next = self._reactor.callLater(next_prune_after(removed), self._tidy)
