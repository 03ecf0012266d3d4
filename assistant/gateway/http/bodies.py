"""Reads bodies: inflates them, and parses them as JSON, in threads where it would hold up the reactor."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from mud_assistant.assistant.gateway.http.strict_json import strict_json
from mud_assistant.assistant.http_server.bounds import no_room, too_large
from mud_assistant.llm.dialects.failures import invalid
from mud_assistant.resilience.background import DaemonThreads, FromThread, Full

#: The most bytes of one body, as it is sent and inflated.
MAX_BODY = 32 * 1024 * 1024
#: The most bytes of all bodies that are held at a time.
MAX_HELD = 256 * 1024 * 1024
#: From this many bytes on JSON is parsed in a thread.
_MANY_BYTES = 256 * 1024
_THREADS, _WAITING = 2, 64
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
#: The encodings of a body that are read. The empty one and "identity" need no reading.
ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})

T = TypeVar("T")


class BodyReader:
    """Reads bodies in threads of its own. Call `close` when nobody sends any more."""

    def __init__(self, reactor: FromThread) -> None:
        self._threads = DaemonThreads[Any](reactor, "gateway-body", _THREADS, _WAITING)

    async def inflated(self, encoding: str, body: bytes) -> bytes:
        """Return a body without its encoding, which is one of ENCODINGS. Raises RequestRefused and UnreadRequest."""
        if encoding in {"", "identity"}:
            return body
        return await self._in_thread(partial(inflate, encoding, body))

    # Any: JSON of a client.
    async def json(self, body: bytes) -> dict[str, Any]:
        """Return the object that a body holds, as `strict_json` does. Raises RequestRefused and UnreadRequest."""
        if len(body) < _MANY_BYTES:
            return strict_json(body)
        return await self._in_thread(partial(strict_json, body))

    def close(self) -> None:
        """Begin nothing more. What runs is not waited for."""
        self._threads.close()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            read: T = await self._threads.run(work)
        except Full:
            raise no_room() from None
        return read


def inflate(encoding: str, body: bytes, limit: int = MAX_BODY) -> bytes:
    """Return what a gzip or deflate body holds, of which at most `limit` bytes are ever made. Raises as above."""
    reader = zlib.decompressobj(_window_bits(encoding, body))
    try:
        inflated = reader.decompress(body, limit + 1)
    except zlib.error:
        raise invalid(f"the body is not {encoding}") from None
    if len(inflated) > limit:
        raise too_large(limit)
    if not reader.eof or reader.unused_data:
        raise invalid(f"the body is cut off, or more stands behind its {encoding}")
    return inflated


def _window_bits(encoding: str, body: bytes) -> int:
    """Return how zlib is to read. Some programs send deflate without the header of zlib (RFC 1950, section 2.2)."""
    if encoding != "deflate":
        return _GZIP
    has_header = len(body) > 1 and body[0] & 15 == zlib.DEFLATED and int.from_bytes(body[:2], "big") % 31 == 0
    return _ZLIB if has_header else _RAW
