"""Reads a text as a person sees it, so that a key is found whatever stands between its characters or draws them.

Nothing here changes what a reader sees. A text is folded only to be searched; matches are mapped back to the original.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

#: What a game or a terminal takes for an instruction and does not show: escape sequences, Evennia's colours and links.
_MARKUP = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X][^\x07\x1b\n\r\v\f\x85\u2028\u2029]*(?:\x07|\x1b\\)"
    r"|\|\[?(?:[0-5]{3}|=[a-z]|#[0-9a-fA-F]{6})|\|l[cute]|\|\[?[a-zA-Z]|\|[*^_/<>!-]"
)
#: Letters and symbols by their category, but nothing is drawn for them.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
#: Characters whose folds are remembered: more than any language has in daily use.
_MOST_REMEMBERED = 8192


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
