"""Telnet as bytes (RFC 854, 855): text, commands, options and their data, cut out of a stream that may be cut anywhere.

The codec is pulled. `put` gives it bytes, `take` returns the next piece or None, and `rest` returns the bytes that no
piece was made of yet: from the byte after a piece on they may be compressed.
"""

from __future__ import annotations

from msgspec import Struct

IAC, DONT, DO, WONT, WILL, SB, GA, EOR, SE = 255, 254, 253, 252, 251, 250, 249, 239, 240
#: The most bytes of one option's data.
MOST_DATA = 64 * 1024
_IAC = bytes([IAC])
_REQUESTS = frozenset({DONT, DO, WONT, WILL})
_MARKS = frozenset({GA, EOR})


class PlainText(Struct, frozen=True):
    """Bytes of text."""

    data: bytes


class PromptMark(Struct, frozen=True):
    """GA or EOR: the text before it may be a prompt."""


class OptionRequest(Struct, frozen=True):
    """WILL, WONT, DO or DONT of an option."""

    command: int
    option: int


class OptionData(Struct, frozen=True):
    """The data of an option, without the doubling of IAC."""

    option: int
    data: bytes


Piece = PlainText | PromptMark | OptionRequest | OptionData


class DataTooLong(Exception):
    """The data of an option has more than `MOST_DATA` bytes."""


class TelnetCodec:
    """Cuts a stream of bytes into pieces; holds at most what was put, and the data of one option."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0
        # What the next byte is: DATA is text, IAC a command, a request its option, SB and SE the data of an option.
        self._next = 0
        self._data: bytearray = bytearray()

    def put(self, data: bytes) -> None:
        """Add bytes to what is to be cut."""
        self._bytes = self._bytes[self._at :] + data
        self._at = 0

    def rest(self) -> bytes:
        """Return the bytes that stand after the last piece, and forget them."""
        rest, self._bytes, self._at = self._bytes[self._at :], b"", 0
        return rest

    def take(self) -> Piece | None:
        """Return the next piece, or None when it needs more bytes. Raises DataTooLong."""
        while self._at < len(self._bytes):
            piece: Piece | None = None
            if not self._next:
                piece = self._text()
            elif self._next == SB:
                self._gather()
            else:
                byte = self._bytes[self._at]
                self._at += 1
                piece = self._command(byte)
            if piece is not None:
                return piece
        return None

    def _text(self) -> PlainText | None:
        found = self._bytes.find(_IAC, self._at)
        end = len(self._bytes) if found < 0 else found
        text, self._at = self._bytes[self._at : end], end
        if found >= 0:
            self._at, self._next = found + 1, IAC
        return PlainText(text) if text else None

    def _gather(self) -> None:
        found = self._bytes.find(_IAC, self._at)
        end = len(self._bytes) if found < 0 else found
        if len(self._data) + end - self._at > MOST_DATA:
            raise DataTooLong
        self._data += self._bytes[self._at : end]
        self._at = end
        if found >= 0:
            self._at, self._next = found + 1, SE

    def _command(self, byte: int) -> Piece | None:
        state, self._next = self._next, 0
        if state in _REQUESTS:
            return OptionRequest(state, byte)
        if state == SE and byte == SE:
            return OptionData(self._data[0], bytes(self._data[1:])) if self._data else None
        if state == SE and byte == IAC:
            self._data.append(IAC)
            self._next = SB
            return None
        # Any other command ends an option's data that has no end, and the data is dropped.
        if byte == IAC:
            return PlainText(_IAC)
        if byte in _REQUESTS:
            self._next = byte
        elif byte == SB:
            self._data, self._next = bytearray(), SB
        return PromptMark() if byte in _MARKS else None


def subnegotiation(option: int, data: bytes) -> bytes:
    """Return the bytes that send an option's data."""
    return bytes([IAC, SB, option]) + data.replace(_IAC, _IAC * 2) + bytes([IAC, SE])
