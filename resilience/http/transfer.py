"""One response on its way to its reader, within its limits of time and size."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

from mud_assistant.resilience.errors import BodyTooLarge, ConnectionLost, TimedOut
from mud_assistant.resilience.http.request import Limits, Sink
from mud_assistant.resilience.http.response import ResponseHead

#: Seconds the server has to end the body once the reader has all it needs; then we hang up.
LINGER_SECONDS = 1.0
#: Seconds by which a sum of floats may be wrong.
_ROUNDING = 1e-6


class Transfer:
    """Feeds a response to a sink. `done` fires with None, or fails with the reason the response is not complete.

    A sink that answers with a Deferred is not ready for more: reading pauses until it fires, and so does the idle
    clock, because the wait is not the server's. `abort` resets the connection, `read` says whether to read on. Both are
    set by the connection. Cancelling `done` closes the connection. `seconds_used` of the time for the head are over
    already.
    """

    __slots__ = (
        "_clock",
        "_ending",
        "_error",
        "_has_ended",
        "_heard_at",
        "_held",
        "_limits",
        "_most",
        "_origin",
        "_received",
        "_satisfied",
        "_sink",
        "_timer",
        "_waiting",
        "abort",
        "done",
        "has_failed",
        "has_head",
        "read",
    )  # fmt: skip

    def __init__(self, sink: Sink, limits: Limits, clock: IReactorTime, origin: str, seconds_used: float = 0.0) -> None:
        self._sink = sink
        self._limits = limits
        self._clock = clock
        self._origin = origin
        self._received = 0
        self._most = limits.max_body_bytes
        self._satisfied = False
        self._error: Exception | None = None
        self._waiting: Deferred[bool] | None = None
        self._held: list[bytes] = []
        self._has_ended = False
        #: Why the response is not complete, when it ended before it was.
        self._ending: Exception | None = None
        self.has_head = False
        #: Whether it hung up because of an error.
        self.has_failed = False
        self.abort: Callable[[], None] | None = None
        self.read: Callable[[bool], None] | None = None
        #: None once it has fired, or will not.
        self.done: Deferred[None] | None = Deferred(self._cancelled)
        #: When the last of the body came. The timer, which is for the head first and then for the longest silence, is
        #: not moved by each part of a body: it looks here when its time is over.
        self._heard_at = 0.0
        left = max(0.0, limits.first_byte_seconds - seconds_used)
        self._timer: IDelayedCall | None = clock.callLater(left, self._late)

    @property
    def is_waiting(self) -> bool:
        """Whether its sink is not ready for more."""
        return self._waiting is not None

    @property
    def is_wanted(self) -> bool:
        """Whether anybody still waits for more of the response."""
        return self._error is None and not self._satisfied

    def head(self, head: ResponseHead) -> None:
        """Hand the head to the sink."""
        self.has_head = True
        if self._timer is not None:
            self._timer.reset(self._limits.idle_seconds)
        try:
            self._sink.head(head.status, head.headers)
        except Exception as error:  # noqa: BLE001  (every error of the sink ends the exchange and reaches the caller)
            self.fail(error)

    def data(self, data: bytes) -> None:
        """Hand on what one read brought of the body."""
        if self.has_failed or self._satisfied:
            return
        self._received += len(data)
        if self._received > self._most:
            self.fail(BodyTooLarge(f"{self._origin} sent more than {self._most} bytes", self._origin, self._most))
            return
        if self._waiting is not None:
            self._held.append(data)
            return
        try:
            answer = self._sink.data(data)
        except Exception as error:  # noqa: BLE001  (as for the head)
            self.fail(error)
            return
        if answer is False:
            self._heard_at = self._clock.seconds()
        elif isinstance(answer, Deferred):
            self._pause(answer)
        else:
            self._took(satisfied=answer)

    def ended(self) -> None:
        """Take note that the response is complete. `done` fires once the sink has taken all of it."""
        self._has_ended = True
        if self._waiting is None:
            self._settle()

    def lost(self, error: Exception) -> None:
        """Take note that the connection is gone before the response was complete.

        The sink is still given what came. An earlier error comes first. A sink that has all it needs misses nothing.
        """
        self._ending = error
        if self._error is not None:
            self._settle()
        else:
            self.ended()

    def fail(self, error: Exception) -> None:
        """Hang up. `done` fails with `error` once the connection is gone, so that nothing of it is left by then."""
        self._stop_timer()
        self.has_failed = True
        if self._error is None:
            self._error = error
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()
        self._hang_up()

    def _took(self, *, satisfied: bool) -> None:
        self._satisfied = satisfied
        if self._timer is not None:
            self._timer.reset(LINGER_SECONDS if satisfied else self._limits.idle_seconds)

    def _pause(self, answer: Deferred[bool]) -> None:
        """Read no more until the sink is ready."""
        self._waiting = answer
        self._stop_timer()
        if self.read is not None:
            self.read(False)
        answer.addCallbacks(self._go_on, self._refused)

    def _go_on(self, satisfied: bool) -> None:
        self._waiting = None
        if not self._has_ended:
            self._timer = self._clock.callLater(self._limits.idle_seconds, self._late)
            if self.read is not None:
                self.read(True)
        self._took(satisfied=satisfied)
        if self._held and not satisfied:
            held, self._held = self._held, []
            self._received -= sum(map(len, held))  # they were counted when they came
            self.data(b"".join(held))
        if self._has_ended and self._waiting is None:
            self._settle()

    def _refused(self, failure: Failure) -> None:
        if self._waiting is None:
            return  # cancelled by `fail`
        self._waiting = None
        error = failure.value
        self.fail(error if isinstance(error, Exception) else ConnectionLost(str(error), self._origin, began=True))
        if self._has_ended:
            self._settle()

    def _settle(self) -> None:
        self._stop_timer()
        self.abort = self.read = None
        done, self.done = self.done, None
        if done is None or done.called:
            return
        error = self._error or (None if self._satisfied else self._ending)
        self._error = self._ending = None
        if error is not None:
            done.errback(error)
        else:
            done.callback(None)

    def _late(self) -> None:
        self._timer = None
        if self._satisfied:
            self._hang_up()
        elif self.has_head:
            seconds = self._limits.idle_seconds
            if (left := self._heard_at + seconds - self._clock.seconds()) > _ROUNDING:
                self._timer = self._clock.callLater(left, self._late)
                return
            self.fail(TimedOut(f"{self._origin} sent nothing for {seconds:g} s", self._origin, "idle", seconds))
        else:
            seconds = self._limits.first_byte_seconds
            said = f"{self._origin} did not answer within {seconds:g} s"
            self.fail(TimedOut(said, self._origin, "first byte", seconds))

    def _cancelled(self, _: Deferred[None]) -> None:
        self.fail(CancelledError())

    def _hang_up(self) -> None:
        """Reset the connection; without one there is nothing to wait for."""
        if self.abort is not None:
            self.abort()
        else:
            self._settle()

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
