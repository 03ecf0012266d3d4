"""A total time for a piece of work, however many parts it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from resilience.errors import DeadlineExceeded

T = TypeVar("T")
_log = Logger()


def _nothing() -> None:
    """Nobody need be told."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a clock by which work must be done. It is handed down through the layers unchanged."""

    clock: IReactorTime
    at: float
    seconds: float

    @classmethod
    def after(cls, clock: IReactorTime, seconds: float) -> Deadline:
        """The deadline `seconds` from now."""
        return cls(clock, clock.seconds() + seconds, seconds)

    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.at - self.clock.seconds())

    def bound(self, work: Deferred[T], on_end: Callable[[], None] = _nothing) -> Deferred[T]:
        """The result of `work`, or DeadlineExceeded when it is not there in time; `work` is then cancelled.

        Work that does not react to its cancellation is left to end by itself and its late result is dropped
        (Twisted issue 9534 is why `addTimeout` is not enough). Cancelling the returned Deferred cancels `work`,
        once more at the deadline if it goes on. `on_end` is called before either cancels it: nobody waits any more.
        """
        expired = False

        def abandon(_: Deferred[T]) -> None:
            on_end()
            work.cancel()  # the timer stays until the work has ended: a coroutine that is just running is not stopped

        outcome: Deferred[T] = Deferred(abandon)

        def expire() -> None:
            nonlocal expired
            expired = True
            on_end()
            work.cancel()
            if not outcome.called:  # whoever was told meanwhile may have cancelled it
                outcome.errback(DeadlineExceeded(f"no result within {self.seconds:g} s", self.seconds))

        timer = self.clock.callLater(self.remaining(), expire)

        def settle(result: T | Failure) -> None:
            if expired:
                if isinstance(result, Failure):
                    _log.debug("late failure after a deadline: {kind}", kind=type(result.value).__name__)
                return
            if timer.active():
                timer.cancel()
            if not outcome.called:
                outcome.callback(result)

        work.addBoth(settle)
        return outcome
