"""Decides who may write for an assistant: one process at a time, told apart by a number that only grows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mud_assistant.assistant.journal.database import Database, put_meta
from mud_assistant.assistant.journal.errors import Fenced, JournalUnwritable
from mud_assistant.assistant.journal.store import JournalStore

T = TypeVar("T")

#: Followed by the id of an assistant, the key in `meta` of the character's name.
NAME_OF = "name of "


class MemoryRows(Protocol):
    """The rows of one assistant, as a lease of the journal gives them."""

    @property
    def assistant(self) -> str:
        """The assistant's id."""
        ...

    def write(self, work: Callable[[Database], T]) -> Awaitable[T]:
        """Return what `work` returns, once it is written."""
        ...

    def read(self, work: Callable[[Database], T]) -> Awaitable[T]:
        """Return what `work` returns."""
        ...

    def read_then(self, work: Callable[[Database], T], then: Callable[[T | Failure], object]) -> None:
        """Call `then` with what `work` returns or a Failure, on the thread that reads. It may be called on any."""
        ...

    def call_back(self, call: Callable[[T], object], value: T) -> None:
        """Call in the reactor's thread, from any thread."""
        ...

    def compact(self) -> Awaitable[bool]:
        """Leave no byte of what was removed. Return False when some is left, which the next start removes."""
        ...


class Lease:
    """The right to write for `assistant`. Taking it takes it from the process that had it."""

    def __init__(self, store: JournalStore, assistant: str, name: str = "") -> None:
        """Prepare a lease that is not yet taken. The file keeps the character's last `name` for readers."""
        self.store = store
        self._name = name
        self.assistant = assistant
        #: Our number, 0 before it was taken.
        self.token = 0
        #: Whether a write was refused because another process has the lease. Set on the writer's thread.
        self.is_lost = False

    def take(self, db: Database) -> int:
        """Write the next token down and return it. Part of a transaction; once on disk, `hold` sets `token`."""
        token = self.store.take_lease(db, self.assistant)
        if self._name:
            put_meta(db, NAME_OF + self.assistant, self._name)
        return token

    def hold(self, token: int) -> int:
        """Use this token for all writes from now on; return it."""
        self.token, self.is_lost = token, False
        return token

    def write(self, work: Callable[[Database], T]) -> Deferred[T]:
        """Return what `work` returns, once it is on disk.

        Raises Fenced, and writes nothing, when another process has the lease.
        """
        token = self.token

        def guarded(db: Database) -> T:
            try:
                self.store.check_token(db, self.assistant, token)
            except Fenced:
                self.is_lost = True
                raise
            return work(db)

        return self.store.write(guarded)

    def read(self, work: Callable[[Database], T]) -> Deferred[T]:
        """Return what `work` returns. Reading needs no token."""
        return self.store.read(work)

    def read_then(self, work: Callable[[Database], T], then: Callable[[T | Failure], object]) -> None:
        """Call `then` on the writer's thread with what `work` returns, or a Failure. It may be called on any thread."""
        self.store.read_then(work, then)

    def call_back(self, call: Callable[[T], object], value: T) -> None:
        """Call in the reactor's thread, from any thread."""
        self.store.call_back(call, value)

    async def compact(self) -> bool:
        """Rewrite the file without what was removed. Return False when that must wait for the next start."""
        try:
            return await self.store.compact()
        except JournalUnwritable:  # no room to rewrite it
            return False
