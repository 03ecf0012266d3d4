"""Finds a key in disguise: in look-alike or hidden characters, or told in several pieces.

A text is read as a person sees it, so that a key is found whatever stands between its characters or draws them. It is
folded only to be searched; matches are mapped back to the original, and nothing changes what a reader sees.

The global search (`redaction.py`) sees one text at a time; `KeyPieces` counts over all that one speaker has said, over
two calls, two answers, or with other words between. Up to 11 letters and digits of a key may be said before it is
noticed; from then on every further piece is replaced.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from msgspec import Struct

#: What a game or a terminal takes for an instruction and does not show: escape sequences, Evennia's colours and links.
_MARKUP = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X][^\x07\x1b\n\r\v\f\x85\u2028\u2029]*(?:\x07|\x1b\\)"
    r"|\|\[?(?:[0-5]{3}|=[a-z]|#[0-9a-fA-F]{6})|\|l[cute]|\|\[?[a-zA-Z]|\|[*^_/<>!-]"
)
#: Letters and symbols by their category, but nothing is drawn for them.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
#: Characters whose folds are remembered: more than any language has in daily use.
_MOST_REMEMBERED = 8192
#: Letters and digits in a row that count as a piece of a key and not as chance.
PIECE = 6
#: Once this many letters and digits were told, in one piece or in all, the rest is not told.
ENOUGH = 12
#: A key of letters alone may be a name in words; one shorter than this is not looked for in pieces.
_LONG_WORDS = 20


class _Folds(dict[int, str]):
    """Maps each character to what a reader sees: its plain form, without marks, or nothing when it is not drawn."""

    def __init__(self, *, only_words: bool = False) -> None:
        super().__init__()
        self._only_words = only_words

    def __missing__(self, code: int) -> str:
        plain = "".join(char for char in unicodedata.normalize("NFKD", chr(code)) if self._is_kept(char))
        if len(self) < _MOST_REMEMBERED:
            self[code] = plain
        return plain

    def _is_kept(self, char: str) -> bool:
        if self._only_words:
            return char.isalnum() and char not in _BLANK
        return char.isspace() or (unicodedata.category(char)[0] not in "CM" and char not in _BLANK)


_SEEN = _Folds()
_WORDS = _Folds(only_words=True)
_PLAIN = re.compile(r"[ -{}~\n]*")


def has_markup(text: str) -> bool:
    """Tell whether a game or a terminal would take something in the text for an instruction."""
    return _MARKUP.search(text) is not None


def fold(text: str, *, markup: bool) -> str:
    """Return the text without what is not drawn, each look-alike in its plain form.

    Keeps white space, and `markup` if told to.
    """
    if _PLAIN.fullmatch(text):
        return text
    return (text if markup else _MARKUP.sub("", text)).translate(_SEEN)


def fold_closed(text: str, *, markup: bool) -> str:
    """Return the text as `fold` does, without white space."""
    return "".join(fold(text, markup=markup).split())


def words_only(text: str) -> str:
    """Return the letters and digits of the text alone."""
    return _MARKUP.sub("", text).translate(_WORDS)


class Folded:
    """A folded text that knows where each of its characters stands in the original."""

    def __init__(self, text: str, *, markup: bool = False, spaced: bool = True, only_words: bool = False) -> None:
        folds = _WORDS if only_words else _SEEN
        pieces: list[str] = []
        self._at: list[int] = []
        for at in range(len(text)) if markup else _shown_places(text):
            for char in folds[ord(text[at])]:
                if spaced or not char.isspace():
                    pieces.append(char)
                    self._at.append(at)
        self.text = "".join(pieces)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters from `start` to `end` of the folded text are in the original."""
        return self._at[start], self._at[end - 1] + 1


def replace_spans(text: str, places: Iterable[tuple[int, int]], by: str) -> str:
    """Return the text with each stretch replaced by `by`. Stretches that overlap are replaced as one."""
    pieces, done = [], 0
    for start, end in sorted(places):
        if start >= done:
            pieces += [text[done:start], by]
        done = max(done, end)
    return "".join(pieces) + text[done:]


