"""Formats text for the game, in plain columns and lines; no text can act on the reader's screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from mud_assistant.assistant.keys.reference import ANEW
from mud_assistant.assistant.worlds.evennia.body.border import escape_for_game
from mud_assistant.tools.text.clean import clean_speech, one_line

#: The most characters and lines of one answer.
MAX_CHARS, MAX_LINES = 12_000, 300
#: The columns of a screen of unknown width, and the fewest columns that are used.
WIDTH, MIN_WIDTH = 78, 40
#: The most characters of one cell of a table, and of one that wraps.
MAX_CELL, MAX_TEXT = 40, 1000
#: A last column that wraps is narrowed first, down to this; then the others are.
_LEAST_WRAPPED = 24
_BETWEEN = "  "
#: How to change the environment of the Server.
ANEW_IN_THE_GAME = "start the game anew (evennia stop, evennia start: a reload is not enough)"
#: Words of an error about the command line, with the words for them in the game.
_IN_GAME = {
    " with --url": "",
    "--url ": "",
    "leave --model out": "leave the model out",
    " with --model": " after the provider",
    "--model NAME": "name it after the provider",
    " with --key env:NAME": "",
    "--key ": "",
    "the program was": "the Server was",
    ANEW: ANEW_IN_THE_GAME,
}


def safe(text: str) -> str:
    """Return the text as Evennia may send it: cut, and without control characters or markup that the game reads."""
    return escape_for_game(clean_speech(text, max_chars=MAX_CHARS, max_lines=MAX_LINES))


def cut(text: str, most: int = MAX_CELL) -> str:
    """Return the text on one line, cut to `most` characters."""
    return one_line(text, max_chars=most)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], width: int = WIDTH, *, wraps: bool = False) -> str:
    """Format rows below a head, with no line longer than `width` columns.

    Where that is too narrow, the widest columns are cut; with `wraps` the last one goes on in the next line instead.
    """
    lines = [tuple(head)] + [tuple(one_line(str(cell), max_chars=MAX_TEXT) for cell in row) for row in rows]
    widths = _fitting([max(len(line[at]) for line in lines) for at in range(len(head))], width, wraps=wraps)
    shown = [text for line in lines for text in _row(line, widths, wraps=wraps)]
    shown.insert(1, _BETWEEN.join("-" * each for each in widths))
    return "\n".join(line.rstrip() for line in shown)


def _fitting(widths: list[int], width: int, *, wraps: bool) -> list[int]:
    """Return the widths of columns, reduced until all fit; the last one is reduced first when it may wrap."""
    widths = [min(each, MAX_CELL) for each in widths[:-1]] + widths[-1:]
    room = max(width, MIN_WIDTH) - len(_BETWEEN) * (len(widths) - 1)
    while sum(widths) > room:
        can_wrap = wraps and widths[-1] > _LEAST_WRAPPED
        at = len(widths) - 1 if can_wrap else max(range(len(widths)), key=lambda one: widths[one])
        widths[at] -= 1
    return widths


def _row(line: Sequence[str], widths: Sequence[int], *, wraps: bool) -> list[str]:
    """Format one row as lines, more than one when its last cell wraps."""
    lasts = (wrap(line[-1], widths[-1]) if wraps else [cut(line[-1], widths[-1])]) or [""]
    cells = [cut(cell, each) for cell, each in zip(line[:-1], widths, strict=False)]
    first = [f"{cell:<{each}}" for cell, each in zip(cells, widths, strict=False)]
    blank = [" " * each for each in widths[:-1]]
    return [_BETWEEN.join([*(blank if at else first), last]) for at, last in enumerate(lasts)]


def paragraph(text: str, width: int = WIDTH, indent: str = "") -> str:
    """Wrap the text into lines of at most `width` columns, and indent all but the first."""
    return "\n".join(wrap(text, max(width, MIN_WIDTH), subsequent_indent=indent))


def count_of(count: int, what: str, plural: str = "") -> str:
    """Format a number with what it counts: "1 thing", "2 things"."""
    return f"{number(count)} {what if count == 1 else plural or f'{what}s'}"


def number(value: float) -> str:
    """Format a number for people: 1234567 as 1,234,567, money with up to four digits after the point."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def join_names(names: Iterable[str], otherwise: str = "none") -> str:
    """Join names by commas; return `otherwise` when there are none."""
    return ", ".join(names) or otherwise


def in_game_words(cause: str) -> str:
    """Replace words of the command line in an error by those of the game."""
    for words, ours in _IN_GAME.items():
        cause = cause.replace(words, ours)
    return cause


def sentence(text: str) -> str:
    """Return the text on one line as a sentence, with a capital letter first and a full stop last."""
    line = " ".join(text.split()).rstrip(".")
    return f"{line[:1].upper()}{line[1:]}."
