"""Reads all of a page, from any reader.

Readers called with `max_length=WHOLE` give all they have. A caller that keeps whole pages cuts them on the way out
(`readers.paging.part_of`), so that paging through a page fetches it once.
"""

from __future__ import annotations

from collections.abc import Awaitable

from tools.web.source.protocol import ReadProvider, ReadResult

#: More characters than any reader gives.
WHOLE = 1_000_000_000


def read_whole(reader: ReadProvider, url: str) -> Awaitable[ReadResult]:
    """Return all that the reader has of the page. Raises WebError. May be cancelled."""
    return reader.read_url(url, offset=0, max_length=WHOLE)
