"""A time limit for a whole piece of work, or a limit on silence that starts again with each progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from resilience.errors import DeadlineExceeded

T = TypeVar("T")
_log = Logger()

#: Seconds by which a sum of floats may be wrong.
_ROUNDING = 1e-6


def _nothing() -> None:
    """Do nothing: the default `on_end`."""


@dataclass(slots=True, eq=False)
class Deadline:
    """A moment on a clock by which work must be done. It is passed down the layers, and all of them see it move.

    Without `latest` it never moves. With it, `renew` moves it to `seconds` from now and `hold` to `latest`; nothing
    moves it beyond `latest`.
    """

    clock: IReactorTime
    at: float
    seconds: float
    latest: float | None = None
    #: The deadline that this one is a part of: progress made here is progress there.
    whole: Deadline | None = None
    _held: bool = False
    #: The timers to tell when the deadline comes nearer.
    _timers: list[_Timer] = field(default_factory=list)

    @classmethod
    def after(cls, clock: IReactorTime, seconds: float, total_seconds: float | None = None) -> Deadline:
        """Return the deadline `seconds` from now. With `total_seconds`, progress puts it off, up to so far from now."""
        now = clock.seconds()
        if total_seconds is None:
            return cls(clock, now + seconds, seconds)
        return cls(clock, now + min(seconds, total_seconds), seconds, now + total_seconds)

    def part(self, share: float) -> Deadline:
        """Return a deadline for this share of the time left. Progress puts it off, and `hold` has no effect on it."""
        seconds = self.remaining() * share
        return Deadline(self.clock, self.clock.seconds() + seconds, seconds, self.latest, self)

    def hold(self) -> None:
        """Wait until `latest`, for work that cannot show progress while it runs. `renew` ends it."""
        if self.latest is not None and self.whole is None:
            self.at, self._held = self.latest, True

    def renew(self) -> None:
        """Restart the limit on silence: progress was made."""
        if self.whole is not None:
            self.whole.renew()
        if self.latest is None:
            return
        self.at = min(self.clock.seconds() + self.seconds, self.latest)
        if self._held:
            self._held = False
            for timer in tuple(self._timers):
                timer.come_nearer()

    def remaining(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - self.clock.seconds())

    def bound(self, work: Deferred[T], on_end: Callable[[], None] = _nothing) -> Deferred[T]:
        """Return the result of `work`; at the deadline, cancel `work` and fail with DeadlineExceeded.

        Work that does not react to its cancellation is left to end by itself and its late result is dropped
        (Twisted issue 9534 is why `addTimeout` is not enough). Cancelling the returned Deferred cancels `work`,
        once more at the deadline if it goes on. `on_end` is called before either cancels it: no caller waits any more.
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
            if not outcome.called:  # a callback may have cancelled it meanwhile
                outcome.errback(self._exceeded())

        timer = _Timer(self, expire)
        self._timers.append(timer)

        def settle(result: T | Failure) -> None:
            self._timers.remove(timer)
            if expired:
                if isinstance(result, Failure):
                    _log.debug("late failure after a deadline: {kind}", kind=type(result.value).__name__)
                return
            timer.stop()
            if not outcome.called:
                outcome.callback(result)

        work.addBoth(settle)
        return outcome

    def _exceeded(self) -> DeadlineExceeded:
        if self.latest is None or self.at < self.latest:
            said = "no result" if self.latest is None else "nothing heard"
            return DeadlineExceeded(f"{said} within {self.seconds:g} s", self.seconds)
        return DeadlineExceeded("no result in all the time there was", self.seconds)


class _Timer:
    """Calls `expire` once a deadline is over, even when the deadline has moved meanwhile."""

    __slots__ = ("_call", "_deadline", "_expire")

    def __init__(self, deadline: Deadline, expire: Callable[[], None]) -> None:
        self._deadline = deadline
        self._expire = expire
        self._call = deadline.clock.callLater(deadline.remaining(), self._look)

    def come_nearer(self) -> None:
        """Look again earlier than planned: the deadline came nearer."""
        if self._call.active():
            self._call.reset(self._deadline.remaining())

    def stop(self) -> None:
        """Cancel the timer: the work is over."""
        if self._call.active():
            self._call.cancel()

    def _look(self) -> None:
        left = self._deadline.remaining()
        if self._deadline.latest is not None and left > _ROUNDING:
            self._call = self._deadline.clock.callLater(left, self._look)
        else:
            self._expire()
