"""Splits one JSON-like value of a text into tokens and finds its end, string-aware, in linear time.

Understands more than JSON: single and typographic quotes, comments, parentheses, bare words. Whether the tokens are in
a valid order is not checked here; json.loads does that after the repairs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

#: How deep values may nest.
MAX_DEPTH = 64
#: How many times its own length may be scanned in a text. One that needs more is hostile, and the search ends.
_WORTH = 3
_LEAST = 16 * 1024
#: The cost of every attempt to read something, whatever its length, in characters.
_ATTEMPT = 160
_STRINGS = r"""
        "[^"\\]*+(?:\\.[^"\\]*+)*+"
      | '[^'\\]*+(?:\\.[^'\\]*+)*+'
      | [\u201c\u201d\u201e][^\u201c\u201d\\]*+(?:\\.[^\u201c\u201d\\]*+)*+[\u201c\u201d]
      | [\u2018\u2019][^\u2018\u2019\\]*+(?:\\.[^\u2018\u2019\\]*+)*+[\u2018\u2019]
"""
_CUT_STRINGS = r"""
        "[^"\\]*+(?:\\.[^"\\]*+)*+\\?
      | '[^'\\]*+(?:\\.[^'\\]*+)*+\\?
      | [\u201c\u201d\u201e][^\u201c\u201d\\]*+(?:\\.[^\u201c\u201d\\]*+)*+\\?
      | [\u2018\u2019][^\u2018\u2019\\]*+(?:\\.[^\u2018\u2019\\]*+)*+\\?
"""
_COMMENT = r"//[^\n]*|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?"
_TOKEN = re.compile(
    rf"""
      (?P<blank>\s+|{_COMMENT})
    | (?P<string>{_STRINGS})
    | (?P<cut_string>{_CUT_STRINGS})
    | (?P<open>[{{\[(])
    | (?P<close>[}}\])])
    | (?P<comma>,)
    | (?P<colon>:)
    | (?P<word>[^\s"'\u201c\u201d\u201e\u2018\u2019{{}}\[\](),:/]+|/)
    """,
    re.VERBOSE | re.DOTALL,
)
#: The same, but only what shows where a value ends. Everything between two brackets or open strings is skipped.
_MARK = re.compile(
    rf"""
    (?:[^"'\u201c\u201d\u201e\u2018\u2019{{}}\[\]()/]++|{_COMMENT}|{_STRINGS}|/)*+
    (?:(?P<open>[{{\[(])|(?P<close>[}}\])])|(?P<cut>{_CUT_STRINGS})|\Z)
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
    """A string, bracket, comma, colon or bare word. Blanks and comments are not tokens."""

    kind: str
    text: str


@dataclass(slots=True)
class Scan:
    """One value of a text. `end` is the offset after it, or how far the scan got.

    `closers` are the brackets that would close it, outermost first; `open_text` is the string that the text breaks off.
    """

    text: str
    start: int
    end: int
    ending: Ending
    closers: list[str]
    open_text: str = ""
    _tokens: list[Token] | None = None

    @property
    def source(self) -> str:
        """The value as it stands in the text."""
        return self.text[self.start : self.end]

    @property
    def tokens(self) -> list[Token]:
        """The tokens of the value."""
        if self._tokens is None:
            found = _TOKEN.finditer(self.text, self.start, self.end)
            kinds = ((match.lastgroup or "blank", match.group()) for match in found)
            self._tokens = [Token(kind, piece) for kind, piece in kinds if kind != "blank"]
        return self._tokens

    @tokens.setter
    def tokens(self, tokens: list[Token]) -> None:
        self._tokens = tokens


class WorkBudget:
    """How many characters may still be scanned in one text, so that no text takes more than linear time."""

    def __init__(self, length: int) -> None:
        self.left = _WORTH * length + _LEAST
        self.spent = 0
        #: Where the last value that is nested too deeply ends. What begins inside it is not worth looking at.
        self.deep_until = 0

    def attempt(self, cost: int = 1) -> bool:
        """Take one attempt off the budget and tell whether it may be made. `cost` is counted in plain attempts."""
        if self.left <= 0:
            return False
        self.spend(cost * _ATTEMPT)
        return True

    def spend(self, characters: int) -> None:
        """Take characters off the budget. `left` may fall below 0 by the length of one scan."""
        self.left -= characters
        self.spent += characters


def scan_value(text: str, start: int, budget: WorkBudget) -> Scan:
    """Scan the value whose opening bracket is at `start`."""
    wanted: list[str] = []
    scan = Scan(text, start, len(text), Ending.UNCLOSED, wanted)
    for match in _MARK.finditer(text, start):
        kind = match.lastgroup
        if kind == "open":
            wanted.append(_PAIRS[text[match.end() - 1]])
            if len(wanted) > MAX_DEPTH:
                scan.ending, scan.end = Ending.TOO_DEEP, match.end()
                break
        elif kind == "close":
            if wanted.pop() != text[match.end() - 1]:
                scan.ending, scan.end = Ending.MISMATCHED, match.end()
                break
            if not wanted:
                scan.ending, scan.end = Ending.CLOSED, match.end()
                break
        elif kind == "cut":
            scan.open_text = match["cut"]
    if scan.ending is Ending.TOO_DEEP:
        budget.deep_until = scan.end
    budget.spend(scan.end - start)
    return scan
