"""Asks questions and checks the answers, one answer a line. After a wrong one a person is asked again, a script is not.

Standard input is read in a thread of its own; at a terminal, secrets are read without echo.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

from mud_assistant.assistant.errors import NotSetUp
from mud_assistant.resilience.background import in_daemon_thread

#: How long a person may think about one answer, in seconds.
PATIENCE_SECONDS = 86_400.0
#: The longest line that is accepted, in bytes.
MAX_LINE_BYTES = 64 * 1024
_PIECE_BYTES = 4096
_YES, _NO = frozenset({"y", "yes"}), frozenset({"n", "no"})
T = TypeVar("T")


class InputEnded(Exception):
    """There are no more lines."""


class TypedLines(Protocol):
    """A source of answers."""

    #: Whether a person types the answers, and can answer again.
    typed: bool

    async def line(self) -> str:
        """Return the next line without its end. Raises InputEnded. May be cancelled."""
        ...

    def unseen(self) -> AbstractContextManager[None]:
        """Hide what is typed within this context. Raises InputEnded where that is impossible."""
        ...


class Dialogue:
    """Asks through `say`, which writes its text unchanged, and reads answers from `lines`."""

    def __init__(self, lines: TypedLines, say: Callable[[str], None]) -> None:
        self._lines = lines
        self._say = say

    def tell(self, text: str) -> None:
        """Write a line."""
        self._say(f"{text}\n")

    async def text(self, question: str, proposed: str = "", *, empty: bool = False) -> str:
        """Ask for a line of text. An empty answer means the proposed text; no text at all is refused unless `empty`."""

        def check(answer: str) -> str:
            if not answer and not empty:
                raise ValueError("an answer is needed here")
            return answer

        return await self.checked(question, check, proposed)

    async def choice(self, question: str, options: Sequence[str], proposed: str) -> str:
        """Ask for one of the options."""

        def check(answer: str) -> str:
            if answer not in options:
                raise ValueError(f"choose one of: {', '.join(options)}")
            return answer

        return await self.checked(f"{question} ({', '.join(options)})", check, proposed)

    async def several(self, question: str, options: Sequence[str], proposed: Sequence[str]) -> tuple[str, ...]:
        """Ask for one option or several, and return them in the order in which they were given."""

        def check(answer: str) -> tuple[str, ...]:
            names = tuple(dict.fromkeys(answer.replace(",", " ").split()))
            if not names or not set(names) <= set(options):
                raise ValueError(f"choose from: {', '.join(options)}")
            return names

        return await self.checked(question, check, ", ".join(proposed))

    async def yes(self, question: str, *, proposed: bool) -> bool:
        """Ask a question to be answered by yes or no."""
        return await self.yes_or(question, (), proposed=proposed) is True

    async def yes_or(self, question: str, others: Sequence[str], *, proposed: bool) -> bool | str:
        """Ask a question to be answered by yes, no, or one of these words, which is returned then."""

        def check(answer: str) -> bool | str:
            if answer.lower() in others:
                return answer.lower()
            if answer.lower() not in _YES | _NO:
                *first, last = "yes", "no", *others
                raise ValueError(f"answer {', '.join(first)} or {last}")
            return answer.lower() in _YES

        return await self.checked(question, check, "yes" if proposed else "no")

    async def checked(self, question: str, check: Callable[[str], T], proposed: str = "") -> T:
        """Ask until the answer is right, and return what `check` makes of it.

        `check` raises ValueError with what is wrong; its message must not repeat the answer. Raises NotSetUp when the
        answers end, and for a wrong answer that does not come from a terminal.
        """
        return await self._until_right(f"{question}{f' [{proposed}]' if proposed else ''}: ", check, proposed)

    async def secret(self, question: str, check: Callable[[str], T]) -> T:
        """Ask like `checked` for a key, which is not shown while it is typed."""
        return await self._until_right(f"{question}: ", check, "", secret=True)

    async def _until_right(self, prompt: str, check: Callable[[str], T], proposed: str, *, secret: bool = False) -> T:
        while True:
            try:
                # Hide the input before the prompt appears, so that a key pasted at once is not shown either.
                with self._lines.unseen() if secret else nullcontext():
                    self._say(prompt)
                    answer = (await self._lines.line()).strip() or proposed
            except InputEnded:
                self._say("\n")
                raise NotSetUp("the answers ended before the last question") from None
            if secret or not self._lines.typed:
                self._say("\n")
            try:
                if not answer.isprintable():
                    raise ValueError("an answer is one line of plain characters")  # noqa: TRY301  (shown like others)
                return check(answer)
            except ValueError as error:
                if not self._lines.typed:
                    raise NotSetUp(f"the answer to '{prompt.rstrip(': ')}' does not do: {error}") from None
                self.tell(f"  {error}")


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
        """Return the next line without its end. Raises InputEnded."""
        return await in_daemon_thread(self._reactor, PATIENCE_SECONDS, self._read)

    def unseen(self) -> AbstractContextManager[None]:
        """Hide what is typed at a terminal, and show it again however the context ends. Has no effect on a pipe."""
        return _unseen(self._descriptor) if self.typed else nullcontext()

    def _read(self) -> str:
        """Read up to the next line's end. Raises InputEnded. Blocks."""
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
