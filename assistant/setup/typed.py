"""Lines of standard input, read in a thread of their own; secrets without echo where somebody types them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from assistant.off_thread import in_daemon_thread

#: A person may think for so many seconds about one answer.
PATIENCE_SECONDS = 86_400.0
#: No answer is longer, in bytes.
MAX_LINE_BYTES = 64 * 1024
_PIECE_BYTES = 4096


class Ended(Exception):
    """There are no more lines."""


class Lines(Protocol):
    """Where answers come from."""

    #: Whether a person types them, and can answer again.
    typed: bool

    async def line(self) -> str:
        """The next line without its end. Raises Ended. May be cancelled."""
        ...

    def unseen(self) -> AbstractContextManager[None]:
        """As long as this lasts, what is typed is not shown. Raises Ended where that cannot be."""
        ...


class StandardInput:
    """The lines of file descriptor 0, whatever it is.

    Read below Python's own buffer: a thread that waits in it would keep the interpreter from ending.
    """

    # Any: the reactor as clock and as what other threads call into.
    def __init__(self, reactor: Any, descriptor: int = 0) -> None:
        self._reactor = reactor
        self._descriptor = descriptor
        self._rest = bytearray()
        self.typed = os.isatty(descriptor)

    async def line(self) -> str:
        """The next line without its end. Raises Ended."""
        return await in_daemon_thread(self._reactor, PATIENCE_SECONDS, self._read)

    def unseen(self) -> AbstractContextManager[None]:
        """Nothing for a pipe; a terminal shows again what is typed however this ends."""
        return _unseen(self._descriptor) if self.typed else nullcontext()

    def _read(self) -> str:
        """Blocks."""
        while b"\n" not in self._rest:
            piece = os.read(self._descriptor, _PIECE_BYTES)
            if not piece and not self._rest:
                raise Ended
            self._rest += piece or b"\n"
            if len(self._rest) > MAX_LINE_BYTES:
                raise Ended
        line, _, rest = bytes(self._rest).partition(b"\n")
        self._rest = bytearray(rest)
        return line.decode("utf-8", "replace").rstrip("\r")


@contextmanager
def _unseen(descriptor: int) -> Iterator[None]:
    """As long as this lasts, the terminal does not show what is typed."""
    try:
        import termios  # noqa: PLC0415  (not on Windows)
    except ImportError:
        raise Ended from None
    before = termios.tcgetattr(descriptor)
    silent = termios.tcgetattr(descriptor)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
