"""Every fault over real sockets: what our own client makes of it, and what a bare socket sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectionDone
from twisted.internet.error import ConnectionLost as WasReset
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Site

from mud_assistant.resilience import Collected, ConnectionLost, HttpExchange, Limits, Request, TimedOut
from mud_assistant.resilience.testing import (
    PASS,
    Bandwidth,
    Fault,
    FaultProxy,
    Faults,
    Hang,
    HangAfter,
    HtmlPage,
    Latency,
    Refuse,
    Reset,
    Slicer,
    SlowClose,
    Truncate,
    always,
    proxied,
)

reactor: Any = _reactor
BODY = b"0123456789" * 300
GENEROUS = Limits(5, 5, 5)
SHORT = Limits(5, 0.1, 0.1)


class Model(Resource):
    """A server that behaves. It keeps what it was asked; `closes` makes it end its answers with the connection."""

    isLeaf = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted 24.11 has no types here
        self.asked: list[bytes] = []
        self.answer = BODY
        self.closes = False

    def render(self, request: Any) -> bytes:
        self.asked.append(request.content.read())
        if self.closes:
            request.setHeader("Connection", "close")
        return self.answer


@dataclass
class Rig:
    """A model, the proxy before it, and our client; `exchange` is replaced to change the limits."""

    model: Model
    proxy: FaultProxy
    exchange: HttpExchange

    async def ask(self, body: bytes = b"{}") -> Collected:
        """The whole response to a POST."""
        sink = Collected()
        await self.exchange.perform(Request("POST", f"{self.proxy.url}/chat", Headers(), body), sink)
        return sink

    async def raw(self, *requests: bytes) -> Bare:
        """A bare connection that has sent these bytes."""
        bare = Bare()
        port = int(self.proxy.url.split(":")[2].split("/")[0])
        await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", port), bare)
        for request in requests:
            bare.send(request)
        return bare


class Bare(Protocol):
    """A connection without HTTP: `received` bytes, `lost` with the reason of the end, `saw` some bytes."""

    transport: Any

    def __init__(self) -> None:
        self.received = b""
        self.lost: Deferred[Any] = Deferred()
        self._watched: list[tuple[bytes, Deferred[None]]] = []

    def send(self, data: bytes) -> None:
        self.transport.write(data)

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        self._look()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.lost.callback(type(reason.value))

    def saw(self, data: bytes) -> Deferred[None]:
        seen: Deferred[None] = Deferred()
        self._watched.append((data, seen))
        self._look()
        return seen

    def _look(self) -> None:
        due = [entry for entry in self._watched if entry[0] in self.received]
        self._watched = [entry for entry in self._watched if entry not in due]
        for _, seen in due:
            seen.callback(None)


GET = b"GET /v1/chat HTTP/1.1\r\nHost: model\r\n\r\n"


@asynccontextmanager
async def rigged(fault: Fault = PASS, limits: Limits = GENEROUS) -> AsyncIterator[Rig]:
    model = Model()
    site = Site(model)
    site.noisy = False
    port = reactor.listenTCP(0, site, backlog=1024, interface="127.0.0.1")
    exchange = HttpExchange(reactor, limits)
    try:
        async with proxied(f"http://127.0.0.1:{port.getHost().port}/v1", reactor, always(fault)) as proxy:
            yield Rig(model, proxy, exchange)
            await exchange.close()
        assert proxy.open_connections == 0
        assert len(proxy.servers) == 0
    finally:
        await exchange.close()
        await port.stopListening()


@pytest.mark.parametrize(
    "fault",
    [
        PASS,
        Latency(0.02, 0.01),
        Bandwidth(1_000_000),
        SlowClose(0.01),
        Slicer(100, 0.001),
        Slicer(1),
        HangAfter(100_000),
        Reset(100_000),
        Truncate(100_000),
        Faults(Latency(0.01), Bandwidth(1_000_000), Slicer(50)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("closes", [False, True])
async def test_a_bearable_fault_lets_the_whole_answer_through(fault: Fault, closes: bool) -> None:
    async with rigged(fault) as rig:
        rig.model.closes = closes
        for body in (b"one", b"two" * 100_000, b""):
            sink = await rig.ask(body)
            assert (sink.status, sink.body) == (200, BODY)
        assert rig.model.asked == [b"one", b"two" * 100_000, b""]
        assert [(record.index, record.fault, record.error) for record in rig.proxy.requests] == [
            (index, fault, "") for index in range(3)
        ]
        assert all(record.sent_bytes > len(BODY) for record in rig.proxy.requests)
        times = [record.at for record in rig.proxy.requests]
        assert times == sorted(times)


async def test_slices_arrive_as_slices() -> None:
    class Counted(Collected):
        pieces = 0

        def data(self, piece: bytes) -> bool:
            self.pieces += 1
            return super().data(piece)

    async with rigged(Slicer(100, 0.002)) as rig:
        sink = Counted()
        await rig.exchange.perform(Request("GET", rig.proxy.url, Headers()), sink)
        assert sink.body == BODY
        assert sink.pieces > 3


@pytest.mark.parametrize("fault", [Latency(60), Bandwidth(10), Hang(), HangAfter(0), HangAfter(10)], ids=repr)
async def test_an_unbearable_wait_ends_at_our_own_limit(fault: Fault) -> None:
    async with rigged(fault, SHORT) as rig:
        with pytest.raises(TimedOut) as caught:
            await rig.ask()
        assert caught.value.phase == "first byte"


async def test_a_silence_within_the_body_is_an_idle_server() -> None:
    async with rigged(HangAfter(1000), Limits(5, 5, 0.1)) as rig:
        sink = Collected()
        with pytest.raises(TimedOut) as caught:
            await rig.exchange.perform(Request("GET", rig.proxy.url, Headers()), sink)
        assert caught.value.phase == "idle"
        assert 500 < len(sink.body) < 1000
        assert rig.proxy.requests[0].sent_bytes == 1000


async def test_a_slow_close_delays_an_answer_that_ends_with_the_connection() -> None:
    async with rigged(SlowClose(60), Limits(5, 5, 0.1)) as rig:
        request = b"GET / HTTP/1.0\r\n\r\n"
        bare = await rig.raw(request)
        await bare.saw(BODY)
        assert rig.proxy.open_connections == 1
        assert not bare.lost.called
        rig.proxy.plan = always(SlowClose(0.02))
        bare = await rig.raw(request)
        assert await bare.lost is ConnectionDone
        assert bare.received.endswith(BODY)


@pytest.mark.parametrize("fault", [Hang(), Refuse(), Reset(), Truncate(0), HtmlPage()], ids=repr)
async def test_what_needs_no_server_asks_none(fault: Fault) -> None:
    async with rigged(fault, SHORT) as rig:
        if isinstance(fault, HtmlPage):
            await rig.ask()
        else:
            with pytest.raises((ConnectionLost, TimedOut)):
                await rig.ask()
        assert rig.model.asked == []


@pytest.mark.parametrize("after", [0, 1, 10, 1000])
@pytest.mark.parametrize(("kind", "seen"), [(Reset, WasReset), (Truncate, ConnectionDone)])
async def test_a_cut_arrives_as_such_after_its_bytes(kind: Any, seen: type[BaseException], after: int) -> None:
    async with rigged(kind(after)) as rig:
        with pytest.raises(ConnectionLost) as caught:
            await rig.ask()
        assert caught.value.began == (after == 1000)
        assert len(rig.model.asked) == (after > 0)
        bare = await rig.raw(GET)
        assert await bare.lost is seen
        assert len(bare.received) == after
        assert [record.sent_bytes for record in rig.proxy.requests] == [after, after]


async def test_a_refused_connection_is_closed_without_a_byte() -> None:
    async with rigged(Refuse()) as rig:
        with pytest.raises(ConnectionLost) as caught:
            await rig.ask()
        assert not caught.value.began
        bare = await rig.raw(GET)
        assert await bare.lost is ConnectionDone
        assert bare.received == b""
