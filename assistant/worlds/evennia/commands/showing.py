"""How things are shown in the game: plain columns and lines, in which no text acts on the reader's screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.conf import settings

from assistant.worlds.evennia.speech import escaped
from tools.clean import clean_speech, one_line

#: Characters and lines of one answer.
MAX_CHARS, MAX_LINES = 12_000, 300
#: Characters of one cell of a table.
MAX_CELL = 40
_BETWEEN = "  "


def safe(text: str) -> str:
    """The text as Evennia may send it: without control characters, cut, and with nothing that is markup to the game."""
    clean = clean_speech(text, max_chars=MAX_CHARS, max_lines=MAX_LINES)
    return escaped(clean, inline_functions=settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED)


def cut(text: str, most: int = MAX_CELL) -> str:
    """The text on one line, cut to `most` characters."""
    return one_line(text, max_chars=most)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], widest: int = MAX_CELL) -> str:
    """Rows below a head, each column as wide as its widest cell; cells are cut, the last one at twice the width."""
    last = len(head) - 1
    lines = [tuple(head)] + [
        tuple(cut(str(cell), 2 * widest if at == last else widest) for at, cell in enumerate(row)) for row in rows
    ]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    shown = [_BETWEEN.join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines]
    shown.insert(1, _BETWEEN.join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in shown)


def number(value: float) -> str:
    """A number for people: 1234567 as 1,234,567, money with up to four digits after the point."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def listed(names: Iterable[str], otherwise: str = "none") -> str:
    """Names in a row."""
    return ", ".join(names) or otherwise
