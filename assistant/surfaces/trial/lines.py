"""Reads the lines of a trial from a standard input that is no terminal, one line at a time."""

from __future__ import annotations

import os
from collections import deque

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

#: How many bytes of a line are kept; the rest of a longer line is read and dropped.
MAX_LINE_BYTES = 256 * 1024
_CHUNK = 64 * 1024


@implementer(IReadDescriptor)
class PipeLines:
    """The lines of a file descriptor, which is read only when a line is asked for.

    The descriptor stays in blocking mode, because a terminal or a pipe is shared with other programs. So it is read
    only when the reactor reports that there is something to read.
    """

    def __init__(self, descriptor: int, reactor: IReactorFDSet) -> None:
        self._descriptor = descriptor
        self._reactor = reactor
        self._lines: deque[bytes] = deque()
        self._partial = bytearray()
        self._ended = False
        self._waiting: Deferred[str | None] | None = None

    def next(self) -> Deferred[str | None]:
        """Wait for the next line and return it without its end, None when there are no more.

        Only one call may wait at a time. Cancelling stops the wait.
        """
        if self._lines:
            return succeed(self._take())
        if self._ended:
            return succeed(None)
        self._waiting = Deferred(lambda _: self._forget())
        self._reactor.addReader(self)
        return self._waiting

    def close(self) -> None:
        """Stop reading; the descriptor stays open."""
        self._reactor.removeReader(self)

    def fileno(self) -> int:
        """Return the descriptor, for the reactor."""
        return self._descriptor

    def logPrefix(self) -> str:
        """Return the name used in log lines."""
        return "standard input"

    def doRead(self) -> None:
        """Read what is there, and fire the waiting Deferred when a line is whole."""
        data = os.read(self._descriptor, _CHUNK)
        if not data:
            self._end()
            return
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._keep(piece)
            self._lines.append(bytes(self._partial))
            self._partial.clear()
        self._keep(rest)
        if self._lines:
            self._answer(self._take())

    def connectionLost(self, reason: Failure) -> None:
        """End the input: the reactor has given the descriptor up."""
        if not reason.check(ConnectionDone):
            self._ended = True
        self._end()

    def _end(self) -> None:
        self._ended = True
        if self._partial:
            self._lines.append(bytes(self._partial))
            self._partial.clear()
        self._answer(self._take() if self._lines else None)

    def _keep(self, piece: bytes) -> None:
        self._partial += piece[: max(0, MAX_LINE_BYTES - len(self._partial))]

    def _take(self) -> str:
        return self._lines.popleft().decode("utf-8", "replace").rstrip("\r")

    def _answer(self, line: str | None) -> None:
        self._reactor.removeReader(self)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(line)
        elif line is not None:
            self._lines.appendleft(line.encode())

    def _forget(self) -> None:
        self._waiting = None
        self._reactor.removeReader(self)
