"""Wraps a transcript to the width of a terminal, between words; wide characters count as two columns. Pure."""

from __future__ import annotations

import re
import unicodedata

#: A terminal that reports a smaller width is not believed.
MIN_COLUMNS = 20
#: The continuation of a line is indented to the text after its gap if that indent is at most this share of the width.
_HANG_SHARE = 0.4
_GAP = re.compile(r"^(\s*\S.*?\s{2,})\S|^(\s*)")
_PICTURED = "\ufe0f"
#: Characters that must not begin a line in Chinese and Japanese.
_NOT_FIRST = frozenset("、。，．・：；？！）」』】〕》〉ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ")  # noqa: RUF001


def wrapped(text: str, columns: int) -> str:
    """Return the text with every line broken to fit the columns. Indented text and table cells keep their indent."""
    columns = max(MIN_COLUMNS, columns)
    return "\n".join(part for line in text.split("\n") for part in _broken(line, columns))


def width(text: str) -> int:
    """Return how many columns the text takes at most."""
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if char.isascii() or char == _PICTURED:  # the selector makes a narrow symbol wide
        return 1
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def _broken(line: str, columns: int) -> list[str]:
    """Return the line in pieces that fit."""
    if width(line) <= columns:
        return [line]
    gap = _GAP.match(line)
    indent = width(gap[1] or gap[2] or "") if gap else 0
    if indent > columns * _HANG_SHARE:
        indent = len(line) - len(line.lstrip())
        indent = indent if indent <= columns * _HANG_SHARE else 0
    pieces: list[str] = []
    rest, room = line, columns
    while rest:
        cut = _cut(rest, room)
        piece, rest = rest[:cut].rstrip(" "), rest[cut:].lstrip(" ")
        pieces.append(piece if not pieces else " " * indent + piece)
        room = columns - indent
    return pieces


def _cut(text: str, room: int) -> int:
    """Return where to break the text so that its beginning takes at most `room` columns.

    It breaks at a blank or between ideographs, or within a word when there is neither.
    """
    taken, best = 0, 0
    begun = False
    for at, char in enumerate(text):
        taken += _columns(char)
        if begun and (char == " " or (_columns(char) and _may_break(text[at - 1], char))):
            best = at
        begun = begun or char != " "
        if taken > room:
            return best or max(1, _whole(text, at))
    return len(text)


def _may_break(before: str, char: str) -> bool:
    """Tell whether a line may end between two characters without a blank between them."""
    if char in _NOT_FIRST or before == "\u200d":
        return False
    ideographs = (unicodedata.east_asian_width(each) in {"W", "F"} for each in (before, char))
    return any(ideographs) and unicodedata.category(char)[0] != "P" and unicodedata.category(before) not in {"Ps", "Pi"}


def _whole(text: str, at: int) -> int:
    """Return the last index up to `at` where no character is separated from its marks."""
    while at > 1 and (not _columns(text[at]) or text[at] == _PICTURED or text[at - 1] == "\u200d"):
        at -= 1
    return at
