"""The receiving half of an HTTP exchange: limits the size of the head, and the time and the size of the body.

A guard stands between the connection and Twisted's HTTP: it limits the head and tells when a read is over. Twisted
bounds each header line, but not how many there are. And it hands on a chunked body chunk by chunk, dozens in one read,
which cost less together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.iweb import IResponse

from resilience.errors import BodyTooLarge, ConnectionLost, TimedOut
from resilience.http.request import Limits, Sink

#: The most bytes of one response head; real ones have a few thousand.
MAX_HEAD_BYTES = 256 * 1024
_ENDS = (b"\r\n\r\n", b"\n\n")
#: Seconds the server has to end the body once the reader has all it needs; then we hang up.
LINGER_SECONDS = 1.0


class BodyReceiver(Protocol):
    """Feeds a response body to a sink. `done` fires with None, or fails with the reason the body is not complete.

    The bytes of one read of the connection are handed on in one piece. A sink that answers with a Deferred is not ready
    for more: reading pauses until it fires, and so does the idle clock, because the wait is not the server's.
    """

    def __init__(self, sink: Sink, limits: Limits, clock: IReactorTime, origin: str) -> None:
        self._sink = sink
        self._limits = limits
        self._clock = clock
        self._origin = origin
        self._received = 0
        self._satisfied = False
        self._timer: IDelayedCall | None = None
        self._error: Exception | None = None
        self._waiting: Deferred[bool] | None = None
        self._held: list[bytes] = []
        self._guard: HeaderGuard | None = None
        self._lost: Failure | None = None
        self.done: Deferred[None] = Deferred(lambda _: self._end(CancelledError()))

    def head(self, response: IResponse) -> None:
        """Hand the head to the sink. An error the sink raises ends the exchange as soon as there is a body to end.

        The sink also gets the length, which Twisted keeps apart from the other headers.
        """
        if isinstance(response.length, int):
            response.headers.setRawHeaders(b"content-length", [b"%d" % response.length])
        try:
            self._sink.head(response.code, response.headers)
        except Exception as error:  # noqa: BLE001  (as in dataReceived)
            self._error = error

    def connectionMade(self) -> None:
        """Start the idle clock."""
        if self._error is not None:
            self._end(self._error)
            return
        self._timer = self._clock.callLater(self._limits.idle_seconds, self._idle)
        connection = self._connection
        self._guard = connection if isinstance(connection, HeaderGuard) else None

    def dataReceived(self, data: bytes) -> None:
        """Hand the bytes to the sink. An error the sink raises ends the exchange."""
        if self._error is not None or self._satisfied:
            return
        self._received += len(data)
        if self._received > self._limits.max_body_bytes:
            limit = self._limits.max_body_bytes
            self._end(BodyTooLarge(f"{self._origin} sent more than {limit} bytes", self._origin, limit))
            return
        self._held.append(data)
        if self._guard is None:
            self._give()
        elif len(self._held) == 1:
            self._guard.after_read(self._give)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the body, after handing the sink the bytes it has not taken yet."""
        self._stop_timer()
        self._lost = reason
        self._give()
        if self._waiting is None or self._error is not None:
            self._settle(reason)

    def _give(self) -> None:
        """Hand the received bytes to the sink, unless it is busy."""
        if not self._held or self._waiting is not None or self._satisfied or self._error is not None:
            return
        held, self._held = self._held, []
        try:
            answer = self._sink.data(held[0] if len(held) == 1 else b"".join(held))
        except Exception as error:  # noqa: BLE001  (every error of the sink ends the exchange and reaches the caller)
            self._end(error)
            return
        if isinstance(answer, Deferred):
            self._pause(answer)
        else:
            self._took(satisfied=answer)

    def _took(self, *, satisfied: bool) -> None:
        self._satisfied = satisfied
        if self._timer is not None:
            self._timer.reset(LINGER_SECONDS if satisfied else self._limits.idle_seconds)

    def _pause(self, answer: Deferred[bool]) -> None:
        """Read no more until the sink is ready."""
        self._waiting = answer
        self._stop_timer()
        if self.transport is not None:
            self.transport.pauseProducing()  # type: ignore[attr-defined]  # a body's transport is a producer
        answer.addCallbacks(self._go_on, self._refused)

    def _go_on(self, satisfied: bool) -> None:
        self._waiting = None
        if self._lost is None:
            self._timer = self._clock.callLater(self._limits.idle_seconds, self._idle)
            if self.transport is not None:
                self.transport.resumeProducing()  # type: ignore[attr-defined]  # as above
        self._took(satisfied=satisfied)
        self._give()
        if self._lost is not None and self._waiting is None:
            self._settle(self._lost)

    def _refused(self, failure: Failure) -> None:
        self._waiting = None
        error = failure.value
        self._end(error if isinstance(error, Exception) else ConnectionLost(str(error), self._origin, began=True))
        if self._lost is not None:
            self._settle(self._lost)

    def _settle(self, reason: Failure) -> None:
        """Fire `done`. Only a counted, chunked or close-delimited end counts as complete."""
        if self.done.called:
            return
        if self._error is not None:
            self.done.errback(self._error)
        elif self._satisfied or reason.check(ResponseDone, PotentialDataLoss):
            self.done.callback(None)
        else:
            self.done.errback(ConnectionLost(f"{self._origin} closed the connection early", self._origin, began=True))

    def _idle(self) -> None:
        if self._satisfied:
            self._hang_up()
            return
        seconds = self._limits.idle_seconds
        self._end(TimedOut(f"{self._origin} sent nothing for {seconds:g} s", self._origin, "idle", seconds))

    def _end(self, error: Exception) -> None:
        """Hang up. `done` fails with `error` once the connection is gone, so that nothing of it is left by then."""
        self._stop_timer()
        self._error = self._error or error
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()
        self._hang_up()

    def _hang_up(self) -> None:
        """Reset the connection."""
        connection = self._connection
        if connection is not None and hasattr(connection, "abortConnection"):
            connection.abortConnection()
        elif self.transport is not None:
            self.transport.loseConnection()

    @property
    def _connection(self) -> Any:
        """The transport inside Twisted's proxy for a body's transport, which has no `abortConnection` of its own."""
        return getattr(self.transport, "_producer", None)

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None


