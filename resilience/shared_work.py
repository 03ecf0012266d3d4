"""One piece of work that several callers wait for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

V = TypeVar("V")
_log = Logger()


class SharedWork(Generic[V]):
    """Work and those who wait for it, each on a Deferred of its own; the last one to leave cancels it.

    `on_end` is called once, before anybody hears of the end: after it nobody may join.
    """

    def __init__(self, on_end: Callable[[SharedWork[V]], None]) -> None:
        self._on_end = on_end
        self._waiting: list[Deferred[V]] = []
        self._running: Deferred[V] | None = None
        self._ended = False

    def join(self) -> Deferred[V]:
        """What the work returns or raises. Cancelling it removes this caller only, unless nobody else waits."""
        waiter: Deferred[V] = Deferred(self._leave)
        self._waiting.append(waiter)
        return waiter

    def start(self, work: Coroutine[Deferred[Any], Any, V]) -> None:
        """Start the work; somebody should have joined."""
        self._running = Deferred.fromCoroutine(work)
        self._running.addBoth(self._land)
        if self._ended:  # the work stopped itself before it first waited, when there was nothing to cancel yet
            self._running.cancel()

    def stop(self) -> None:
        """Cancel the work; whoever waits gets CancelledError. Work that goes on regardless does so for nobody."""
        if self._ended:
            return
        self._end()
        if self._running is not None:
            self._running.cancel()
        while self._waiting:
            self._waiting.pop(0).errback(CancelledError())

    def _leave(self, waiter: Deferred[V]) -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)
            if not self._waiting:
                self.stop()

    def _end(self) -> None:
        self._ended = True
        self._on_end(self)

    def _land(self, result: V | Failure) -> None:
        """Tell everybody, one by one: a caller may make others leave."""
        if self._ended:
            _note_late(result)
            return
        self._end()
        while self._waiting:
            self._waiting.pop(0).callback(_own(result))


def _own(result: V | Failure) -> V | Failure:
    """The result for one caller: a failure of its own, round the same exception."""
    if isinstance(result, Failure):
        return Failure(result.value, result.type, result.getTracebackObject())
    return result


def _note_late(result: object) -> None:
    """Log how abandoned work failed. That it was cancelled is what was asked for."""
    if isinstance(result, Failure) and not result.check(CancelledError):
        _log.debug("late failure of abandoned work: {kind}", kind=type(result.value).__name__)
