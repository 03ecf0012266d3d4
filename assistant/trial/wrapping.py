"""Lines of a transcript at the width of a terminal: broken between words, wide characters counted as two. Pure."""

from __future__ import annotations

import re
import unicodedata

#: A terminal that says it is narrower is not believed.
MIN_COLUMNS = 20
#: A line goes on under the text behind its last gap when that stands this far left at most, as a share of the width.
_HANG_SHARE = 0.4
_GAP = re.compile(r"^(\s*\S.*?\s{2,})\S|^(\s*)")
_PICTURED = "\ufe0f"
#: What does not begin a line in Chinese and Japanese.
_NOT_FIRST = frozenset("、。，．・：；？！）」』】〕》〉ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ")  # noqa: RUF001


def wrapped(text: str, columns: int) -> str:
    """The text with every line broken to fit the columns. What is indented, or in a table, goes on below itself."""
    columns = max(MIN_COLUMNS, columns)
    return "\n".join(part for line in text.split("\n") for part in _broken(line, columns))


def width(text: str) -> int:
    """How many columns the text takes, at most."""
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if char.isascii() or char == _PICTURED:  # the selector makes a narrow symbol wide
        return 1
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def _broken(line: str, columns: int) -> list[str]:
    """The line in pieces that fit."""
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
    """Where to break the text so that its beginning takes `room` columns at most: at a blank, or between ideographs."""
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
    """Whether a line may end between two characters that no blank parts."""
    if char in _NOT_FIRST or before == "\u200d":
        return False
    ideographs = (unicodedata.east_asian_width(each) in {"W", "F"} for each in (before, char))
    return any(ideographs) and unicodedata.category(char)[0] != "P" and unicodedata.category(before) not in {"Ps", "Pi"}


def _whole(text: str, at: int) -> int:
    """The place before `at` where no character is parted from its marks."""
    while at > 1 and (not _columns(text[at]) or text[at] == _PICTURED or text[at - 1] == "\u200d"):
        at -= 1
    return at
