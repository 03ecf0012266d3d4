"""A web site that serves pages and misbehaves in every way a page can.

Each path has one answer. The site records its requests and counts its open connections.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from itertools import chain, repeat

from mud_assistant.resilience.testing.answers import bomb
from mud_assistant.resilience.testing.fake import SILENCE, Answered, Fake, RawResponse, ServedRequest

HTML = "text/html; charset=utf-8"
_CHUNK_BYTES = 64 * 1024


class FakeSite(Fake[ServedRequest]):
    """Pages by path; any other path is a 404. `requests` are the requests, in order."""

    request_type = ServedRequest

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[str, Answered] = {}

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self.clients)

    @property
    def connections(self) -> int:
        """How many clients have ever connected."""
        return self.clients.made

    def count(self, path: str) -> int:
        """Return how often a path was asked for."""
        return sum(asked.target == path for asked in self.requests)

    def page(
        self,
        path: str,
        body: str | bytes,
        content_type: str | None = HTML,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Serve a page, with its length."""
        content = body.encode() if isinstance(body, str) else body
        said = {"Content-Length": str(len(content)), **(headers or {})}
        self.raw(path, head(status, said, content_type) + content)

    def gzipped(self, path: str, *runners: bytes, content_type: str = HTML) -> None:
        """Serve a page packed with gzip, in one or several members."""
        packed = b"".join(gzip.compress(runner) for runner in runners)
        self.page(path, packed, content_type, headers={"Content-Encoding": "gzip"})

    def redirect(self, path: str, location: str, status: int = 302) -> None:
        """Serve a redirect."""
        self.raw(path, head(status, {"Location": location, "Content-Length": "0"}, None))

    def bomb(self, path: str, unpacked_bytes: int = 200_000_000) -> None:
        """Serve a few bytes of gzip that unpack to many."""
        self.page(path, b"".join(bomb(unpacked_bytes)), headers={"Content-Encoding": "gzip"})

    def endless(self, path: str, piece: bytes = b"x" * _CHUNK_BYTES, start: bytes = b"", every: float = 0.0) -> None:
        """Serve a body that has no end, or after `start` what has none, with so many seconds between its pieces."""
        first = start or head(200, {}, HTML)
        self.answer_with(path, RawResponse(lambda: chain((first,), repeat(piece)), every))

    def drip(self, path: str, interval_seconds: float = 0.05, piece: bytes = b"x") -> None:
        """Serve a body without end in tiny pieces."""
        self.endless(path, piece, every=interval_seconds)

    def endless_head(self, path: str, interval_seconds: float = 0.0) -> None:
        """Serve headers that have no end."""
        self.endless(path, b"X-More: " + b"y" * 1000 + b"\r\n", b"HTTP/1.1 200 OK\r\n", interval_seconds)

    def silent(self, path: str) -> None:
        """Take the request and say nothing."""
        self.answer_with(path, SILENCE)

    def raw(self, path: str, data: bytes) -> None:
        """Serve exactly these bytes and close."""
        self.answer_with(path, RawResponse(lambda: iter((data,) if data else ())))

    def answer_with(self, path: str, answer: Answered) -> None:
        """Serve anything."""
        self._answers[path] = answer

    def answer(self, request: ServedRequest) -> Answered:
        """Return the answer for a path; the query counts when there is an answer for path and query."""
        found = self._answers.get(request.target) or self._answers.get(request.path)
        return found or RawResponse(lambda: iter((head(404, {"Content-Length": "9"}, "text/plain") + b"not found",)))


def head(status: int, headers: Mapping[str, str], content_type: str | None) -> bytes:
    """Return the head of a response, with its blank line."""
    said = {**({} if content_type is None else {"Content-Type": content_type}), **headers, "Connection": "close"}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in said.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
