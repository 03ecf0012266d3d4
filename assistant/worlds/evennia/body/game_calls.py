"""Calls into the game's own code: a failure becomes one sentence, and what the game prints is collected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from assistant.worlds.evennia.identity.words import visible_lines
from tools.errors import ToolError, ToolFailed

FAILED = "The game failed at that."
#: Characters of a command's output that are handed on; below, those that are kept until then.
MAX_SHOWN = 4_000
_MAX_KEPT = 12_000

_log = Logger()


@contextmanager
def border(name: str) -> Iterator[None]:
    """Log whatever the game raises in this context, and raise ToolFailed instead. `name` is the assistant's."""
    try:
        yield
    except (ToolError, CancelledError):
        raise
    except Exception as error:
        _log.failure("the game failed {name}", name=name)
        raise ToolFailed(FAILED) from error


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
