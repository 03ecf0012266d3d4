"""Collects what the game prints for a character while it runs a command."""

from __future__ import annotations

from assistant.worlds.evennia.hearing.words import visible_lines

#: Characters of a command's output that are handed on; below, those that are kept until then.
MAX_SHOWN = 4_000
_MAX_KEPT = 12_000


class Printout:
    """The text printed for one command, up to a bound."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._room = _MAX_KEPT

    def add(self, text: object) -> None:
        """Take in one message as the game gives it; anything but text is left out."""
        if isinstance(text, tuple | list):
            text = text[0] if text else ""
        if isinstance(text, str) and self._room > 0:
            self._lines.append(text[: self._room])
            self._room -= len(text)

    @property
    def text(self) -> str:
        """The whole text without markup, at most MAX_SHOWN characters."""
        return visible_lines("\n".join(self._lines), MAX_SHOWN)
