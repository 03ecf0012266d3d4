"""The first sentence of words that are still being written. Pure."""

from __future__ import annotations

import re
from string import hexdigits

#: Characters a first sentence has at least: after fewer the next one is waited for.
MIN_CHARS = 20
#: Characters after which no first sentence is looked for any more.
MAX_CHARS = 600

_BLANKS = " \t\n\r"
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HIGH, _LOW, _ABOVE = 0xD800, 0xDC00, 0xE000
#: `\u` and four digits.
_UNIT_CHARS = 6

_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_END = re.compile(
    "[.!?\u2026][\"'\u201d\u2019\u00bb)*]*(?=\\s)"
    # Full-width marks stand without a blank behind them.
    "|[\u3002\uff01\uff1f][\"'\u201d\u2019\u300d\u300f)]*(?=[^\"'\u201d\u2019\u300d\u300f)])"
)
#: Before a full stop these, a single letter and a number end no sentence.
_SHORT_FORM = re.compile(
    r"(?:^|\W)(?:\w|\d+|mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|e\.g|i\.e|no|gen|capt|sgt)\.$", re.IGNORECASE
)
#: Characters of a mark that ends a sentence with all that may close behind it, and a blank.
_LONGEST_END = 8
_PAIRS = (("\u201c", "\u201d"), ("\u00ab", "\u00bb"), ("(", ")"), ("\u300c", "\u300d"))
_TWINS = '"*'


def first_sentence(text: str, start: int = 0) -> str | None:
    """The first sentence of `text`, which begins with a word and goes on; empty while there is none.

    None when there will be none: a line ends before it, or it is too long. A sentence does not end inside quotation
    marks, brackets or asterisks, nor where the next word begins with a small letter. `start` is where to look on, when
    so much of the text had none.
    """
    for match in _END.finditer(text, max(0, start - _LONGEST_END), MAX_CHARS + 1):
        sentence = text[: match.end()]
        if "\n" in sentence:
            return None
        if len(sentence) >= MIN_CHARS and _is_whole(sentence) and not text[match.end() :].lstrip()[:1].islower():
            return sentence
    return None if len(text) > MAX_CHARS or "\n" in text else ""


def _is_whole(sentence: str) -> bool:
    """Whether nothing is left open in it, and its full stop is none of a short form."""
    if any(sentence.count(opening) > sentence.count(closing) for opening, closing in _PAIRS):
        return False
    return not any(sentence.count(mark) % 2 for mark in _TWINS) and not _SHORT_FORM.search(sentence)


class GrowingArgument:
    """Reads the one string argument of a call out of JSON that comes in pieces.

    `text` is what is known of its value. `failed` when what came is not `{"NAME": "...`, nothing else before it: a lone
    surrogate and a bare control character are no string either. `closed` when the value is whole.
    """

    def __init__(self, name: str) -> None:
        self.text = ""
        self.failed = False
        self.closed = False
        #: What must still come before the value, and how much of the first of it came; blanks may stand between.
        self._expected = ["{", f'"{name}"', ":", '"']
        self._matched = 0
        self._escape = ""
        self._high = 0
        self._room = (_UNIT_CHARS + 1) * MAX_CHARS

    def feed(self, piece: str) -> None:
        """Take the next piece. So long that no first sentence is in it, it is not read to its end."""
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
        """A UTF-16 unit: a character, or the half of one."""
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
