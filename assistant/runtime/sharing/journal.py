"""Opens the journal that several processes share. Imported only where the settings name a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.journal import BrokenRecord, JournalError, NewerRecord, Opened, OpeningRefused, ReadOnly
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase
from mud_assistant.assistant.journal.postgres.sharing.listener import Listener, tell_others
from mud_assistant.assistant.journal.postgres.sharing.messages import FOR, count_messages, pending_records
from mud_assistant.assistant.journal.postgres.sharing.placement import read_loads
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.sharing.usage import PostgresUsage
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.records import EVENT
from mud_assistant.assistant.keys.reference import KeySources, read_key, resolve_key
from mud_assistant.assistant.memory.recall.index import RecallIndex, RecallIndexError
from mud_assistant.assistant.memory.recall.postgres.index import PostgresIndex
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import RecallThread
from mud_assistant.assistant.runtime.sharing.balancing import Balancer
from mud_assistant.assistant.runtime.sharing.leases import EVERYBODY, LeaseKeeper
from mud_assistant.assistant.runtime.sharing.mail import Hear, Mail
from mud_assistant.assistant.runtime.storage import KeptJournal, SharingCounts
from mud_assistant.resilience import Launcher
from mud_assistant.resilience.background import FromThread

#: Begins the notice that nobody runs an assistant any more.
FREE = "free "
T = TypeVar("T")
_log = Logger()


class Password:
    """The password of the journal's database, read anew for each connection: it may be changed while processes run.

    Call `unlock` first, then the instance itself, on any thread.
    """

    def __init__(self, reference: str, keys: KeySources) -> None:
        self._reference = reference
        self._keys = keys
        #: The last one that could be read.
        self._last: str | None = None

    async def unlock(self) -> None:
        """Read it for the first time. Raises KeyReferenceError."""
        self._last = await resolve_key(self._reference, self._keys) or None

    def __call__(self) -> str | None:
        """Return the password as it is now, None for none. Blocks.

        A keyring is not asked again, since a person may have to unlock it. One that cannot be read now, as in the
        middle of a change, is the last one that could.
        """
        if self._reference.startswith(("env:", "file:")):
            try:
                self._last = read_key(self._reference, self._keys)
            except KeyReferenceError as error:
                _log.warn("the password of the journal cannot be read again: {why}", why=str(error))
        return self._last


class RecallPostgres(RecallThread):
    """The index of memories in the journal's database, on a connection and thread of its own.

    An assistant that moves to another process finds its memories there at once. `language` is the owner's.
    """

    def __init__(self, connect: Callable[[], PostgresDatabase], reactor: FromThread, language: str) -> None:
        super().__init__(PostgresIndex(connect, language, _hold), reactor)

    def _recover(self, work: Callable[[RecallIndex], T], broken: RecallIndexError) -> T:
        """Connect anew, and do the work once more: it may have been done, and nothing is the worse for it."""
        self._is_open = False
        self._open()
        return work(self._index)


def _hold(db: Database, assistant: str, ids: Sequence[str]) -> Collection[str]:
    """Return which of these memories the journal has, and keep them there until the transaction ends."""
    found = db.execute(
        "SELECT id FROM memories WHERE assistant = ? AND id = ANY(?) ORDER BY id FOR KEY SHARE", (assistant, list(ids))
    )
    return {each for (each,) in found}


class SharedJournal(KeptJournal):
    """The journal in PostgreSQL, for the assistants that this process runs or waits for.

    `name` is what other processes call this one, the same after a restart. `on_notice` is called with the words of
    every notice that is not the journal's own.
    """

    # Any: the reactor as clock, and for calls from other threads.
    def __init__(
        self,
        config: JournalConfig,
        name: str,
        reactor: Any,
        wall: Callable[[], float],
        on_trouble: Callable[[str], None] = lambda _: None,
        *,
        language: str = ENGLISH,
    ) -> None:
        self.store: PostgresStore
        process = JournalProcess(name)
        store = PostgresStore(config.url, reactor, wall, process, on_trouble=on_trouble)
        super().__init__(store, RecallPostgres(store.connect, reactor, language), reactor, config)
        self.notices = self
        self.shared_ledger = PostgresUsage(store, process.id)
        self.on_notice: Callable[[str], None] = lambda _: None
        self.keeper = LeaseKeeper(store, reactor, self._lost)
        self._listener = Listener(store.connect, process, reactor, self._heard, store.leases.begin_anew)
        self._releases = Launcher()
        #: Whether the leases of assistants that were stopped here are kept while this process lives, so that no other
        #: starts them.
        self.keeps_stopped = False
        self._has_begun = False
        self._mail: Mail | None = None
        self._balancer: Balancer | None = None

    async def unlock(self, keys: KeySources) -> None:
        """Read the password, if the settings name one. Raises KeyReferenceError."""
        if self._config.password:
            password = Password(self._config.password, keys)
            await password.unlock()
            self.store.password = password

    async def open(self) -> Opened:
        """Connect, and return the state in which the journal was found. Raises no error of the database."""
        return self._begin(await self.store.open())

    async def open_again(self) -> Opened:
        """Try once more to connect, and return the state in which the journal is found now."""
        return self._begin(await super().open_again())

    def _begin(self, opened: Opened) -> Opened:
        """Let others see this process, and keep its leases, unless there is no database to do so."""
        is_awaited = isinstance(opened, ReadOnly) and opened.passes
        if not (self._has_begun or is_awaited or isinstance(opened, OpeningRefused)):
            self._has_begun = True
            self._listener.start()
            self.keeper.start()
        return opened

    def may_act(self, assistant: str) -> bool:
        """Tell whether this process still is the character, as far as it knows, and the others know that it lives."""
        return self._listener.is_seen() and super().may_act(assistant)

    def sharing_counts(self) -> SharingCounts:
        """Return what this process knows of its leases, and whether the database is away."""
        is_away = self.store.trouble is not None or (self._has_begun and not self._listener.is_seen())
        leases = self.store.leases
        return SharingCounts(is_away, leases.count(), self.keeper.lost, leases.takeovers)

    async def count_messages(self) -> int:
        """Return how many messages wait that no process has taken in. Raises JournalError."""
        return await self.store.read(count_messages)

    def begins_to_hear(self, assistant: str) -> None:
        """Look at once for what others have said to it meanwhile."""
        if self._mail is not None:
            self.keeper.look_now()

    def until_free(self, assistant: str) -> Deferred[None]:
        """Wait until no other process runs this assistant."""
        return self.keeper.until_free(assistant)

    def release(self, assistant: str) -> None:
        """Give back the lease of an assistant that no longer runs here, unless it `keeps_stopped`; tell who waits."""
        super().release(assistant)
        if not self.keeps_stopped:
            self._releases.launch(self._release_quietly(assistant), f"giving back the lease of {assistant}")

    async def give(self, assistant: str, to: str) -> None:
        """Give back the lease of an assistant that no longer runs here, for the process named `to`.

        Raises JournalError.
        """
        super().release(assistant)
        await self._release(assistant, to)

    async def has_namesake(self) -> bool:
        """Tell whether another process of this name lives: both would take each other's leases. Raises JournalError."""
        process = self.store.process
        loads = await self.store.read(read_loads)
        return any(load.name == process.name and load.id != process.id for load in loads)

    def take_messages(self, hear: Hear) -> None:
        """Let assistants of this process hear the messages that others left for them, from now on."""
        self._mail = Mail(self.store, hear, self.keeper.look_now)
        self.keeper.on_messages = self._mail.deliver
        self.keeper.look_now()

    def balance(self, mine: Callable[[], Sequence[str]], hand_over: Callable[[str, str], Awaitable[None]]) -> None:
        """Give assistants away to processes that wait for them and run fewer, from now on: see `Balancer`."""
        self._balancer = Balancer(self.store, self._reactor, mine, hand_over)
        self._balancer.start()

    async def pending_messages(self, assistant: str) -> list[Event]:
        """Return the events that came as messages and are not dealt with, oldest first. Raises JournalError."""
        events: list[Event] = []
        for record in await self.store.read(partial(pending_records, assistant=assistant)):
            with suppress(BrokenRecord, NewerRecord, ValueError):  # parked by who reads the inbox
                events.append(EVENT.decode(record))
        return events

    async def stop_sharing(self) -> None:
        """Give no assistant away any more, and take in no message. Call it before the assistants are stopped."""
        self.keeper.on_messages = None
        for part in (self._balancer, self._mail):
            if part is not None:
                await part.stop()

    async def close(self) -> None:
        """Give back all leases, finish the pending work, and close the connections."""
        self.end_tidying()
        self._listener.stop()
        await self.stop_sharing()
        await self.keeper.stop()
        with suppress(JournalError):  # they expire by themselves
            await self.store.write(self._release_all)
        await super().close()

    def tell(self, words: str) -> None:
        """Tell other processes these words, under 8,000 bytes. A hint, which may be lost."""
        self._launcher.launch(self._tell(words), "telling other processes")

    async def _tell(self, words: str) -> None:
        with suppress(JournalError):
            await self.store.notify(words)

    def _check_unheld(self, db: Database, assistant: str) -> None:
        """Raise HeldElsewhere when another process runs an assistant."""
        self.store.leases.check_unheld(db, assistant)

    def _release_all(self, db: Database) -> None:
        self.store.leases.release_all(db)
        tell_others(db, FREE + EVERYBODY)

    async def _release(self, assistant: str, to: str = "") -> None:
        """Give a lease back and tell of it, in one write."""

        def work(db: Database) -> None:
            if self.store.leases.release(db, assistant, to):
                tell_others(db, FREE + assistant)

        await self.store.write(work)

    async def _release_quietly(self, assistant: str) -> None:
        with suppress(JournalError):  # it expires by itself
            await self._release(assistant)

    def _lost(self, assistant: str) -> None:
        self.on_lost(assistant)

    def _heard(self, words: str) -> None:
        if words.startswith(FREE):
            self.keeper.hint(words.removeprefix(FREE))
        elif words.startswith(FOR):
            if self.may_act(words.removeprefix(FOR)):
                self.keeper.look_now()
        elif words:
            self.on_notice(words)
        else:  # some notices may have been missed, and the lease of a line that was lost may be over
            self.keeper.renew()
            self.keeper.look_now()
