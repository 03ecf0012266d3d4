"""The tables of a journal in memory, with which a process may end before or after anything it writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from mud_assistant.assistant.journal import Store
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.memory.remembered import tables_in_memory
from tests.assistant.living import reactor

T = TypeVar("T")


class Death(BaseException):
    """The process is no more. Not an Exception: nothing may catch it and go on."""


class StoreInMemory(Store):
    """The store of a journal that works at once, on no thread. `wall` gives seconds since 1970.

    The tables outlive the process, which ends at boundary number `left`: there is one before and one after each write.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        super().__init__(Path("in memory"), reactor, wall)
        self.tables = tables_in_memory()
        self.left: int | None = None
        self.is_dead = False

    def pass_boundary(self) -> None:
        """Go on, or end. Raises Death, from then on always."""
        if self.left is not None:
            self.is_dead = self.is_dead or self.left <= 0
            self.left -= 1
        self.check_alive()

    def check_alive(self) -> None:
        """Raise Death when the process has ended."""
        if self.is_dead:
            raise Death

    def live_again(self) -> None:
        """Begin another process on the same tables."""
        self.left, self.is_dead = None, False

    def write(self, work: Callable[[Database], T]) -> Deferred[T]:
        """Do the work at once: all of it or nothing."""
        self.pass_boundary()
        self.tables.execute("SAVEPOINT work")
        try:
            value = work(self.tables)
        except Exception as error:  # noqa: BLE001  (whoever asked gets it, as from a thread; nothing here waits)
            self.tables.execute("ROLLBACK TO work")
            self.tables.execute("RELEASE work")
            return fail(error)
        self.tables.execute("RELEASE work")
        self.pass_boundary()
        return succeed(value)

    def read(self, work: Callable[[Database], T]) -> Deferred[T]:
        """Return what the work returns."""
        self.check_alive()
        return succeed(work(self.tables))

    def read_then(self, work: Callable[[Database], T], then: Callable[[T | Failure], object]) -> None:
        """Call `then` with what the work returns."""
        self.check_alive()
        then(work(self.tables))

    def call_back(self, call: Callable[[T], object], value: T) -> None:
        """Call at once: there is no other thread."""
        call(value)

    def compact(self) -> Deferred[bool]:
        """Return True: there is no file."""
        return succeed(True)
