"""Clients that read slower than a model writes: the provider is read no faster, and little is held."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_twisted
from twisted.internet.interfaces import IPullProducer
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from tests.assistant.gateway.asking import PATHS, body_of, connect, post, settle, unchunked
from tests.assistant.gateway.http.reached import turns, until
from tests.assistant.gateway.standing import Standing, reactor, standing

#: What may be held of one stream: what waits to be sent, and a piece that is being read.
MOST_HELD = 256 * 1024
READERS = 4
_EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}\n\n' % (b"x" * 4000)
_END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
LANES = ["chat", "messages"]  # forwarded and translated, before a server of Chat Completions


@implementer(IPullProducer)
class Fountain(Protocol):
    """A server that writes events as fast as they are read, as many as its factory says."""

    transport: Any
    factory: Any

    def __init__(self) -> None:
        self.written = 0
        self.is_closed = False
        self._seen = b""

    def dataReceived(self, data: bytes) -> None:
        self._seen += data
        if self._seen.startswith(b"GET"):
            self.transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            self._seen = b""
        elif self._seen.endswith(b"}") and not self.written:
            self.factory.streams.append(self)
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            self.transport.registerProducer(self, streaming=False)

    def resumeProducing(self) -> None:
        self.written += len(_EVENT)
        if self.written < self.factory.total:
            self.transport.write(_EVENT)
        else:
            self.transport.write(_END)
            self.transport.unregisterProducer()
            self.transport.loseConnection()

    def stopProducing(self) -> None:
        """Nobody reads any more."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.is_closed = True


class Fountains(Factory):
    noisy = False
    protocol = Fountain

    def __init__(self, total: int) -> None:
        self.total = total
        self.streams: list[Fountain] = []


@asynccontextmanager
async def flowing(folder: Path, total: int) -> AsyncIterator[tuple[Standing, Fountains]]:
    """A gateway before a server whose streams have this many bytes."""
    server = Fountains(total)
    port: Any = reactor.listenTCP(0, server, interface="127.0.0.1")
    try:
        more = {"url": f"http://127.0.0.1:{port.getHost().port}/v1"}
        async with standing(folder, [], more=more) as gateway:
            yield gateway, server
        await until(reactor, lambda: all(stream.is_closed for stream in server.streams))
    finally:
        await port.stopListening()
        await turns(reactor, 3)


def held(gateway: Standing) -> list[int]:
    """The bytes that wait to be sent to each client."""
    transports = [channel.transport for channel in gateway.gateway._listener._connections]
    return [one._tempDataLen + len(one.dataBuffer) - one.offset for one in transports]


@pytest.mark.parametrize("dialect", LANES)
@pytest_twisted.ensureDeferred
async def test_little_is_held_for_clients_that_do_not_read(tmp_path: Path, dialect: str) -> None:
    async with flowing(tmp_path, 50_000_000) as (gateway, server):
        body = post(PATHS[dialect], body_of(dialect))
        clients = [await connect(gateway) for _ in range(READERS)]
        for client in clients:
            client.transport.pauseProducing()
            client.send(body)
        await until(reactor, lambda: len(server.streams) == 3)
        seen = 0
        while seen != (seen := sum(stream.written for stream in server.streams)) or not seen:
            await turns(reactor, 40)
            assert max(held(gateway)) < MOST_HELD
        assert all(0 < stream.written < 40_000_000 for stream in server.streams), "the provider is not read to its end"
        for client in clients:
            client.transport.abortConnection()
        await settle(gateway)
        await until(reactor, lambda: all(stream.is_closed for stream in server.streams))


@pytest.mark.parametrize("dialect", LANES)
@pytest_twisted.ensureDeferred
async def test_a_client_that_pauses_gets_everything(tmp_path: Path, dialect: str) -> None:
    async with flowing(tmp_path, 3_000_000) as (gateway, _):
        client = await connect(gateway, post(PATHS[dialect], body_of(dialect), connection="close"))
        while not client.is_closed:
            client.transport.pauseProducing()
            await turns(reactor, 1)
            assert max(held(gateway), default=0) < MOST_HELD
            client.transport.resumeProducing()
            await turns(reactor, 2)
        got = unchunked(bytes(client.received).partition(b"\r\n\r\n")[2])
        number = -(-3_000_000 // len(_EVENT)) - 1
        if dialect == "chat":
            assert got == _EVENT * number + _END
        else:
            lines = [orjson.loads(line[6:]) for line in got.split(b"\n") if b"text_delta" in line]
            assert "".join(line["delta"]["text"] for line in lines) == "x" * 4000 * number
