"""The border between the game and an assistant: text is read and escaped here, and failures of the game are caught.

A line of the game becomes its visible text and the words that its speaker says. A wrong cut can never put words into
another mouth: the speaker is taken from the game, not from the line. The text of an assistant becomes pieces that a
client shows well, without markup that has any effect. A failure of the game's own code becomes one sentence. Pure
except for markup, settings and the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.tools.errors import ToolError, ToolFailed
from mud_assistant.tools.text.clean import clean_heard, keep_paired_isolates, one_line

#: The most characters of a line that are read; a longer one is cut before anything else is done with it.
MAX_RAW = 12_000
MAX_TEXT = 4_000
MAX_NAME = 80
# ruff: noqa: RUF001 - quotation marks of many languages are what this table is about
#: The marks that close a quotation, by the mark that opens it.
_QUOTES = {
    '"': '"', "“": "”“", "”": "”", "„": "“”", "«": "»", "»": "«»", "‹": "›", "›": "‹›", "「": "」", "『": "』",
    "《": "》", "〈": "〉", "〝": "〞〟", "＂": "＂", "❝": "❞",
}  # fmt: skip
_OPENING = re.compile(f"[{''.join(_QUOTES)}]")
#: The number that a builder sees after a name.
_DBREF = re.compile(r"\s*\(#\d+\)\Z")
MAX_PIECE = 400
#: Separates a bar from its next letter. Doubling the bar alone is not enough: Evennia resolves `||lc` and then looks
#: for links, and parses a line twice for clients in screen reader mode.
_APART = "\u200b"
_BAR = re.compile(r"\|(?!\s)")
#: Evennia's colour parser reads two braces as one; a single brace stays as it is.
_BRACES = re.compile(r"\{{2,}")
#: What Evennia's function parser reads: it removes one backslash from each run, and a function starts with `$`.
_EVALUATED = re.compile(r"\\*\$|\\+")
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’»」』)\]]*(?:\s+|(?<=[。！？]))")
_SPACES = re.compile(r"\s+")
FAILED = "The game failed at that."
#: Characters of a command's output that are handed on; below, those that are kept until then.
MAX_SHOWN = 4_000
_MAX_KEPT = 12_000
T = TypeVar("T")
_log = Logger()


def visible(text: str, max_chars: int = MAX_TEXT) -> str:
    """Return `text` on one line, without the game's markup; at most `max_chars`."""
    return clean_heard(without_markup(text), max_chars)


def visible_lines(text: str, max_chars: int = MAX_TEXT) -> str:
    """Return `text` without the game's markup, with its lines kept; at most `max_chars`."""
    return clean_heard(without_markup(text), max_chars, keep_newlines=True)


def visible_name(name: str) -> str:
    """Return a display name on one line, without markup and without the number that builders see."""
    return one_line(_DBREF.sub("", without_markup(name).strip()), max_chars=MAX_NAME)


def without_markup(text: str) -> str:
    """Return `text` without Evennia's colours, links and raw escape sequences; a long text is cut first."""
    from evennia.utils.ansi import strip_ansi, strip_mxp  # only where Django is set up

    return str(strip_ansi(strip_mxp(text[:MAX_RAW])))


def bare_speech(text: str, name: str) -> str:
    """Return the words spoken in a visible line: between its outermost quotation marks, else all but the name."""
    rest = after_name(text, name)
    told = text if rest is None else rest
    opening = _OPENING.search(told)
    if opening is not None:
        closing = max(told.rfind(mark) for mark in _QUOTES[opening.group()])
        if closing > opening.start():
            return told[opening.end() : closing].strip()
    return told.strip()


def after_name(text: str, name: str) -> str | None:
    """Return the text after `name` if the visible line begins with it as whole words, else None."""
    if not name or text[: len(name)].casefold() != name.casefold():
        return None
    rest = text[len(name) :]
    if rest[:1].isalnum():
        return None
    return re.sub(r"\A\s*\(#\d+\)", "", rest).strip()


def split_speech(text: str, max_chars: int = MAX_PIECE) -> list[str]:
    """Split `text` into lines of at most `max_chars`, after a sentence where possible, else after a word.

    An empty text gives no lines. Newlines become spaces, so that no piece can look like a line from another source.
    """
    rest = _SPACES.sub(" ", text).strip()
    pieces = []
    while len(rest) > max_chars:
        cut = _cut(rest, max_chars)
        pieces.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    # Each piece is a line of its own: an isolate closed only in a later piece would turn all the text after it.
    whole = (_SPACES.sub(" ", keep_paired_isolates(piece)).strip() for piece in (*pieces, rest))
    return [piece for piece in whole if piece]


def _cut(text: str, room: int) -> int:
    """Return where to cut a text that is longer than `room`."""
    ends = [match.end() for match in _SENTENCE.finditer(text, 0, room + 1) if match.end() <= room + 1]
    if ends and text[: ends[-1]].rstrip():
        return ends[-1]
    word = text.rfind(" ", 1, room + 1)
    return word if word > 0 else room


def escape(text: str, *, inline_functions: bool = False) -> str:
    """Escape `text` so that Evennia shows exactly it, with no colour, link, line break or indent from its markup.

    An invisible character (U+200B) is put after each bar. `inline_functions` says whether the game evaluates `$name()`
    in everything it sends (FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED).
    """
    safe = _BRACES.sub(lambda braces: braces.group() * 2, text)
    safe = _BAR.sub(f"|{_APART}", safe).replace("|", "||")
    return _EVALUATED.sub(lambda run: "\\" + run.group(), safe) if inline_functions else safe


def escape_for_game(text: str) -> str:
    """Escape `text` as this game's settings require."""
    from django.conf import settings  # only where Django is set up

    return escape(text, inline_functions=settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED)


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


def tell(name: str, what: str, ask: Callable[[], T], otherwise: T) -> T:
    """Return what the game tells. When its code fails, log that `name` cannot tell `what`, and return `otherwise`."""
    try:
        return ask()
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the border to any game; the caller needs an answer
        _log.failure("{name} cannot tell {what}", name=name, what=what)
        return otherwise


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
