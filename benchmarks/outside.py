"""What goes on beside a clock that is moved on by hand: the journal's disk, its index, calls of models.

A clock of that kind must wait for them, however long they take here: else what happens depends on how busy the machine
is. `Outside` counts them, and the journal and the exchange of this file tell it of each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.journal import Store
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.files import beside
from mud_assistant.assistant.journal.store import Job
from mud_assistant.assistant.memory.recall.index import RecallIndex
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import ENDING, RecallFile
from mud_assistant.assistant.runtime.storage import KeptJournal
from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.http.request import Limits, Request, Sink

T = TypeVar("T")


class Outside:
    """How much goes on outside. Any thread may begin and end something."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._lock = Lock()
        self._count = 0
        self._waiting: list[Deferred[None]] = []

    def __len__(self) -> int:
        """Return how much goes on."""
        return self._count

    def begin(self) -> None:
        """Count one more."""
        with self._lock:
            self._count += 1

    def end(self, result: T) -> T:
        """Count one less, and return the argument, as a callback of a Deferred does."""
        with self._lock:
            self._count -= 1
            is_last = not self._count
        if is_last:
            self._reactor.callFromThread(self._tell)
        return result

    def idle(self) -> Deferred[None]:
        """Return what fires, in a turn of the reactor of its own, when nothing goes on."""
        waiter: Deferred[None] = Deferred()
        self._waiting.append(waiter)
        self._reactor.callFromThread(self._tell)
        return waiter

    def _tell(self) -> None:
        if not self._count:
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                waiter.callback(None)


class _CountedStore(Store):
    """A journal's store that tells of each job."""

    outside: Outside

    def _put(self, job: Job) -> Deferred[Any]:
        self.outside.begin()
        return super()._put(job).addBoth(self.outside.end)

    def read_then(self, work: Callable[[Database], T], then: Callable[[T | Failure], object]) -> None:
        self.outside.begin()
        super().read_then(work, lambda result: self.outside.end(then(result)))

    def call_back(self, call: Callable[[T], object], value: T) -> None:
        self.outside.begin()
        super().call_back(lambda handed: call(self.outside.end(handed)), value)


class _CountedIndex(RecallFile):
    """An index of memories that tells of each work."""

    outside: Outside

    def run(self, work: Callable[[RecallIndex], T]) -> Awaitable[T]:
        self.outside.begin()
        running: Any = super().run(work)
        counted: Awaitable[T] = running.addBoth(self.outside.end)
        return counted

    def run_then(self, work: Callable[[RecallIndex], T], then: Callable[[T | Failure], object]) -> None:
        self.outside.begin()
        super().run_then(work, lambda result: self.outside.end(then(result)))


def counted_journal(path: Path, reactor: Any, wall: Callable[[], float], outside: Outside) -> KeptJournal:
    """Make the journal of one file, as `JournalFile` is, that tells of what it has to do."""
    store = _CountedStore(path, reactor, wall, on_trouble=lambda _: None)
    index = _CountedIndex(beside(path, ENDING), reactor, ENGLISH)
    store.outside = index.outside = outside
    return KeptJournal(store, index, reactor, JournalConfig())


class CountedExchange(HttpExchange):
    """The calls of models, each of which is told of."""

    def __init__(self, reactor: Any, outside: Outside) -> None:
        super().__init__(reactor)
        self._outside = outside

    async def perform(self, request: Request, sink: Sink, limits: Limits | None = None) -> None:
        """Perform a request."""
        self._outside.begin()
        try:
            await super().perform(request, sink, limits)
        finally:
            self._outside.end(None)
