"""treq over the exchange, against real sockets on loopback: it does what it does over Twisted's `Agent`, in limits."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_twisted
import treq
from treq.client import HTTPClient
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from twisted.web.client import FileBodyProducer, ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import UNKNOWN_LENGTH, IAgent, IResponse
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site
from zope.interface.verify import verifyObject

from mud_assistant.resilience import (
    BodyTooLarge,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    HttpExchange,
    Limits,
    TimedOut,
)
from mud_assistant.resilience.http.agent import HttpAgent

reactor: Any = _reactor
LIMITS = Limits(2, 2, 2, 500_000)
QUICK = Limits(1, 0.1, 0.1, 500_000)
BIG = b"x" * 400_000


class Echo(Resource):
    """Answers each path in its own way."""

    isLeaf = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted's
        self.paths: list[str] = []
        self.open: list[Any] = []
        self.ports: set[int] = set()

    def render(self, request: Any) -> Any:
        path = request.path.decode()
        self.paths.append(path)
        return getattr(self, path.strip("/"))(request)

    def echo(self, request: Any) -> bytes:
        headers = {name.decode(): values[0].decode() for name, values in request.requestHeaders.getAllRawHeaders()}
        request.setHeader("content-type", "application/json")
        sent = {"method": request.method.decode(), "headers": headers, "body": request.content.read().decode()}
        return json.dumps({**sent, "uri": request.uri.decode()}).encode()

    def redirect(self, request: Any) -> bytes:
        request.redirect(b"/echo")
        return b"moved, " * 50_000

    def cookie(self, request: Any) -> bytes:
        request.addCookie("tea", "green", path="/")
        return b""

    def packed(self, request: Any) -> bytes:
        request.setHeader("content-encoding", "gzip")
        return gzip.compress(b"tea " * 1000)

    def big(self, request: Any) -> bytes:
        return BIG

    def port(self, request: Any) -> bytes:
        self.ports.add(request.transport.getPeer().port)
        return b"some"

    def empty(self, request: Any) -> bytes:
        request.setResponseCode(204)
        return b""

    def toomuch(self, request: Any) -> bytes:
        return BIG + BIG

    def silent(self, request: Any) -> Any:
        self.open.append(request)
        return NOT_DONE_YET

    def stalls(self, request: Any) -> Any:
        self.open.append(request)
        request.write(b"some")
        return NOT_DONE_YET

    def breaks(self, request: Any) -> Any:
        request.setHeader("content-length", "100")
        request.write(b"some")
        request.channel.loseConnection()
        return NOT_DONE_YET

    def old(self, request: Any) -> Any:
        request.channel.transport.write(b"HTTP/1.0 200 OK\r\n\r\nold")
        request.channel.transport.loseConnection()
        return NOT_DONE_YET


class Taker(Protocol):
    """Takes a body, and can let it wait."""

    def __init__(self, *, paused: bool = False) -> None:
        self.paused = paused
        self.body = b""
        self.ended: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        if self.paused:
            self.transport.pauseProducing()  # type: ignore[union-attr]  # a transport of a body

    def dataReceived(self, data: bytes) -> None:
        self.body += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.reason = reason
        self.ended.callback(None)


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[str, Echo]]:
    site = Echo()
    port = reactor.listenTCP(0, Site(site), interface="127.0.0.1")
    try:
        yield f"http://127.0.0.1:{port.getHost().port}", site
    finally:
        for request in site.open:
            if request.channel is not None:
                request.channel.forceAbortClient()
        await port.stopListening()


@pytest.fixture
def exchange() -> Iterator[HttpExchange]:
    made = HttpExchange(reactor, LIMITS)
    yield made
    pytest_twisted.blockon(made.close())


@pytest.fixture
def client(exchange: HttpExchange) -> HTTPClient:
    return HTTPClient(HttpAgent(exchange, reactor, LIMITS))


def idle(exchange: HttpExchange) -> HttpAgent:
    return HttpAgent(exchange, reactor, QUICK)


async def turns(seconds: float = 0.05) -> None:
    await deferLater(reactor, seconds)


async def test_get_and_its_response(client: HTTPClient) -> None:
    async with serving() as (url, _):
        response = await client.get(f"{url}/echo", params={"a": "b c"}, headers=Headers({"X-Tea": ["green"]}))
        got = await response.json()
        assert (got["method"], got["uri"], got["headers"]["X-Tea"]) == ("GET", "/echo?a=b+c", "green")
        assert got["headers"]["Host"] == url.removeprefix("http://")
        assert (response.code, response.phrase, response.version) == (200, b"OK", (b"HTTP", 1, 1))
        assert response.length == len(await response.content())
        assert response.request.absoluteURI == f"{url}/echo?a=b+c".encode()


async def test_what_it_provides(exchange: HttpExchange) -> None:
    agent = HttpAgent(exchange, reactor, LIMITS)
    async with serving() as (url, _):
        response = await agent.request(b"GET", f"{url}/echo".encode())
        assert verifyObject(IAgent, agent)
        assert verifyObject(IResponse, response)
        taker = Taker()
        response.deliverBody(taker)
        assert verifyObject(IPushProducer, taker.transport)
        await taker.ended
        assert taker.reason.check(ResponseDone)
        with pytest.raises(RuntimeError, match="delivered before"):
            response.deliverBody(Taker())


@pytest.mark.parametrize("method", ["post", "put", "patch"])
async def test_a_body_that_is_sent(client: HTTPClient, method: str) -> None:
    async with serving() as (url, _):
        got = await (await getattr(client, method)(f"{url}/echo", json={"tea": 1})).json()
        assert (got["method"], json.loads(got["body"])) == (method.upper(), {"tea": 1})
        assert got["headers"]["Content-Type"].startswith("application/json")
        got = await (await getattr(client, method)(f"{url}/echo", data={"tea": "green"})).json()
        assert got["body"] == "tea=green"
        got = await (
            await client.post(
                f"{url}/echo", files={"leaf": ("leaf.txt", "text/plain", FileBodyProducer(io.BytesIO(b"green")))}
            )
        ).json()
        assert "green" in got["body"]


async def test_too_long_a_body_is_not_sent(exchange: HttpExchange) -> None:
    class Unsized(FileBodyProducer):
        def __init__(self, data: bytes) -> None:
            super().__init__(io.BytesIO(data))  # type: ignore[no-untyped-call]  # Twisted's
            self.length = UNKNOWN_LENGTH

    agent = HttpAgent(exchange, reactor, LIMITS, max_request_bytes=100_000)
    async with serving() as (url, site):
        for producer in (FileBodyProducer(io.BytesIO(BIG)), Unsized(BIG)):
            with pytest.raises(ValueError, match="a request has at most 100000 bytes"):
                await agent.request(b"POST", f"{url}/echo".encode(), None, producer)
        assert site.paths == []


async def test_a_producer_that_fails_is_the_error(exchange: HttpExchange) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("the disk is gone")

    async with serving() as (url, site):
        with pytest.raises(OSError, match="the disk is gone"):
            await HttpAgent(exchange, reactor).request(
                b"POST", f"{url}/echo".encode(), Headers(), FileBodyProducer(Broken(b"some"))
            )
        assert site.paths == []


async def test_a_redirect_and_its_history(client: HTTPClient, exchange: HttpExchange) -> None:
    async with serving() as (url, site):
        response = await client.get(f"{url}/redirect")
        assert (await response.json())["uri"] == "/echo"
        assert [before.code for before in response.history()] == [302]
        assert site.paths == ["/redirect", "/echo"]
        stays = await client.get(f"{url}/redirect", allow_redirects=False)
        assert (stays.code, await stays.content()) == (302, b"")


async def test_a_cookie_goes_back(client: HTTPClient) -> None:
    async with serving() as (url, _):
        await client.get(f"{url}/cookie")
        assert (await (await client.get(f"{url}/echo")).json())["headers"]["Cookie"] == "tea=green"


async def test_basic_authentication(client: HTTPClient) -> None:
    async with serving() as (url, _):
        got = await (await client.get(f"{url}/echo", auth=("anna", "tea"))).json()
        assert got["headers"]["Authorization"] == "Basic YW5uYTp0ZWE="


async def test_a_packed_body_is_unpacked(client: HTTPClient) -> None:
    async with serving() as (url, _):
        response = await client.get(f"{url}/packed")
        assert await response.text() == "tea " * 1000


async def test_a_long_body_comes_in_pieces(client: HTTPClient) -> None:
    pieces: list[bytes] = []
    async with serving() as (url, _):
        await treq.collect(await client.get(f"{url}/big", unbuffered=True), pieces.append)
    assert len(pieces) > 1
    assert b"".join(pieces) == BIG


@pytest.mark.parametrize("path", ["empty", "echo"])
async def test_a_response_without_a_body(client: HTTPClient, path: str) -> None:
    async with serving() as (url, _):
        response = await client.head(f"{url}/{path}")
        assert (response.length, await response.content()) == (0, b"")


async def test_a_body_that_ends_with_its_connection(exchange: HttpExchange) -> None:
    async with serving() as (url, _):
        response = await HttpAgent(exchange, reactor, LIMITS).request(b"GET", f"{url}/old".encode())
        assert response.length is UNKNOWN_LENGTH
        taker = Taker()
        response.deliverBody(taker)
        await taker.ended
        assert (taker.body, taker.reason.check(PotentialDataLoss)) == (b"old", PotentialDataLoss)
        assert await treq.content(await HTTPClient(HttpAgent(exchange, reactor)).get(f"{url}/old")) == b"old"


async def test_the_server_waits_while_nobody_takes_the_body(exchange: HttpExchange) -> None:
    async with serving() as (url, _):
        response = await HttpAgent(exchange, reactor, LIMITS).request(b"GET", f"{url}/big".encode())
        await turns()
        taker = Taker(paused=True)
        response.deliverBody(taker)
        await turns()
        assert taker.body == b""
        taker.transport.resumeProducing()  # type: ignore[union-attr]  # a transport of a body
        await taker.ended
        assert taker.body == BIG


@pytest.mark.parametrize("paused", [False, True])
async def test_a_body_that_nobody_takes_ends_its_exchange(exchange: HttpExchange, paused: bool) -> None:
    async with serving() as (url, _):
        response = await idle(exchange).request(b"GET", f"{url}/big".encode())
        taker = Taker(paused=True)
        if paused:
            response.deliverBody(taker)
        await turns(0.2)
        if not paused:
            response.deliverBody(taker)
        await taker.ended
        assert isinstance(taker.reason.value, TimedOut)
        assert taker.reason.value.message.startswith("nobody took what http://127.0.0.1:")


async def test_errors_before_the_response(exchange: HttpExchange) -> None:
    client = HTTPClient(idle(exchange))
    async with serving() as (url, _):
        with pytest.raises(TimedOut, match="did not answer within"):
            await client.get(f"{url}/silent")
    with pytest.raises(ConnectFailed):
        await HTTPClient(HttpAgent(exchange, reactor, LIMITS)).get(f"{url}/echo")
    for wrong in (b"ftp://game.example/", b"http://", b"http://game.example/\xff"):
        with pytest.raises(ValueError, match=r".+"):
            await idle(exchange).request(b"GET", wrong)


@pytest.mark.parametrize(
    ("path", "limits", "error"),
    [("stalls", QUICK, TimedOut), ("breaks", LIMITS, ConnectionLost), ("toomuch", LIMITS, BodyTooLarge)],
)
async def test_errors_in_the_body(exchange: HttpExchange, path: str, limits: Limits, error: type[Exception]) -> None:
    async with serving() as (url, _):
        response = await HTTPClient(HttpAgent(exchange, reactor, limits)).get(f"{url}/{path}")
        with pytest.raises(error):
            await response.content()


async def test_all_of_it_takes_no_longer_than_its_time(exchange: HttpExchange) -> None:
    client = HTTPClient(HttpAgent(exchange, reactor, LIMITS, total_seconds=0.1))
    async with serving() as (url, _):
        with pytest.raises(DeadlineExceeded):
            await client.get(f"{url}/silent")
        with pytest.raises(DeadlineExceeded):
            await (await client.get(f"{url}/stalls")).content()


async def test_cancelling_closes_the_connection(exchange: HttpExchange) -> None:
    async with serving() as (url, site):
        asked = HTTPClient(HttpAgent(exchange, reactor)).get(f"{url}/silent")
        await turns()
        closed = site.open[0].notifyFinish()
        asked.cancel()
        with pytest.raises(CancelledError):
            await asked
        with pytest.raises(Exception, match=r"Connection|connection"):
            await closed


async def test_a_collector_that_fails_closes_the_connection(exchange: HttpExchange) -> None:
    def refuses(_: bytes) -> None:
        raise LookupError("no tea")

    async with serving() as (url, site):
        response = await HTTPClient(HttpAgent(exchange, reactor)).get(f"{url}/stalls", unbuffered=True)
        closed = site.open[0].notifyFinish()
        with pytest.raises(LookupError, match="no tea"):
            await treq.collect(response, refuses)
        with pytest.raises(Exception, match=r"Connection|connection"):
            await closed


async def test_a_protocol_that_fails_at_the_end_is_logged(exchange: HttpExchange, flush_failures: Any) -> None:
    class Broken(Taker):
        def connectionLost(self, reason: Failure = connectionDone) -> None:
            super().connectionLost(reason)
            raise LookupError("no tea")

    async with serving() as (url, _):
        response = await HttpAgent(exchange, reactor).request(b"GET", f"{url}/echo".encode())
        taker = Broken()
        response.deliverBody(taker)
        await taker.ended
    assert len(flush_failures(LookupError)) == 1


async def test_connections_are_used_again(client: HTTPClient) -> None:
    async with serving() as (url, site):
        for _ in range(3):
            await (await client.get(f"{url}/port")).content()
        assert len(site.ports) == 1