class HeadTooLongError(Exception):
    """A server sent a head of more than MAX_HEAD_BYTES."""


class HeaderGuard(ProtocolWrapper):
    """Counts from each request to the blank line that ends its response's head; hangs up when there is too much."""

    def __init__(self, factory: Any, wrapped: Any) -> None:  # Any: Twisted's wrappers have no useful types
        super().__init__(factory, wrapped)
        self._counted = 0
        self._tail = b""
        self._in_head = False
        self._over = False
        self._is_reading = False
        self._after_read: Callable[[], None] | None = None

    def after_read(self, act: Callable[[], None]) -> None:
        """Call `act` once all of the present read was passed on, or at once when there is no read.

        Only the last `act` of a read is called.
        """
        if self._is_reading:
            self._after_read = act
        else:
            act()

    def write(self, data: bytes) -> None:
        """Write a request, and start counting the head of its response."""
        self._in_head, self._counted, self._tail = True, 0, b""
        super().write(data)  # type: ignore[no-untyped-call]  # as above

    def writeSequence(self, data: list[bytes]) -> None:
        """Write the joined data, as `write` does."""
        self.write(b"".join(data))

    def dataReceived(self, data: bytes) -> None:
        """Pass on the data, unless the head is too long."""
        if self._over:
            return
        if self._in_head:
            self._counted += len(data)
            joined = self._tail + data
            self._tail = joined[-3:]
            self._in_head = not any(end in joined for end in _ENDS)
            if self._in_head and self._counted > MAX_HEAD_BYTES:
                self._over = True
                self.wrappedProtocol.connectionLost(Failure(HeadTooLongError()))
                self.abortConnection()
                return
        self._is_reading = True
        try:
            super().dataReceived(data)  # type: ignore[no-untyped-call]  # as above
        finally:
            self._is_reading = False
            act, self._after_read = self._after_read, None
            if act is not None:
                act()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Pass on the end of the connection, unless that was done already."""
        if self._over:
            self.factory.unregisterProtocol(self)
        else:
            super().connectionLost(reason)  # type: ignore[no-untyped-call]  # as above


class HeaderGuardFactory(WrappingFactory):
    """Puts a guard around every connection."""

    protocol = HeaderGuard
    noisy = False
