"""The timers of one connection: for what is due from the client, and for what it should take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReactorTime

#: A client that takes nothing for this many seconds is cut off.
STALL_SECONDS = 60.0
#: How often it is looked, in seconds.
_LOOKS = 15.0


class ProgressWatch:
    """Cuts a connection when nothing of what waits was sent for 60 to 75 seconds.

    A client that reads slowly is not cut. `transport` is one of Twisted's TCP connections: no interface tells what it
    has sent, so its buffer is looked at.
    """

    def __init__(self, clock: IReactorTime, transport: Any) -> None:
        self._clock = clock
        self._transport = transport
        self._timer: IDelayedCall | None = None
        self._seen = (0, 0)
        self._since = 0.0

    def begin(self) -> None:
        """Watch from now on. No effect while watching already."""
        if self._timer is None:
            self._seen, self._since = self._mark(), self._clock.seconds()
            self._timer = self._clock.callLater(_LOOKS, self._look)

    def end(self) -> None:
        """Watch no longer."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def _look(self) -> None:
        now, mark = self._clock.seconds(), self._mark()
        if mark != self._seen:
            self._seen, self._since = mark, now
        self._timer = None
        if now - self._since >= STALL_SECONDS:
            self._transport.abortConnection()
        else:
            self._timer = self._clock.callLater(_LOOKS, self._look)

    def _mark(self) -> tuple[int, int]:
        """Return what changes with each byte that was sent."""
        return len(self._transport.dataBuffer), self._transport.offset


class Expectation:
    """What is due next on a connection. There is one thing at a time."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._timer: IDelayedCall | None = None

    def begin(self, seconds: float, otherwise: Callable[[], object]) -> None:
        """Call `otherwise` when nothing else is expected, or the end, within these seconds."""
        self.end()
        self._timer = self._clock.callLater(seconds, otherwise)

    def end(self) -> None:
        """Expect nothing."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
