"""Replaces every known key in a text, in whatever form it is written."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterator

from twisted.logger import Logger

from mud_assistant.assistant.keys.disguises import Folded, KeyPieces, fold, fold_closed, has_markup, replace_spans

#: Replaces a secret.
SHOWN = "[key]"
#: The fewest characters of a secret. A shorter value would be found in innocent words and garble them.
MIN_CHARS = 6

#: Of a secret of at least `_LONG` characters, its first `_BEGINNING` characters are replaced too: error messages cut
#: off what servers say.
_LONG = 20
_BEGINNING = 12
#: Characters that end a secret that was cut off.
_ENDS = frozenset(" \"'<>")
_LAST_OF_LATIN_1 = 0xFF
_SHORT_ESCAPES = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}

_log = Logger()


class Secrets:
    """The values that must not be shown, kept in memory for as long as the instance lives."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._text: re.Pattern[str] | None = None
        self._bytes: re.Pattern[bytes] | None = None
        #: For texts whose white space was removed: all spellings of keys of at least 12 characters, and those keys.
        self._closed: re.Pattern[str] | None = None
        self._closed_keys: list[str] = []

    def __bool__(self) -> bool:
        """Tell whether there is anything to replace."""
        return self._text is not None

    def __repr__(self) -> str:
        """Return how many secrets there are, and never a value."""
        return f"<Secrets: {len(self._values)}>"

    def add(self, value: str) -> bool:
        """Add a value and tell whether it is replaced from now on. Fewer than 6 characters are not, with a warning."""
        if len(value) < MIN_CHARS:
            if value:
                _log.warn("a key of fewer than {least} characters cannot be taken out of logs", least=MIN_CHARS)
            return False
        if value not in self._values:
            self._values.add(value)
            longest_first = sorted(self._values, key=lambda known: (-len(known), known))
            pattern = "|".join(spelling for known in longest_first for spelling in _spellings(known))
            self._text = re.compile(pattern)
            self._bytes = re.compile(pattern.encode("utf-8", "surrogatepass"))
            closed = (fold_closed(known, markup=True) for known in longest_first)
            self._closed_keys = [known for known in closed if len(known) >= _BEGINNING]
            patterns = [spelling for known in self._closed_keys for spelling in _whole_spellings(known)]
            self._closed = re.compile("|".join(patterns)) if patterns else None
        return True

    def scrub(self, text: str) -> str:
        """Return the text with each secret replaced: plain, escaped for URL, JSON, HTML or Python, in hex or base64.

        Invisible characters, markup, accents and other forms of a letter do not hide a secret. A secret of at least 12
        characters is also found with white space in it.
        """
        if self._text is None:
            return text
        for markup in (True, False) if has_markup(text) else (True,):
            text = self._scrub_folded(self._scrub_closed(text, markup=markup), markup=markup)
        return self._text.sub(SHOWN, text)

    def pieces(self) -> KeyPieces:
        """Return a watcher that finds keys one speaker says in pieces. Keys that are added later count as well."""
        return KeyPieces(self._values, SHOWN)

    def _scrub_folded(self, text: str, *, markup: bool) -> str:
        """Replace the secrets that hold invisible characters, or are written with other forms of their letters."""
        folded = fold(text, markup=markup)
        if self._text is None or folded == text or not self._text.search(folded):
            return text
        known = Folded(text, markup=markup)
        return replace_spans(text, (known.place(*match.span()) for match in self._text.finditer(known.text)), SHOWN)

    def _scrub_closed(self, text: str, *, markup: bool) -> str:
        """Replace the secrets that are written with white space in them, whole or cut off."""
        if self._text is None or self._closed is None:
            return text
        closed = fold_closed(text, markup=markup)
        if closed == text:
            return text
        long = [known for known in self._closed_keys if len(known) >= _LONG]
        if not (any(known[:_BEGINNING] in closed for known in long) or self._closed.search(closed)):
            return text
        folded = Folded(text, markup=markup, spaced=False)
        spans = [match.span() for match in self._closed.finditer(folded.text)]
        spans += [span for known in long for span in _cut_off(known, folded.text)]
        # A secret that seems cut off may continue in an escaped form, which only the other search follows.
        places = [folded.place(*span) for span in spans] + [match.span() for match in self._text.finditer(text)]
        return replace_spans(text, places, SHOWN)

    def scrub_bytes(self, data: bytes) -> bytes:
        """Replace secrets in bytes that hold text in UTF-8, or in an encoding that writes the keys the same way."""
        return self._bytes.sub(SHOWN.encode(), data) if self._bytes else data


