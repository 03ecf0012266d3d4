"""A guard between a connection and Twisted's HTTP: it limits the head and tells when a read is over.

Twisted bounds each header line, but not how many there are. And it hands on a chunked body chunk by chunk, dozens in
one read, which cost less together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.protocol import connectionDone
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure

#: The most bytes of one response head; real ones have a few thousand.
MAX_HEAD_BYTES = 256 * 1024
_ENDS = (b"\r\n\r\n", b"\n\n")


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
