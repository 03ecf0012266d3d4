"""The screen and the input of a trial without a terminal; `terminal.py` has those of one.

Lines of standard input are read one at a time. One screen hides keys, whatever is behind it.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IReactorFDSet, IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

from mud_assistant.assistant.keys.redaction import Secrets

#: How many bytes of a line are kept; the rest of a longer line is read and dropped.
MAX_LINE_BYTES = 256 * 1024
_CHUNK = 64 * 1024


class Screen(Protocol):
    """The output of a trial."""

    def show(self, text: str) -> None:
        """Show a piece of the transcript."""
        ...

    def remark(self, text: str) -> None:
        """Show a remark about the program, which is not part of the story."""
        ...

    def thinking(self, name: str | None) -> None:
        """Show who is thinking now, None when nobody is."""
        ...


class PlainScreen:
    """A screen that prints the transcript on standard output; with `quiet` only remarks, on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def show(self, text: str) -> None:
        """Print a piece of the transcript, unless `quiet`."""
        if not self._quiet:
            print(text, flush=True)

    def remark(self, text: str) -> None:
        """Print a remark about the program."""
        print(text, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def thinking(self, name: str | None) -> None:
        """Show or clear the thinking sign on standard error when that is a terminal. A transcript shows no sign."""
        if sys.stderr.isatty():
            sign = f"{name} is thinking ..." if name else ""
            print(f"\r\x1b[K{sign}", end="", file=sys.stderr, flush=True)


class DiscreetScreen:
    """A screen that passes everything on to another one, remarks without keys."""

    def __init__(self, screen: Screen, secrets: Secrets) -> None:
        self._screen = screen
        self._secrets = secrets

    def show(self, text: str) -> None:
        """Show a piece of the transcript."""
        self._screen.show(text)

    def remark(self, text: str) -> None:
        """Show a remark about the program, such as a server's error text, without keys."""
        self._screen.remark(self._secrets.scrub(text))

    def thinking(self, name: str | None) -> None:
        """Show who is thinking now, None when nobody is."""
        self._screen.thinking(name)


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
