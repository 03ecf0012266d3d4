"""One JSON-like value of a text as tokens: where it starts and ends, string-aware, in linear time.

Understands more than JSON: single and typographic quotes, comments, parentheses, bare words. What may stand where is
not checked here; json.loads does that after the repairs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

#: How deep values may nest (edge case 88).
MAX_DEPTH = 64
#: How many times its own length of scanning a text is worth; more is a hostile text and the search ends.
_WORTH = 8
_TOKEN = re.compile(
    r"""
      (?P<blank>\s+|//[^\n]*|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?)
    | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"
               | '[^'\\]*+(?:\\.[^'\\]*+)*+'
               | [\u201c\u201d\u201e][^\u201c\u201d\\]*+(?:\\.[^\u201c\u201d\\]*+)*+[\u201c\u201d]
               | [\u2018\u2019][^\u2018\u2019\\]*+(?:\\.[^\u2018\u2019\\]*+)*+[\u2018\u2019])
    | (?P<cut_string>"[^"\\]*+(?:\\.[^"\\]*+)*+\\?
                   | '[^'\\]*+(?:\\.[^'\\]*+)*+\\?
                   | [\u201c\u201d\u201e][^\u201c\u201d\\]*+(?:\\.[^\u201c\u201d\\]*+)*+\\?
                   | [\u2018\u2019][^\u2018\u2019\\]*+(?:\\.[^\u2018\u2019\\]*+)*+\\?)
    | (?P<open>[{\[(])
    | (?P<close>[}\])])
    | (?P<comma>,)
    | (?P<colon>:)
    | (?P<word>[^\s"'\u201c\u201d\u201e\u2018\u2019{}\[\](),:/]+|/)
    """,
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {"{": "}", "[": "]", "(": ")"}


class UnreadableJSON(ValueError):
    """The text holds no JSON value that could be read; the message says why."""


class Ending(Enum):
    """How the scan of one value ended."""

    CLOSED = "closed"
    UNCLOSED = "the text ends before the value does"
    MISMATCHED = "a bracket is closed by another one"
    TOO_DEEP = "nested too deeply"


class Token(NamedTuple):
    """A string, bracket, comma, colon or bare word; blanks and comments are left out."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Scan:
    """One value as tokens. `end` is the offset behind it, or how far the scan got."""

    text: str
    start: int
    end: int
    ending: Ending
    tokens: list[Token]

    @property
    def source(self) -> str:
        """The value as it stands in the text."""
        return self.text[self.start : self.end]


class Budget:
    """How many characters may still be scanned in one text, so that no text costs more than linear time."""

    def __init__(self, length: int) -> None:
        self.left = _WORTH * length + 4096
        self.spent = 0

    def spend(self, characters: int) -> None:
        """Take characters off; `left` may go below 0 by the length of one scan."""
        self.left -= characters
        self.spent += characters


def scan_value(text: str, start: int, budget: Budget) -> Scan:
    """The value whose opening bracket stands at `start`."""
    tokens: list[Token] = []
    wanted: list[str] = []
    ending = Ending.UNCLOSED
    position = start
    for match in _TOKEN.finditer(text, start):
        position, kind = match.end(), match.lastgroup
        if kind is None or kind == "blank":
            continue
        piece = match.group()
        tokens.append(Token(kind, piece))
        if kind == "open":
            wanted.append(_PAIRS[piece])
            if len(wanted) > MAX_DEPTH:
                ending = Ending.TOO_DEEP
                break
        elif kind == "close":
            if wanted.pop() != piece:
                ending = Ending.MISMATCHED
                break
            if not wanted:
                ending = Ending.CLOSED
                break
    budget.spend(position - start)
    return Scan(text, start, position, ending, tokens)
