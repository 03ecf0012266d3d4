"""A time limit for a whole piece of work, or a limit on silence that starts again with each progress."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from mud_assistant.resilience.coroutines import CoroutineRunner, log_late
from mud_assistant.resilience.errors import DeadlineExceeded

T = TypeVar("T")

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
    #: The work under way, told when the deadline comes nearer.
    under_way: list[_Bound] = field(default_factory=list)

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
            for bound in tuple(self.under_way):
                bound.come_nearer()

    def remaining(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - self.clock.seconds())

    def bound(self, work: Deferred[T], on_end: Callable[[], None] = _nothing) -> Deferred[T]:
        """Return the result of `work`; at the deadline, cancel `work` and fail with DeadlineExceeded.

        Work that does not react to its cancellation is left to end by itself and its late result is dropped
        (Twisted issue 9534 is why `addTimeout` is not enough). Cancelling the returned Deferred cancels `work`,
        once more at the deadline if it goes on. `on_end` is called before either cancels it: no caller waits any more.
        """
        bound = _Bound(self, work.cancel, on_end)
        outcome = bound.outcome
        work.addBoth(bound.settle)
        return outcome

    def run(self, work: Coroutine[Deferred[Any], Any, T], on_end: Callable[[], None] = _nothing) -> Deferred[T]:
        """Run a coroutine and return its result, as `bound` does."""
        running = CoroutineRunner(work)
        bound = _Bound(self, running.cancel, on_end)
        outcome = bound.outcome
        running.start(bound.settle)
        return outcome

    def exceeded(self) -> DeadlineExceeded:
        """Return the error that says what ran out."""
        if self.latest is None or self.at < self.latest:
            said = "no result" if self.latest is None else "nothing heard"
            return DeadlineExceeded(f"{said} within {self.seconds:g} s", self.seconds)
        return DeadlineExceeded("no result in all the time there was", self.seconds)


class _Bound:
    """Work under a deadline. `outcome` is its result, or the error that there was none in time.

    Its timer calls `_look` once the deadline is over, even when that has moved meanwhile.
    """

    __slots__ = ("_cancel", "_deadline", "_is_expired", "_on_end", "_timer", "outcome")

    def __init__(self, deadline: Deadline, cancel: Callable[[], None], on_end: Callable[[], None]) -> None:
        self._deadline = deadline
        self._cancel = cancel
        self._on_end = on_end
        self._is_expired = False
        self.outcome: Deferred[Any] = Deferred(self._abandon)
        self._timer = deadline.clock.callLater(deadline.remaining(), self._look)
        deadline.under_way.append(self)

    def come_nearer(self) -> None:
        """Look again earlier than planned: the deadline came nearer."""
        if self._timer.active():
            self._timer.reset(self._deadline.remaining())

    def settle(self, result: Any) -> None:  # Any: a Failure too
        """End it: the work has this result."""
        self._deadline.under_way.remove(self)
        if self._timer.active():
            self._timer.cancel()
        outcome = self.outcome
        del self.outcome, self._on_end, self._cancel, self._timer  # they refer to this object: a cycle
        if self._is_expired:
            if isinstance(result, Failure):
                log_late(result)
        elif not outcome.called:
            outcome.callback(result)

    def _abandon(self, _: Deferred[Any]) -> None:
        """Cancel the work, because the outcome was cancelled.

        The timer stays until the work has ended: a coroutine that is just running is not stopped.
        """
        self._on_end()
        self._cancel()

    def _look(self) -> None:
        left = self._deadline.remaining()
        if self._deadline.latest is not None and left > _ROUNDING:
            self._timer = self._deadline.clock.callLater(left, self._look)
        else:
            self._expire()

    def _expire(self) -> None:
        """Cancel the work, because its time is up."""
        outcome = self.outcome
        self._is_expired = True
        self._on_end()
        self._cancel()
        if not outcome.called:  # a callback may have cancelled it meanwhile
            outcome.errback(self._deadline.exceeded())