def _shown_places(text: str) -> Iterator[int]:
    """Yield the places of the characters that are not markup."""
    done = 0
    for markup in _MARKUP.finditer(text):
        yield from range(done, markup.start())
        done = markup.end()
    yield from range(done, len(text))


@dataclass(slots=True)
class KeyPieces:
    """Watches what one speaker says. `values` are the keys, and more may be added; `shown` replaces a piece."""

    values: Collection[str] = ()
    shown: str = "[key]"
    _keys: dict[str, _Key] = field(default_factory=dict)
    #: By key: which of its letters and digits were told.
    _told: dict[str, set[int]] = field(default_factory=dict)
    #: By the kind of speech: its last letters and digits, which the next words may continue.
    _before: dict[str, str] = field(default_factory=dict)

    def scrub(self, text: str, kind: str = "text") -> str:
        """Replace the pieces of which too much was said by now, and remember the rest.

        Words of one `kind` continue each other.
        """
        keys = [key for value in self.values if (key := self._known(value)) is not None]
        if not keys:
            return text
        before = self._before.get(kind, "")
        self._before[kind] = (before + words_only(text))[-max(len(key.signs) for key in keys) :]
        for key in keys:
            text = self._without(key, text, before)
        return text

    def is_free(self, text: str, kind: str = "text") -> bool:
        """Tell whether no piece of any key is in the text or ends in it, read as a continuation of what was said."""
        keys = [key for value in self.values if (key := self._known(value)) is not None]
        signs = words_only(text)
        before = self._before.get(kind, "")
        return not any(
            end > len(before) and not key.is_words(place, end - start)
            for key in keys
            for start, end, place in key.pieces(before + signs)
        )

    def _known(self, value: str) -> _Key | None:
        """Return the search data of the key, None when it is too short to be searched for."""
        if value not in self._keys:
            signs = words_only(value)
            if len(signs) < (_LONG_WORDS if signs.isalpha() else ENOUGH):
                return None
            folded = Folded(value, only_words=True)
            pairs = (folded.place(at - 1, at + 1) for at in range(1, len(signs)))
            ends = {at for at, (start, end) in enumerate(pairs, 1) if end - start > 2}  # noqa: PLR2004  (no neighbours)
            places: dict[str, list[int]] = {}
            for at in range(len(signs) - PIECE + 1):
                places.setdefault(signs[at : at + PIECE], []).append(at)
            self._keys[value] = _Key(signs, frozenset({0, len(signs), *ends}), places)
        return self._keys[value]

    def _without(self, key: _Key, text: str, before: str) -> str:
        """Return the text without this key's pieces, once too much of the key was told."""
        signs = words_only(text)
        joined = before[-PIECE:] + signs
        if not any(joined[at : at + PIECE] in key.places for at in range(len(joined))):
            return text
        told = self._told.setdefault(key.signs, set())
        spans = []
        for start, end, place in key.pieces(before + signs):
            first, last = start - len(before), end - len(before)
            if last <= 0 or (end - start < ENOUGH and key.is_words(place, end - start)):
                continue
            now = set(range(place, place + end - start))
            if len(now) >= ENOUGH or len(told | now) >= ENOUGH:
                spans.append((max(0, first), last))
            else:
                told |= now
        folded = Folded(text, only_words=True)
        return replace_spans(text, (folded.place(*span) for span in spans), self.shown)


class _Key(Struct, frozen=True):
    """The letters and digits of a key, the borders of its words in them, and the places of each run of six."""

    signs: str
    borders: frozenset[int]
    places: dict[str, list[int]]

    def pieces(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield each longest piece in the text, without overlaps: its start, its end, and its place in the key."""
        at = 0
        while at + PIECE <= len(text):
            found = [(self._length(place, text, at), place) for place in self.places.get(text[at : at + PIECE], ())]
            if not found:
                at += 1
                continue
            length, place = max(found)
            yield at, at + length, place
            at += length

    def is_words(self, place: int, length: int) -> bool:
        """Tell whether this much of the key is whole words of it, such as a name that may be said."""
        piece = self.signs[place : place + length]
        return piece.isalpha() and {place, place + length} <= self.borders

    def _length(self, place: int, text: str, at: int) -> int:
        length = PIECE
        while self.signs[place + length : place + length + 1] == text[at + length : at + length + 1] != "":
            length += 1
        return length
