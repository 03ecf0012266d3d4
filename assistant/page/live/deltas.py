"""Joins the words of a model as they come, so that few events carry them and no key is told in pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from mud_assistant.llm.response import CallDelta, ReasoningDelta, StreamEvent, TextDelta

#: A key is ASCII without blanks, so words are sent up to the last character that no key has. Of a longer row of ASCII
#: all but the last `_HELD` characters are sent: no key is longer.
_LONGEST_ROW, _HELD = 1200, 600
_LAST_ASCII = "\x7f"


class Delta:
    """The words of one answer that were not sent yet, by part: text, reasoning, call."""

    __slots__ = ("_is_again", "_parts", "_was_sent", "step")

    def __init__(self, step: int) -> None:
        self.step = step
        self._parts: dict[str, str] = {}
        self._was_sent = False
        self._is_again = False

    def begins(self) -> None:
        """Drop what was heard of an attempt before this one."""
        self._parts.clear()
        self._is_again = self._was_sent

    def add(self, piece: StreamEvent) -> bool:
        """Add a piece of the answer. Return whether there is anything in it to show."""
        match piece:
            case TextDelta(text):
                self._join("text", text)
            case ReasoningDelta(text):
                self._join("reasoning", text)
            case CallDelta():
                named = f"{piece.name} " if piece.name else ""
                arguments = piece.arguments or ""
                if not isinstance(arguments, str):
                    arguments = orjson.dumps(arguments, option=orjson.OPT_NON_STR_KEYS).decode() + " "
                self._join("call", named + arguments)
            case _:
                return False
        return True

    def take(self, scrub: Callable[[str], str]) -> dict[str, Any] | None:
        """Return what can be sent now, None for nothing. The beginning of a word that goes on is held back."""
        data: dict[str, Any] = {}
        for part, words in self._parts.items():
            ready, rest = split_at_last_word(words, scrub)
            self._parts[part] = rest
            if ready:
                data[part] = scrub(ready)
        if not data:
            return None
        if self._is_again:
            data["again"] = True
        self._was_sent, self._is_again = True, False
        return {"step": self.step, **data}

    def _join(self, part: str, text: str) -> None:
        self._parts[part] = self._parts.get(part, "") + text


def split_at_last_word(words: str, scrub: Callable[[str], str]) -> tuple[str, str]:
    """Return what cannot be a part of a key that goes on, and the rest."""
    least = max(0, len(words) - _LONGEST_ROW)
    for at in range(len(words) - 1, least - 1, -1):
        if words[at].isspace() or words[at] > _LAST_ASCII:
            return words[: at + 1], words[at + 1 :]
    if len(words) < _LONGEST_ROW:
        return "", words
    whole = scrub(words)
    return whole[:-_HELD], whole[-_HELD:]
