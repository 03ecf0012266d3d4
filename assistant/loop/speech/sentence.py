"""Finds the first sentence of a text that is still being written. Pure."""

from __future__ import annotations

import re
from string import hexdigits

#: The fewest characters of a first sentence. A shorter one waits for the next sentence.
MIN_CHARS = 20
#: The most characters in which a first sentence is looked for.
MAX_CHARS = 600

_BLANKS = " \t\n\r"
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HIGH, _LOW, _ABOVE = 0xD800, 0xDC00, 0xE000
#: `\u` and four digits.
_UNIT_CHARS = 6

_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_END = re.compile(
    "[.!?\u2026][\"'\u201d\u2019\u00bb)*]*(?=\\s)"
    # Full-width marks have no blank after them.
    "|[\u3002\uff01\uff1f][\"'\u201d\u2019\u300d\u300f)]*(?=[^\"'\u201d\u2019\u300d\u300f)])"
)
#: A full stop after one of these, a single letter or a number ends no sentence.
_SHORT_FORM = re.compile(
    r"(?:^|\W)(?:\w|\d+|mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|e\.g|i\.e|no|gen|capt|sgt)\.$", re.IGNORECASE
)
#: The most characters of a mark that ends a sentence, with closing marks and a blank after it.
_LONGEST_END = 8
_PAIRS = (("\u201c", "\u201d"), ("\u00ab", "\u00bb"), ("(", ")"), ("\u300c", "\u300d"))
_TWINS = '"*'


def first_sentence(text: str, start: int = 0) -> str | None:
    """Return the first sentence of `text`, which begins with a word and is still growing; empty while there is none.

    None when there will be none: a line ends before it, or it is too long. A sentence does not end inside quotation
    marks, brackets or asterisks, nor where the next word begins with a small letter. `start` is where to continue when
    the text before it was already searched.
    """
    for match in _END.finditer(text, max(0, start - _LONGEST_END), MAX_CHARS + 1):
        sentence = text[: match.end()]
        if "\n" in sentence:
            return None
        if len(sentence) >= MIN_CHARS and _is_whole(sentence) and not text[match.end() :].lstrip()[:1].islower():
            return sentence
    return None if len(text) > MAX_CHARS or "\n" in text else ""


def _is_whole(sentence: str) -> bool:
    """Tell whether all its quotation marks and brackets are closed, and it does not end with an abbreviation."""
    if any(sentence.count(opening) > sentence.count(closing) for opening, closing in _PAIRS):
        return False
    return not any(sentence.count(mark) % 2 for mark in _TWINS) and not _SHORT_FORM.search(sentence)


class GrowingArgument:
    """The string value of a call's one argument, read from JSON that comes in pieces.

    `text` is the part of the value that is known. `failed` is True when the JSON does not begin with `{"NAME": "`, or
    the string holds a lone surrogate or a bare control character. `closed` is True when the value is complete.
    """

    def __init__(self, name: str) -> None:
        self.text = ""
        self.failed = False
        self.closed = False
        #: The tokens that must still come before the value, and how many characters of the first of them came. Blanks
        #: may stand between them.
        self._expected = ["{", f'"{name}"', ":", '"']
        self._matched = 0
        self._escape = ""
        self._high = 0
        self._room = (_UNIT_CHARS + 1) * MAX_CHARS

    def feed(self, piece: str) -> None:
        """Read the next piece. Stop, and fail, once the value is too long for a first sentence."""
        at, end = 0, min(len(piece), self._room)
        self._room -= end
        while at < end and not self.failed and not self.closed:
            if self._expected:
                self._before(piece[at])
            elif self._escape:
                self._escaped(piece[at])
            elif run := _PLAIN.match(piece, at, end):
                self.failed = self._high > 0
                self.text += run[0]
                at = run.end()
                continue
            else:
                self._special(piece[at])
            at += 1
        self.failed |= not self._room

    def _before(self, character: str) -> None:
        token = self._expected[0]
        if character == token[self._matched]:
            self._matched += 1
            if self._matched == len(token):
                del self._expected[0]
                self._matched = 0
        elif self._matched or character not in _BLANKS:
            self.failed = True

    def _special(self, character: str) -> None:
        if character == "\\":
            self._escape = character
        elif character == '"' and not self._high:
            self.closed = True
        else:
            self.failed = True

    def _escaped(self, character: str) -> None:
        self._escape += character
        if self._escape == "\\u":
            return
        if self._escape[1] != "u":
            escape, self._escape = self._escape, ""
            self.failed = self._high > 0 or escape[1] not in _ESCAPED
            self.text += "" if self.failed else _ESCAPED[escape[1]]
        elif character not in hexdigits:
            self.failed = True
        elif len(self._escape) == _UNIT_CHARS:
            unit, self._escape = int(self._escape[-4:], 16), ""
            self._unit(unit)

    def _unit(self, unit: int) -> None:
        """Add a UTF-16 unit, which is a character or half of one."""
        is_low = _LOW <= unit < _ABOVE
        if is_low != (self._high > 0):
            self.failed = True
        elif _HIGH <= unit < _LOW:
            self._high = unit
        elif is_low:
            self.text += chr(0x10000 + ((self._high - _HIGH) << 10) + unit - _LOW)
            self._high = 0
        else:
            self.text += chr(unit)
