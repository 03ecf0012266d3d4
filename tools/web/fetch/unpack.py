"""Unpacks a body piece by piece, and never gives more than the agreed number of bytes."""

from __future__ import annotations

import zlib

_GZIP = 31  # zlib's window bits for gzip with its header and checksum
#: Joined gzip files have a few members. Each member costs its own set-up, so a body of many tiny ones costs seconds.
MOST_MEMBERS = 256


class BrokenPacking(ValueError):
    """Raised when the bytes are not valid gzip."""


class Plain:
    """A body without packing. At most `limit` bytes are given; `is_cut` tells that there were more."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.is_cut = False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes themselves, within the limit."""
        kept = data[: self._left]
        self.is_cut = self.is_cut or len(kept) < len(data)
        self._left -= len(kept)
        return kept

    def end(self) -> None:
        """Do nothing: no part can be missing."""


class Gunzip:
    """The content of a gzip body; `is_cut` tells that there was more.

    At most `limit` bytes of all its members together are given.
    """

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.is_cut = False
        self._members = 0
        self._member: zlib._Decompress | None = None

    def feed(self, data: bytes) -> bytes:
        """Return what the bytes unpack to, within the limit. Raises BrokenPacking."""
        pieces = []
        while data and not self.is_cut:
            if self._member is None:
                data = data.lstrip(b"\0") if self._members else data  # padding between members, as gzip(1) allows
                if not data:
                    break
                self._begin()
            assert self._member is not None
            piece, data = self._unpack(self._member, data)
            pieces.append(piece)
        return b"".join(pieces)

    def end(self) -> None:
        """Raise BrokenPacking when the last member is not complete, unless the rest was not wanted."""
        if self._member is not None and not self.is_cut:
            raise BrokenPacking("it ends early")

    def _begin(self) -> None:
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise BrokenPacking("it has too many parts")
        self._member = zlib.decompressobj(_GZIP)

    def _unpack(self, runner: zlib._Decompress, data: bytes) -> tuple[bytes, bytes]:
        """Unpack `data` and return the result, with the bytes after the member's end. Raises BrokenPacking."""
        try:
            piece = runner.decompress(data, self._left + 1)
        except zlib.error:
            raise BrokenPacking("it is damaged") from None
        if len(piece) > self._left:
            self.is_cut = True
            return piece[: self._left], b""
        self._left -= len(piece)
        if not runner.eof:
            return piece, b""  # room was left, so that all of the input was taken
        self._member = None
        return piece, runner.unused_data
