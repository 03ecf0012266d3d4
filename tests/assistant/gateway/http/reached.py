"""A gateway's listener over real loopback TCP, with time in a `Clock`: a handler of the test, clients of raw bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import Clock, deferLater
from twisted.python.failure import Failure as Reason
from zope.interface import directlyProvides

from mud_assistant.assistant.gateway.http.bodies import BodyReader
from mud_assistant.assistant.gateway.http.calls import ClientRequest
from mud_assistant.assistant.gateway.http.guards import HeadGuard
from mud_assistant.assistant.gateway.http.listener import GatewayListener
from mud_assistant.assistant.gateway.http.response import ClientResponse
from mud_assistant.llm.dialects.failures import Failure
from tests.assistant.page.http.visiting import Got, parse

#: The most seconds of a test that waits for the network.
_SECONDS = 20.0
Answer = Callable[[ClientRequest, ClientResponse], Awaitable[None]]


async def echo(request: ClientRequest, response: ClientResponse) -> None:
    """Answer with what arrived."""
    body = orjson.dumps([request.method, request.path, request.query, len(request.body), request.credential])
    response.start(200, [(b"Content-Length", b"%d" % len(body))])
    response.write(body)
    response.finish()


@dataclass
class PlainHandler:
    """Answers as the test says; tells failures as JSON, and keeps what it was asked."""

    answer: Answer = echo
    asked: list[ClientRequest] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    #: Makes the headers of what is told of a failure.
    headers_of_failures: Callable[[], Any] = lambda: [(b"Content-Type", b"application/json")]

    async def handle(self, request: ClientRequest, response: ClientResponse) -> None:
        self.asked.append(request)
        try:
            await self.answer(request, response)
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        self.ended.append("")

    def refuse(
        self, path: str, headers: Mapping[str, str], failure: Failure
    ) -> tuple[int, Sequence[tuple[bytes, bytes]], bytes]:
        body = orjson.dumps({"kind": failure.kind.name, "said": failure.message, "path": path})
        return failure.kind.status, self.headers_of_failures(), body


class WireClient(Protocol):
    """Keeps what the server sends. One that `stays` does not close when the server has ended its side."""

    transport: Any

    def __init__(self, reactor: Any, *, stays: bool = False) -> None:
        self._reactor = reactor
        if stays:
            directlyProvides(self, IHalfCloseableProtocol)
        self.received = bytearray()
        self.is_closed = False

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def connectionLost(self, reason: Reason = connectionDone) -> None:
        self.is_closed = True

    def readConnectionLost(self) -> None:
        """The server has ended its side."""

    def writeConnectionLost(self) -> None:
        """Our side has ended."""

    def send(self, data: bytes) -> None:
        self.transport.write(data)

    async def got(self, what: bytes) -> None:
        await until(self._reactor, lambda: what in self.received or self.is_closed)
        assert what in self.received, bytes(self.received)

    async def closed(self) -> bytes:
        await until(self._reactor, lambda: self.is_closed)
        return bytes(self.received)


@dataclass
class Reached:
    """A listener that is reached over loopback."""

    reactor: Any
    clock: Clock
    handler: PlainHandler
    listener: GatewayListener
    bodies: BodyReader
    port: int
    clients: list[WireClient] = field(default_factory=list)

    async def connect(self, data: bytes = b"", *, stays: bool = False) -> WireClient:
        endpoint = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.port)
        client: WireClient = await connectProtocol(endpoint, WireClient(self.reactor, stays=stays))
        self.clients.append(client)
        client.send(data)
        return client

    async def send(self, raw: bytes) -> bytes:
        """Send bytes and return all that comes until the server closes."""
        return await (await self.connect(raw)).closed()

    async def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> Got:
        """Send one request of a connection of its own."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return parse(await self.send(request(method, target, {"connection": "close", **named}, body)))

    async def until(self, is_so: Callable[[], object]) -> None:
        await until(self.reactor, is_so)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and the network settle before and after."""
        await turns(self.reactor)
        self.clock.advance(seconds)
        await turns(self.reactor)


def request(method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    said: dict[str, str] = {"host": "localhost"}
    said |= {"content-length": str(len(body))} if body or method == "POST" else {}
    said |= headers
    lines = "".join(f"{name}: {value}\r\n" for name, value in said.items() if value)
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body


async def until(reactor: Any, is_so: Callable[[], object]) -> None:
    """Wait until something is so. Fails after many seconds of a network that should need none."""
    begun = reactor.seconds()
    while not is_so():
        assert reactor.seconds() - begun < _SECONDS, "it did not become so"
        await deferLater(reactor, 0.001)


async def turns(reactor: Any, number: int = 10) -> None:
    """Let the reactor turn, so that what was sent arrives."""
    for _ in range(number):
        await deferLater(reactor, 0.001)


def never() -> Deferred[None]:
    """Return what a provider that never answers would."""
    return Deferred()


@asynccontextmanager
async def reached(
    reactor: Any, answer: Answer = echo, hosts: Sequence[str] = (), origins: Sequence[str] = ()
) -> AsyncIterator[Reached]:
    """Listen on a free port until the block ends."""
    clock, handler, bodies, numbers = Clock(), PlainHandler(answer), BodyReader(reactor), count(1)
    guard = HeadGuard(hosts, origins)
    listener = GatewayListener(handler, guard, bodies, reactor, clock=clock, new_id=lambda: f"req_{next(numbers)}")
    port = listener.start(0).port
    here = Reached(reactor, clock, handler, listener, bodies, port)
    try:
        yield here
    finally:
        closing = listener.close()
        await turns(reactor)
        clock.advance(1)
        await closing
        bodies.close()
        for client in here.clients:
            client.transport.abortConnection()
        await turns(reactor, 2)
        assert (listener.connections, listener.held_bytes, len(listener)) == (0, 0, 0)
        assert clock.getDelayedCalls() == []
