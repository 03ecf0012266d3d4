"""A web site on a loopback port that serves pages and misbehaves in every way a page can: `FakeSite`, `serve_site`.

Each path has one answer. The site records its requests and counts its open connections.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import SSL4ServerEndpoint, TCP4ServerEndpoint
from twisted.internet.interfaces import IAddress, IPullProducer
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.protocols.policies import WrappingFactory
from twisted.python.failure import Failure
from zope.interface import implementer

HTML = "text/html; charset=utf-8"
_CHUNK_BYTES = 64 * 1024


class SiteRequest(Struct, frozen=True):
    """One request: its path with the query, and its headers, names in lower case."""

    path: str
    headers: Mapping[str, str]


class SiteAnswer(Struct, frozen=True):
    """An answer: pieces, each `interval_seconds` after the one before it, then the end if it `closes`."""

    pieces: Callable[[], Iterator[bytes]]
    interval_seconds: float = 0.0
    closes: bool = True


@dataclass
class FakeSite:
    """Pages by path; any other path is a 404. `requests` are the requests, in order."""

    requests: list[SiteRequest] = field(default_factory=list)
    open_connections: int = 0
    connections: int = 0
    _answers: dict[str, SiteAnswer] = field(default_factory=dict)

    def count(self, path: str) -> int:
        """Return how often a path was asked for."""
        return sum(asked.path == path for asked in self.requests)

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
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        zeros = bytes(1_000_000)
        packed = b"".join(packer.compress(zeros) for _ in range(unpacked_bytes // len(zeros))) + packer.flush()
        self.page(path, packed, headers={"Content-Encoding": "gzip"})

    def endless(self, path: str, piece: bytes = b"x" * _CHUNK_BYTES) -> None:
        """Serve a body that has no end."""
        start = head(200, {}, HTML)
        self.answer(path, SiteAnswer(lambda: _after(start, piece)))

    def drip(self, path: str, interval_seconds: float = 0.05, piece: bytes = b"x") -> None:
        """Serve a body without end in tiny pieces."""
        start = head(200, {}, HTML)
        self.answer(path, SiteAnswer(lambda: _after(start, piece), interval_seconds))

    def endless_head(self, path: str, interval_seconds: float = 0.0) -> None:
        """Serve headers that have no end."""
        line = b"X-More: " + b"y" * 1000 + b"\r\n"
        self.answer(path, SiteAnswer(lambda: _after(b"HTTP/1.1 200 OK\r\n", line), interval_seconds))

    def silent(self, path: str) -> None:
        """Take the request and say nothing."""
        self.answer(path, SiteAnswer(lambda: iter(()), closes=False))

    def hang_up(self, path: str, first: bytes = b"") -> None:
        """Write `first` and close the connection."""
        self.raw(path, first)

    def raw(self, path: str, data: bytes) -> None:
        """Serve exactly these bytes and close."""
        self.answer(path, SiteAnswer(lambda: iter((data,) if data else ())))

    def answer(self, path: str, answer: SiteAnswer) -> None:
        """Serve anything."""
        self._answers[path] = answer

    def answer_to(self, path: str) -> SiteAnswer:
        """Return the answer for a path; the query counts when there is an answer for path and query."""
        found = self._answers.get(path) or self._answers.get(path.partition("?")[0])
        gone = head(404, {"Content-Length": "9"}, "text/plain") + b"not found"
        return found or SiteAnswer(lambda: iter((gone,)))


def head(status: int, headers: Mapping[str, str], content_type: str | None) -> bytes:
    """Return the head of a response, with its blank line."""
    said = {**({} if content_type is None else {"Content-Type": content_type}), **headers, "Connection": "close"}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in said.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@asynccontextmanager
async def serve_site(
    site: FakeSite, reactor: Any, tls: Any = None, interface: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serve the site and give its URL, without a trailing slash, for as long as the block lasts.

    `reactor` must be a real one; `tls` is a server's context factory, for https. At the end every connection is reset.
    """
    factory = _Site(site, reactor)
    if tls is None:
        endpoint: Any = TCP4ServerEndpoint(reactor, port, interface=interface)
    else:
        endpoint = SSL4ServerEndpoint(reactor, port, tls, interface=interface)
    # TLS is wrapped, because Twisted 24.11's own negotiation of HTTP/2 fails with today's pyOpenSSL.
    listening = await endpoint.listen(factory if tls is None else WrappingFactory(factory))
    try:
        yield f"{'http' if tls is None else 'https'}://{interface}:{listening.getHost().port}"
    finally:
        await listening.stopListening()
        await factory.close()


class _Site(Factory):
    """Makes the connections of a site."""

    noisy = False

    def __init__(self, site: FakeSite, reactor: Any) -> None:
        self.site = site
        self.reactor = reactor
        self.open: set[_Connection] = set()
        self._closed: Deferred[None] | None = None

    def buildProtocol(self, addr: IAddress | None) -> _Connection:
        """Make a connection."""
        return _Connection(self)

    def close(self) -> Deferred[None]:
        """Reset every connection; fire when they are gone."""
        closed: Deferred[None] = Deferred()
        self._closed = closed
        for connection in list(self.open):
            connection.abort()
        self.changed()
        return closed

    def changed(self) -> None:
        """Update the count of open connections."""
        self.site.open_connections = len(self.open)
        if not self.open and self._closed is not None and not self._closed.called:
            self._closed.callback(None)


@implementer(IPullProducer)
class _Connection(Protocol):
    """One request and its answer, written no faster than the client takes it."""

    def __init__(self, owner: _Site) -> None:
        self._owner = owner
        self._received = b""
        self._pieces: Iterator[bytes] | None = None
        self._answer: SiteAnswer | None = None
        self._timer: Any = None

    def connectionMade(self) -> None:
        """Count the connection."""
        self._owner.open.add(self)
        self._owner.site.connections += 1
        self._owner.changed()

    def dataReceived(self, data: bytes) -> None:
        """Read the request's head; it has no body. Reset the connection of a client that does not speak HTTP."""
        self._received += data
        if not self._received[:1].isalpha():
            self.abort()
            return
        if self._answer is None and b"\r\n\r\n" in self._received:
            asked = _read_head(self._received)
            self._owner.site.requests.append(asked)
            self._answer = self._owner.site.answer_to(asked.path)
            self._pieces = self._answer.pieces()
            self._transport.registerProducer(self, False)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Forget the connection."""
        self.stopProducing()
        self._owner.open.discard(self)
        self._owner.changed()

    def abort(self) -> None:
        """Reset the connection."""
        self._transport.abortConnection()

    def resumeProducing(self) -> None:
        """Write the next piece, now or when it is due."""
        assert self._answer is not None
        if self._timer is None:
            self._timer = self._owner.reactor.callLater(self._answer.interval_seconds, self._write)

    def stopProducing(self) -> None:
        """Stop writing."""
        self._pieces = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(self) -> None:
        self._timer = None
        piece = next(self._pieces, None) if self._pieces is not None else None
        if piece is not None:
            self._transport.write(piece)
            return
        self._transport.unregisterProducer()
        if self._answer is not None and self._answer.closes:
            self._transport.loseConnection()

    @property
    def _transport(self) -> Any:
        return self.transport


def _after(start: bytes, piece: bytes) -> Iterator[bytes]:
    yield start
    yield from repeat(piece)


def _read_head(received: bytes) -> SiteRequest:
    first, *lines = received.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines)
    return SiteRequest(first.split(" ")[1], {name.strip().lower(): value.strip() for name, _, value in fields})
