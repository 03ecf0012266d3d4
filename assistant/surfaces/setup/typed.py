"""Reads lines of standard input in a thread of its own; at a terminal, secrets are read without echo."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from resilience.background import in_daemon_thread

#: How long a person may think about one answer, in seconds.
PATIENCE_SECONDS = 86_400.0
#: The longest line that is accepted, in bytes.
MAX_LINE_BYTES = 64 * 1024
_PIECE_BYTES = 4096


class InputEnded(Exception):
    """There are no more lines."""


class TypedLines(Protocol):
    """A source of answers."""

    #: Whether a person types the answers, and can answer again.
    typed: bool

    async def line(self) -> str:
        """Return the next line without its end. Raises Ended. May be cancelled."""
        ...

    def unseen(self) -> AbstractContextManager[None]:
        """Hide what is typed within this context. Raises Ended where that is impossible."""
        ...


class StandardInput:
    """The lines of a file descriptor, by default 0 (standard input), be it a terminal or a pipe.

    They are read below Python's own buffer: a thread waiting in that buffer would keep the interpreter from ending.
    """

    # Any: used as a clock, and to call in from other threads.
    def __init__(self, reactor: Any, descriptor: int = 0) -> None:
        self._reactor = reactor
        self._descriptor = descriptor
        self._rest = bytearray()
        self.typed = os.isatty(descriptor)

    async def line(self) -> str:
        """Return the next line without its end. Raises Ended."""
        return await in_daemon_thread(self._reactor, PATIENCE_SECONDS, self._read)

    def unseen(self) -> AbstractContextManager[None]:
        """Hide what is typed at a terminal, and show it again however the context ends. Has no effect on a pipe."""
        return _unseen(self._descriptor) if self.typed else nullcontext()

    def _read(self) -> str:
        """Read up to the next line's end. Raises Ended. Blocks."""
        while b"\n" not in self._rest:
            piece = os.read(self._descriptor, _PIECE_BYTES)
            if not piece and not self._rest:
                raise InputEnded
            self._rest += piece or b"\n"
            if len(self._rest) > MAX_LINE_BYTES:
                raise InputEnded
        line, _, rest = bytes(self._rest).partition(b"\n")
        self._rest = bytearray(rest)
        return line.decode("utf-8", "replace").rstrip("\r")


@contextmanager
def _unseen(descriptor: int) -> Iterator[None]:
    """Keep the terminal from showing what is typed within this context."""
    try:
        import termios  # noqa: PLC0415  (not on Windows)
    except ImportError:
        raise InputEnded from None
    before = termios.tcgetattr(descriptor)
    silent = termios.tcgetattr(descriptor)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
