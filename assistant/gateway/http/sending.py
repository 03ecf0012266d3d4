"""Sends whole answers, and the headers that every answer has."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.web.http import RESPONSES, datetimeToString


def add_own_headers(
    headers: Sequence[tuple[bytes, bytes]], request_id: str, *, closes: bool
) -> list[tuple[bytes, bytes]]:
    """Return headers with those that every answer has. None of them names the server."""
    own = request_id.encode("ascii")
    every = [*headers, (b"Date", datetimeToString()), (b"request-id", own), (b"x-request-id", own)]
    return [*every, (b"Connection", b"close")] if closes else every


def render_whole(status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes, *, is_head: bool) -> bytes:
    """Return the bytes of an answer that does not go through a request of Twisted."""
    lines = [b"HTTP/1.1 %d %s" % (status, RESPONSES.get(status, b"Unknown"))]
    lines += [name + b": " + value for name, value in with_length(headers, body)]
    return b"\r\n".join([*lines, b"", b"" if is_head else body])


def with_length(headers: Sequence[tuple[bytes, bytes]], body: bytes) -> list[tuple[bytes, bytes]]:
    """Return headers that say how long the body is."""
    if any(name.lower() == b"content-length" for name, _ in headers):
        return list(headers)
    return [*headers, (b"Content-Length", b"%d" % len(body))]