def _spellings(value: str) -> Iterator[str]:
    """Yield the patterns of a value: as text, in hex, and in base64 at each of its three byte offsets."""
    signs = [match.group() for match in re.finditer(r"\\+|[^\\]", value, re.DOTALL)]
    yield _in_a_row(signs)
    if len(value) >= _LONG:
        own = "".join(re.escape(char) for char in sorted(set(value)) if char.isprintable() and char not in _ENDS)
        yield _in_a_row(_beginning(signs)) + rf"[A-Za-z0-9%\\{own}]{{0,{3 * len(value)}}}+"
    data = value.encode("utf-8", "surrogatepass")
    yield "".join(_hex(byte, 2) for byte in data)
    if len(value) >= _LONG:
        yield "".join(_hex(byte, 2) for byte in data[:_BEGINNING]) + f"[0-9a-fA-F]{{0,{2 * len(data)}}}+"
    for before in range(3):
        yield _in_base64(data, before)
        if len(value) >= _LONG:
            coded, first = b64encode(bytes(before) + data).decode(), -(-8 * before // 6)
            cut = "".join(map(_base64_pattern_of, coded[first : first + _BEGINNING * 4 // 3]))
            yield rf"{cut}(?:[A-Za-z0-9+/_-]|%2[BFbf]|\\/){{0,{2 * len(data)}}}+={{0,2}}"


def _whole_spellings(value: str) -> Iterator[str]:
    """Yield the patterns of a value that is not cut off."""
    data = value.encode("utf-8", "surrogatepass")
    yield _in_a_row([match.group() for match in re.finditer(r"\\+|[^\\]", value, re.DOTALL)])
    yield "".join(_hex(byte, 2) for byte in data)
    yield from (_in_base64(data, before) for before in range(3))


def _in_base64(data: bytes, before: int) -> str:
    """Return the pattern of the bytes in base64, when `before` bytes come before them."""
    coded = b64encode(bytes(before) + data).decode()
    first, end = -(-8 * before // 6), 8 * (before + len(data)) // 6
    # The last character may share its bits with what follows the value.
    return "".join(map(_base64_pattern_of, coded[first:end])) + "[A-Za-z0-9+/_-]?={0,2}"


def _cut_off(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the text that begin like the value, each as long as it agrees; at least 12 characters."""
    start = text.find(value[:_BEGINNING])
    while start >= 0:
        size = _BEGINNING
        while value[size : size + 1] == text[start + size : start + size + 1] != "":
            size += 1
        yield start, start + size
        start = text.find(value[:_BEGINNING], start + size)


def _in_a_row(signs: list[str]) -> str:
    """Return a pattern of the signs in a row.

    A run of backslashes also takes the backslashes of an escape after it, so they are optional there.
    """
    written = [_pattern_of(sign) for sign in signs]
    for at in range(1, len(signs)):
        if signs[at - 1].startswith("\\"):
            written[at] = written[at].replace(r"\\{1,8}+", r"\\{0,8}+")
    return "".join(written)


def _beginning(signs: list[str]) -> list[str]:
    """Return the first signs that have at least 12 characters together. Cut off after them, it is still a secret."""
    size, count = 0, 0
    while size < _BEGINNING:
        size += len(signs[count])
        count += 1
    return signs[:count]


def _base64_pattern_of(sign: str) -> str:
    """Return a pattern of one character of base64, in either alphabet."""
    other = {"+": "-", "/": "_"}.get(sign)
    return f"(?:{_pattern_of(sign)}|{_pattern_of(other)})" if other else sign


def _pattern_of(sign: str) -> str:
    r"""Return a pattern of a character, or of a run of backslashes, with all its escapes.

    Letters and digits are never escaped. Escapes of escapes are recognised to a limited depth. Every repetition in the
    pattern is bounded and possessive, so that no text makes the search backtrack.
    """
    if sign.isascii() and sign.isalnum():
        return sign
    char, times = sign[0], len(sign)
    escaped = "|".join(sorted(_escapes(char)))
    if char == "\\":
        return rf"(?:\\{{{times},{8 * times}}}+|(?:{escaped}){{{times}}})"
    return rf"(?:\\{{0,8}}+{re.escape(char)}|{escaped})"


def _escapes(char: str) -> set[str]:
    """Return the patterns of a character's escapes."""
    data = char.encode("utf-8", "surrogatepass")
    units = char.encode("utf-16-be", "surrogatepass")
    patterns = {
        "".join(f"%(?:25){{0,3}}{_hex(byte, 2)}" for byte in data),
        "".join(rf"\\{{1,8}}+x{_hex(byte, 2)}" for byte in data),
        "".join(rf"\\{{1,8}}+u{_hex(int.from_bytes(units[at : at + 2], 'big'), 4)}" for at in range(0, len(units), 2)),
        rf"\\{{1,8}}+U{_hex(ord(char), 8)}",
        f"&#0{{0,4}}{ord(char)};",
        f"&#[xX]0{{0,4}}{_hex(ord(char), 1)};",
    }
    if ord(char) <= _LAST_OF_LATIN_1:
        patterns.add(rf"\\{{1,8}}+x{_hex(ord(char), 2)}")
    if (named := html.escape(char)) != char:
        patterns.add(named)
    if short := _SHORT_ESCAPES.get(char):
        patterns.add(rf"\\{{1,8}}+{short}")
    if char == " ":
        patterns.add(r"\+")
    return patterns


def _hex(number: int, digits: int) -> str:
    """Return a pattern of a number in hexadecimal, in either case."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{number:0{digits}x}")
