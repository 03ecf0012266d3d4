"""The compressed stream of MCCP2, held to a measure: it may not grow beyond what text can."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

#: How many bytes may come of one, beyond the first `FREE_BYTES` of all.
MOST_RATIO, FREE_BYTES = 100, 64 * 1024
#: The most bytes that may come of one piece of the stream.
MOST_AT_ONCE = 8 * 1024 * 1024
_STEP = 16 * 1024


class CannotInflate(Exception):
    """The stream is damaged."""


class GrowsTooFast(Exception):
    """The stream grows beyond measure."""


class Inflater:
    """Turns the compressed bytes of one stream into plain ones, a step at a time."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj()
        self._taken = 0
        self._made = 0

    @property
    def ended(self) -> bool:
        """Whether the stream came to its end; what follows is not compressed."""
        return self._stream.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the bytes hold, in steps of 16 KiB. Raises CannotInflate and GrowsTooFast."""
        before = self._made
        while not self._stream.eof:
            try:
                made = self._stream.decompress(data, _STEP)
            except zlib.error as error:
                raise CannotInflate(str(error)) from None
            self._taken += len(data) - len(self._stream.unconsumed_tail)
            data = self._stream.unconsumed_tail
            self._made += len(made)
            too_much = self._made - FREE_BYTES > MOST_RATIO * self._taken
            if too_much or self._made - before > MOST_AT_ONCE:
                raise GrowsTooFast
            if made:
                yield made
            elif not data:
                return

    def rest(self) -> bytes:
        """Return the bytes after the end of the stream."""
        return self._stream.unused_data
