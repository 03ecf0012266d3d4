"""Cuts the requested part out of a page, where a reader would stop."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tools.web.source.protocol import ReadResult

P = TypeVar("P", bound=ReadResult)
#: More characters than any reader gives: a reader that is asked for so many gives all it has.
WHOLE = 1_000_000_000
#: A cut goes back to the end of a paragraph, else of a line, of a sentence or of a word, when that keeps at least this
#: share of the length that was asked for.
KEEP_SHARE = 0.6
_BORDERS = ("\n\n", "\n", ". ", " ")


def part_of(whole: P, offset: int, max_length: int) -> P:
    """Return the page's text from character `offset`, at most `max_length` characters of it.

    `offset + content_length` is where the next part begins; nothing is lost between two parts. A negative number counts
    as 0. `original_length` is the whole page's; `truncated` tells whether any of it is missing, before or after.
    """
    text = whole.content
    start = max(0, offset)
    content = text[start : cut_at(text, start, max(0, max_length))]
    length = max(len(text), whole.original_length or 0)
    is_part = whole.truncated or len(content) < length
    return replace(whole, content=content, content_length=len(content), original_length=length, truncated=is_part)


def cut_at(text: str, start: int, most: int) -> int:
    """Return where a part that begins at `start` ends, at most `most` characters later."""
    end = start + most
    if end >= len(text):
        return len(text)
    least = start + int(most * KEEP_SHARE)
    for border in _BORDERS:
        found = text.rfind(border, least, end)
        if found >= 0:
            return found + len(border)
    return end
