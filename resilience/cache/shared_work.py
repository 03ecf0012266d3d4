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
    """Work and the callers that wait for it, each on a Deferred of its own. The last one to leave cancels it.

    `on_end` is called once, before any caller hears of the end. After it no caller may join.
    """

    def __init__(self, on_end: Callable[[SharedWork[V]], None]) -> None:
        self._on_end = on_end
        self._waiting: list[Deferred[V]] = []
        self._running: Deferred[V] | None = None
        self._ended = False

    def join(self) -> Deferred[V]:
        """Wait for the result of the work or its error. Cancelling removes this caller only, unless no other waits."""
        waiter: Deferred[V] = Deferred(self._leave)
        self._waiting.append(waiter)
        return waiter

    def start(self, work: Coroutine[Deferred[Any], Any, V]) -> None:
        """Start the work. At least one caller should have joined."""
        self._running = Deferred.fromCoroutine(work)
        self._running.addBoth(self._land)
        if self._ended:  # the work stopped itself before it first waited, when there was nothing to cancel yet
            self._running.cancel()

    def stop(self) -> None:
        """Cancel the work; waiting callers get CancelledError. If it goes on regardless, its result is dropped."""
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
        """Tell all callers, one by one: telling one may make others leave."""
        if self._ended:
            _note_late(result)
            return
        self._end()
        while self._waiting:
            self._waiting.pop(0).callback(_own(result))


def _own(result: V | Failure) -> V | Failure:
    """Return the result for one caller: for an error, a Failure of its own around the same exception."""
    if isinstance(result, Failure):
        return Failure(result.value, result.type, result.getTracebackObject())
    return result


def _note_late(result: object) -> None:
    """Log how abandoned work failed, unless it was cancelled, as intended."""
    if isinstance(result, Failure) and not result.check(CancelledError):
        _log.debug("late failure of abandoned work: {kind}", kind=type(result.value).__name__)
