"""A server on loopback that does what a test says with each request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers

from mud_assistant.resilience import Collected, HttpExchange, Request

reactor: Any = _reactor
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Served(Protocol):
    """One connection of the server's."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.requests = 0
        self.lost: Deferred[Failure] = Deferred()

    def connectionMade(self) -> None:
        self.server.connections.append(self)

    def dataReceived(self, data: bytes) -> None:
        self.server.received += data
        if b"\r\n\r\n" in data:
            self.requests += 1
            self.server.answer(self.transport)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.server.gone += 1
        self.lost.callback(None)  # type: ignore[arg-type]  # nobody looks at the reason


class Server:
    """Answers each request with what `answer` does to the transport."""

    def __init__(self, answer: Callable[[Any], object]) -> None:
        self.answer = answer
        self.connections: list[Served] = []
        self.received = b""
        self.gone = 0
        self.url = ""

    async def all_gone(self) -> None:
        for each in self.connections:
            await each.lost


@asynccontextmanager
async def serving(answer: Callable[[Any], object] | bytes) -> AsyncIterator[Server]:
    server = Server((lambda transport: transport.write(answer)) if isinstance(answer, bytes) else answer)
    factory = Factory.forProtocol(lambda: Served(server))
    port = reactor.listenTCP(0, factory, interface="127.0.0.1")
    server.url = f"http://127.0.0.1:{port.getHost().port}/"
    try:
        yield server
    finally:
        for each in server.connections:
            if not each.lost.called:
                each.transport.abortConnection()  # type: ignore[union-attr]  # a TCP transport
                await each.lost
        await port.stopListening()


async def ask(exchange: HttpExchange, server: Server, method: str = "GET", body: bytes = b"") -> Collected:
    sink = Collected()
    await exchange.perform(Request(method, server.url, Headers(), body), sink)
    return sink


async def turn(seconds: float = 0.02) -> None:
    """Let what is on the wire arrive."""
    waiting: Deferred[None] = Deferred()
    reactor.callLater(seconds, waiting.callback, None)
    await waiting
