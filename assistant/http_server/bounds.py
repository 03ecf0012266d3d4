"""The bounds of one connection, in seconds and bytes: what is due from the client, and what it must take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReactorTime

#: Seconds for a head, from its first byte or the beginning of the connection; for a body; between two requests.
HEAD_SECONDS, BODY_SECONDS, IDLE_SECONDS = 10.0, 30.0, 60.0
#: Seconds in which a refused client may take its answer.
LINGER_SECONDS = 5.0
#: The most bytes of a head.
MAX_HEAD = 16 * 1024
#: The bytes that the system keeps for a connection. Its own choice, of several MiB, would run far ahead of the client.
SYSTEM_BYTES = 128 * 1024
#: A client that takes nothing for this many seconds is cut off.
STALL_SECONDS = 60.0
#: How often it is looked, in seconds.
_LOOKS = 15.0


class ClientGone(Exception):
    """Raised to who waits to send more: the client has left, or did not read for too long."""


class UnreadRequest(Exception):
    """A request is refused before it was read to its end: the HTTP status, a sentence, and a wait in seconds."""

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.retry_after = retry_after


def too_large(limit: int) -> UnreadRequest:
    """Return the refusal of a body of more than `limit` bytes."""
    size = f"{limit >> 20} MiB" if limit >> 20 else f"{limit >> 10} KiB"
    return UnreadRequest(413, f"the body has more than {size}")


def no_room() -> UnreadRequest:
    """Return the refusal of a body while those that are held leave no room for it."""
    return UnreadRequest(503, "too many large requests are being read at once", retry_after=1.0)


class HeldBytes:
    """Counts the bytes of all bodies that are held, so that many large ones at once do not fill the memory."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0

    def add(self, size: int) -> bool:
        """Count `size` more bytes and return True, or return False when there is no room for them."""
        if self.held + size > self._limit:
            return False
        self.held += size
        return True

    def remove(self, size: int) -> None:
        """Count `size` bytes less."""
        self.held -= size


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
