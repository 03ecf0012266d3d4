"""Opens the storage of assistants: one journal file for all assistants of a process, or memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.journal import (
    Journal,
    JournalError,
    Opened,
    Pruned,
    Store,
    StoredBindings,
    StoredJournal,
    StoredMutes,
    StoredQuiet,
    StoredStream,
    StoredUsage,
    StreamEntry,
    next_prune_after,
)
from mud_assistant.assistant.journal.database import Database, is_owed
from mud_assistant.assistant.journal.files import beside
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.assistant.journal.tables import promised_goals
from mud_assistant.assistant.journal.tables.inbox import count_pending
from mud_assistant.assistant.journal.tables.lived_log import LivedLog, read_lived
from mud_assistant.assistant.journal.tables.removal import erase
from mud_assistant.assistant.keys.reference import KeySources
from mud_assistant.assistant.life.life_state import StoredLife
from mud_assistant.assistant.memory.acquaintance.known_people import KnownPeople
from mud_assistant.assistant.memory.recall.index import RecallIndex, RecallIndexError
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import ENDING, RecallFile, RecallThread
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.memory.remembering import Remember, remembering
from mud_assistant.assistant.memory.sleep.stored import StoredSleep, note_lost
from mud_assistant.resilience import Launcher
from mud_assistant.resilience.budget.shared import SharedLedger
from mud_assistant.tools import Memories

_log = Logger()


class Storage(Struct, frozen=True):
    """The storage of one assistant."""

    journal: Journal
    memories: Memories
    mutes: StoredMutes
    sleep: StoredSleep
    people: KnownPeople
    lasting: StoredLife
    #: The stream as the last process left it.
    stream: tuple[StreamEntry, ...] = ()
    #: Grows with every start of this assistant. It is part of the ids of its events.
    life: int = 0
    #: What it has promised and not kept yet.
    goals: tuple[Goal, ...] = ()


class SharingCounts(Struct, frozen=True):
    """What a process knows of the assistants that it shares with others; nothing where it shares none.

    `leases` are those that it runs, `lost` those that others took from it, `takeovers` those that it took from others
    that were gone. While the journal `is_away`, nothing can be written.
    """

    is_away: bool = False
    leases: int = 0
    lost: int = 0
    takeovers: int = 0


class Notices(Protocol):
    """The way to other processes that share the journal. A notice is a hint: it may be lost."""

    #: Called with the words of each notice that is not the journal's own.
    on_notice: Callable[[str], None]

    def tell(self, words: str) -> None:
        """Tell other processes these words, under 8,000 bytes. This process is told as well."""
        ...


class KeptJournal:
    """One journal for all assistants of a process, in a store that outlives it, with its index of memories."""

    #: The sums of all processes, None where each counts for itself.
    shared_ledger: SharedLedger | None = None
    #: The way to other processes, None where none shares it.
    notices: Notices | None = None

    # Any: the reactor as clock.
    def __init__(self, store: JournalStore, recall: RecallThread, reactor: Any, config: JournalConfig) -> None:
        self.store = store
        self.bindings = StoredBindings(store)
        self.usage = StoredUsage(store)
        self.quiet = StoredQuiet(store)
        self.recall = recall
        self._reactor = reactor
        self._wall = store.wall
        self._config = config
        #: The journals of the running assistants, by assistant.
        self._journals: dict[str, StoredJournal] = {}
        self._launcher = Launcher()
        self._next: IDelayedCall | None = None
        self._is_closing = False
        #: Called with each assistant that another process has taken over, as soon as that is known.
        self.on_lost: Callable[[str], None] = lambda _: None

    @property
    def place(self) -> JournalPlace:
        """Where the journal is, for those who read it beside this process."""
        return self.store.place

    def open(self) -> Awaitable[Opened]:
        """Open the journal and return the state in which it was found. A damaged or missing one raises no error."""
        return self.store.open()

    async def open_again(self) -> Opened:
        """Try once more to open a journal that could not be used, and return the state in which it is found now."""
        with suppress(JournalError):
            await self.store.read(lambda _: None)
        assert self.store.opened is not None  # `open` has returned
        return self.store.opened

    async def unlock(self, keys: KeySources) -> None:
        """Read what opens the journal, before `open`. Raises KeyReferenceError."""

    def may_act(self, assistant: str) -> bool:
        """Tell whether this process still is the character, as far as it knows."""
        return not self.store.has_expired(assistant)

    def until_free(self, assistant: str) -> Deferred[None]:
        """Wait until no other process runs this assistant. With a file, who starts it takes it at once."""
        return succeed(None)

    async def storage_of(
        self, assistant: str, inbox_limit: int, name: str = "", remember: Remember | None = None
    ) -> Storage:
        """Return the storage of this assistant. Any other process that runs the same assistant is shut out from now on.

        The character's `name` is stored too, for people who read the journal. `remember` says what of an event is
        remembered. Raises JournalError when the journal cannot be read or written, and HeldElsewhere when it is shared
        and another process runs this assistant.
        """
        remember = remember or remembering((name,))
        journal = StoredJournal(self.store, assistant, inbox_limit, name, remember, on_lost=note_lost)
        life = await journal.start()
        loaded = await StoredStream(journal.lease).load_stream()
        if loaded.unreadable:
            _log.warn("{count} entries of {name}'s memory cannot be read", count=loaded.unreadable, name=assistant)
        self._journals[assistant] = journal
        if self._next is None:
            self._tidy_in(next_prune_after(None))
        lease = journal.lease
        memories, mutes = IndexedMemories(lease, self.recall, self._wall), StoredMutes(lease, self._wall)
        sleep, people, lasting = StoredSleep(lease), KnownPeople(lease), StoredLife(lease, self._wall)
        await lasting.load()
        goals = tuple(await journal.goals())
        return Storage(journal, memories, mutes, sleep, people, lasting, loaded.entries, life, goals)

    async def goals_of(self, assistant: str) -> Sequence[Goal]:
        """Return what an assistant promised, kept and dropped too, the oldest first. Raises JournalUnreadable."""
        return (await self.store.read(lambda db: promised_goals.load(db, assistant, with_ended=True)))[0]

    async def drop_goal(self, assistant: str, goal_id: str, reason: str) -> Goal | None:
        """Drop a promise of an assistant that does not run, and return it; None when it is over already.

        Raises HeldElsewhere when another process runs it, and JournalError.
        """

        def work(db: Database) -> Goal | None:
            self._check_unheld(db, assistant)
            return promised_goals.drop(db, assistant, goal_id, reason, self._wall())

        return await self.store.write(work)

    async def lived(self, assistant: str, since: float, since_day: int) -> LivedLog:
        """Return what there is of an assistant since a time and a day: see `read_lived`. Raises JournalUnreadable."""
        return await self.store.read(lambda db: read_lived(db, assistant, since, since_day))

    def _check_unheld(self, db: Database, assistant: str) -> None:
        """Raise HeldElsewhere when another process runs an assistant. With a file that is not known."""

    def begins_to_hear(self, assistant: str) -> None:
        """Note that an assistant takes in what it hears from now on. With a file, nothing waited for that."""

    def release(self, assistant: str) -> None:
        """Stop pruning the journal of an assistant that no longer runs here."""
        self._journals.pop(assistant, None)

    async def count_pending(self) -> dict[str, int]:
        """Return how many events wait in the inbox of each assistant; those with an empty inbox are left out.

        Raises JournalError.
        """
        return await self.store.read(count_pending)

    def sharing_counts(self) -> SharingCounts:
        """Return what this process knows of the assistants it shares, and whether its journal is away."""
        return SharingCounts(self.store.trouble is not None)

    async def count_messages(self) -> int:
        """Return how many messages wait that no process has taken in. Raises JournalError."""
        return 0

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
        self.end_tidying()
        await self._launcher.stop()
        await self.recall.close()
        await self.store.close()

    def end_tidying(self) -> None:
        """Begin no more rounds of it, also for an assistant that is still opening."""
        self._is_closing = True
        if self._next is not None and self._next.active():
            self._next.cancel()

    def _tidy_in(self, seconds: float) -> None:
        if not self._is_closing:
            self._next = self._reactor.callLater(seconds, self._tidy)

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
        try:
            if await self.store.read(is_owed):  # a forgetting could not leave no byte, as when a table was busy
                await self.store.compact()
        except JournalError as error:
            _log.warn("what was forgotten was not erased: {why}", why=str(error))
        self._tidy_in(next_prune_after(removed))


class JournalFile(KeptJournal):
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
        store = Store(path, reactor, wall, on_trouble=on_trouble)
        super().__init__(store, RecallFile(beside(path, ENDING), reactor, language), reactor, config)
