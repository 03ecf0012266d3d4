"""Leaves a secret out of bytes, however they were cut, and whatever nobody sees stands between its signs.

The secret may be written with escapes of JSON, and with characters between its own that are not drawn: marks, joiners,
spaces without width, as they are in UTF-8 or as escapes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import cache

_MARK = b"[key]"
#: The most bytes that are held of what may begin the secret. Of more, what is not seen is dropped.
_MOST_HELD = 4096
#: Categories of what is not drawn: format and control characters, marks that stand on or around another sign.
_HIDDEN = frozenset({"Cf", "Cc", "Mn", "Me"})
#: Letters and symbols by their category, but nothing is drawn for them.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
#: The end of a piece in which a character, or an escape, goes on in the next one.
_CUT_OFF = re.compile(
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z"
    rb"|[\xc2-\xdf]\Z|[\xe0-\xef][\x80-\xbf]?\Z|[\xf0-\xf4][\x80-\xbf]{0,2}\Z"
)
_CUT_OFF_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_LONGEST_ESCAPE = 6
#: Tags and selectors of variants, each as UTF-8 and as an escape: too many to list.
_TAGS = rb"\xf3\xa0[\x80-\x87][\x80-\xbf]|\\u[dD][bB]4[01]\\u[dD][cdCD][0-9a-fA-F]{2}"


class StreamRedactor:
    """A filter of one stream. Only the end of a piece that may begin the secret is held, until the next one."""

    def __init__(self, secret: bytes) -> None:
        """Take the secret, empty for none."""
        self._secret = secret
        self._begin = _beginning_of(secret) if secret else None
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Return what of the stream can be handed on by now."""
        if self._begin is None:
            return piece
        data = self._held + piece if self._held else piece
        self._held = b""
        pieces, done = [], 0
        for begin in self._begin.finditer(data):
            start = begin.start()
            if start < done:
                continue
            end, count = self._match(data, start)
            if count == len(self._secret):
                pieces += [data[done:start], _MARK]
                done = end
            elif end == len(data):
                self._held = data[start:] if end - start <= _MOST_HELD else self._secret[:count]
                return b"".join([*pieces, data[done:start]])
        if cut := _CUT_OFF_ESCAPE.search(data, max(done, len(data) - _LONGEST_ESCAPE)):
            self._held = data[cut.start() :]
        rest = data[done : len(data) - len(self._held)]
        return b"".join([*pieces, rest]) if pieces else rest

    def rest(self) -> bytes:
        """Return what is held, at the end of a stream that is whole."""
        held, self._held = self._held, b""
        return held

    def whole(self, data: bytes) -> bytes:
        """Return the whole of what was not fed in pieces."""
        return self.feed(data) + self.rest()

    def _match(self, data: bytes, start: int) -> tuple[int, int]:
        """Follow the secret from here. Return where it is left, and how many of its signs were there.

        It is left at the end of the bytes when it may go on behind them.
        """
        secret, at, count = self._secret, start, 0
        while count < len(secret):
            if data[at : at + 1] == secret[count : count + 1]:
                at, count = at + 1, count + 1
            elif odd := _odd().match(data, at):
                if sign := _sign(odd.group()):
                    if sign != secret[count : count + 1]:
                        return at, count
                    count += 1
                at = odd.end()
            else:
                return (len(data) if _CUT_OFF.match(data, at) else at), count
        return at, count


@cache
def _beginning_of(secret: bytes) -> re.Pattern[bytes]:
    """Return the pattern of the first sign of the secret, where the second or what is not drawn may follow."""
    first, second = secret[:1], secret[1:2]
    written = [re.escape(first), rb"\\u00(?i:%02x)" % first[0], *([rb"\\/"] if first == b"/" else [])]
    follows = rb"(?=[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xff" + re.escape(second) + rb"]|\\[u/]|\\?\Z)" if second else b""
    return re.compile(b"(?:" + b"|".join(written) + b")" + follows)


def _sign(odd: bytes) -> bytes:
    r"""Return the sign of ASCII that an escape stands for, nothing for what is not drawn. `\/` is a slash."""
    if odd == rb"\/":
        return b"/"
    code = int(odd[2:6], 16) if odd.startswith(rb"\u") else 0
    return bytes([code]) if 0x20 <= code < 0x7F else b""  # noqa: PLR2004  (what ASCII draws)


@cache
def _odd() -> re.Pattern[bytes]:
    """Return the pattern of what is not drawn, and of signs that are written as escapes."""
    written: defaultdict[bytes, defaultdict[bytes, set[int]]] = defaultdict(lambda: defaultdict(set))
    escaped: defaultdict[str, set[str]] = defaultdict(set)
    for code in (
        *range(0x3400),
        *range(0xA000, 0xAC00),
        *range(0xFA00, 0x10000),
    ):  # not the Han and Hangul, nor private
        char = chr(code)
        if char in "\t\n\r" or not (char in _BLANK or unicodedata.category(char) in _HIDDEN):
            continue
        coded = char.encode("utf-8")
        written[coded[:1] if len(coded) > 1 else b""][coded[1:-1]].add(coded[-1])
        escaped[f"{code:04x}"[:3]].add(f"{code:04x}"[3])
    groups = [
        re.escape(lead) + b"(?:" + b"|".join(re.escape(inner) + _one_of(last) for inner, last in inners.items()) + b")"
        for lead, inners in written.items()
    ]
    hexes = "|".join(f"{begin}[{''.join(sorted(last))}]" for begin, last in escaped.items())
    codes = rf"\\u(?:(?i:{hexes})|00[2-7][0-9a-fA-F])|\\/".encode()
    return re.compile(b"|".join([*groups, codes, _TAGS]))


def _one_of(codes: set[int]) -> bytes:
    return b"[" + b"".join(re.escape(bytes([code])) for code in sorted(codes)) + b"]"
