"""Questions and checked answers, one answer a line. After a wrong answer a person is asked again, a script is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TypeVar

from assistant.errors import NotSetUp
from assistant.surfaces.setup.typed import InputEnded, TypedLines

T = TypeVar("T")
_YES, _NO = frozenset({"y", "yes"}), frozenset({"n", "no"})


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
        return bool(await self.yes_or(question, "", proposed=proposed))

    async def yes_or(self, question: str, other: str, *, proposed: bool) -> bool | None:
        """Ask a question to be answered by yes, no, or the word `other`, for which None is returned."""

        def check(answer: str) -> bool | None:
            if other and answer.lower() == other:
                return None
            if answer.lower() not in _YES | _NO:
                raise ValueError(f"answer yes, no or {other}" if other else "answer yes or no")
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
