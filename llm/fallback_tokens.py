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
_WORTH = 3
_LEAST = 16 * 1024
#: What every attempt to read something costs, whatever its length.
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
#: The same, but only what tells where a value ends: whatever lies between two brackets or open strings is skipped.
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
    """A string, bracket, comma, colon or bare word; blanks and comments are left out."""

    kind: str
    text: str


@dataclass(slots=True)
class Scan:
    """One value of a text. `end` is the offset behind it, or how far the scan got.

    `closers` are the brackets that would close it, the first last; `open_text` is the string that the text breaks off.
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
        """Its tokens."""
        if self._tokens is None:
            found = _TOKEN.finditer(self.text, self.start, self.end)
            kinds = ((match.lastgroup or "blank", match.group()) for match in found)
            self._tokens = [Token(kind, piece) for kind, piece in kinds if kind != "blank"]
        return self._tokens

    @tokens.setter
    def tokens(self, tokens: list[Token]) -> None:
        self._tokens = tokens


class Budget:
    """How many characters may still be scanned in one text, so that no text costs more than linear time."""

    def __init__(self, length: int) -> None:
        self.left = _WORTH * length + _LEAST
        self.spent = 0
        #: Where the last value ends that is nested too deeply: what begins in it is not worth looking at.
        self.deep_until = 0

    def attempt(self, cost: int = 1) -> bool:
        """Whether one more attempt to read something may be made, which is taken off; `cost` is in plain attempts."""
        if self.left <= 0:
            return False
        self.spend(cost * _ATTEMPT)
        return True

    def spend(self, characters: int) -> None:
        """Take characters off; `left` may go below 0 by the length of one scan."""
        self.left -= characters
        self.spent += characters


def scan_value(text: str, start: int, budget: Budget) -> Scan:
    """The value whose opening bracket stands at `start`."""
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
