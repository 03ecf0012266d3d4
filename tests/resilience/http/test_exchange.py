"""The exchange against real sockets on loopback: every phase has its limit and every end its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_twisted
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.web.client import URI
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from mud_assistant.resilience import (
    BodyTooLarge,
    Collected,
    ConnectFailed,
    ConnectionLost,
    HttpExchange,
    Limits,
    Request,
    TimedOut,
    host_of,
    origin_of,
)
from mud_assistant.resilience.http.endpoints import Endpoints
from mud_assistant.resilience.http.request import target_of
from mud_assistant.resilience.http.response import MAX_HEAD_BYTES
from tests.resilience.http.serving import OK, Server, reactor, serving


@pytest.fixture
def exchange() -> Iterator[HttpExchange]:
    made = HttpExchange(reactor, Limits(2, 2, 2, 1000))
    yield made
    pytest_twisted.blockon(made.close())


def get(server: Server) -> Request:
    return Request("GET", f"{server.url}secret/path?key=hidden", Headers({"Authorization": ["Bearer planted-key"]}))


def send(*chunks: bytes) -> Callable[[Any], object]:
    return lambda transport: transport.writeSequence(chunks)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://api.openai.com/v1", "api.openai.com"),
        ("https://api.openai.com:443/v1", "api.openai.com"),
        ("http://127.0.0.1:11434", "127.0.0.1:11434"),
        ("http://127.0.0.1:80/", "127.0.0.1"),
        ("https://game.example:80/", "game.example:80"),
        ("http://[::1]:8080/v1", "[::1]:8080"),
        ("https://user:word@game.example/", "game.example"),
        ("http://game.example:port/", "game.example"),
    ],
)
def test_what_the_host_header_says(url: str, host: str) -> None:
    assert host_of(url) == host


class Pieces(Collected):
    """A sink that remembers how its bytes came."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def data(self, piece: bytes) -> bool:
        self.sizes.append(len(piece))
        return super().data(piece)


async def test_the_chunks_of_one_read_come_in_one_piece(exchange: HttpExchange) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"4\r\n%04d\r\n" % number for number in range(50)) + b"0\r\n\r\n"
    async with serving(send(head, body)) as server:
        sink = Pieces()
        await exchange.perform(get(server), sink)
    assert sink.body == b"".join(b"%04d" % number for number in range(50))
    assert sink.sizes == [200]


async def test_a_whole_answer(exchange: HttpExchange) -> None:
    async with serving(send(OK)) as server:
        sink = Collected()
        await exchange.perform(get(server), sink)
        assert (sink.status, sink.body) == (200, b"hello")


async def test_a_connection_is_used_again(exchange: HttpExchange) -> None:
    async with serving(send(OK)) as server:
        for _ in range(3):
            await exchange.perform(get(server), Collected())
        assert len(server.connections) == 1


async def test_the_request_body_is_counted_in_bytes(exchange: HttpExchange) -> None:
    async with serving(send(OK)) as server:
        body = "Grüße".encode()
        await exchange.perform(Request("POST", server.url, Headers(), body), Collected())
        assert b"Content-Length: 7" in server.received
        assert server.received.endswith(body)


async def test_a_close_delimited_body_is_complete(exchange: HttpExchange) -> None:
    def answer(transport: Any) -> None:
        transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it")
        transport.loseConnection()

    async with serving(answer) as server:
        sink = Collected()
        await exchange.perform(get(server), sink)
        assert sink.body == b"all of it"


async def test_a_body_cut_short_is_lost_after_it_began(exchange: HttpExchange) -> None:
    def answer(transport: Any) -> None:
        transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")
        transport.loseConnection()

    async with serving(answer) as server:
        with pytest.raises(ConnectionLost) as caught:
            await exchange.perform(get(server), Collected())
        assert caught.value.began


async def test_no_answer_at_all_is_lost_before_it_began(exchange: HttpExchange) -> None:
    async with serving(lambda transport: transport.abortConnection()) as server:
        with pytest.raises(ConnectionLost) as caught:
            await exchange.perform(get(server), Collected())
        assert not caught.value.began


async def test_93_a_kept_connection_that_the_server_closes_is_replaced_once(exchange: HttpExchange) -> None:
    def close_when_used_again(transport: Any) -> None:
        if answers.get(transport):
            transport.abortConnection()
        else:
            answers[transport] = True
            transport.write(OK)

    answers: dict[object, bool] = {}
    async with serving(close_when_used_again) as server:
        for _ in range(3):
            sink = Collected()
            await exchange.perform(get(server), sink)
            assert sink.body == b"hello"
        assert len(server.connections) == 3


async def test_93_a_fresh_connection_that_the_server_closes_is_not_tried_again(exchange: HttpExchange) -> None:
    async with serving(lambda transport: transport.abortConnection()) as server:
        with pytest.raises(ConnectionLost):
            await exchange.perform(get(server), Collected())
        assert len(server.connections) == 1


async def test_a_closed_port_cannot_be_connected_to(exchange: HttpExchange) -> None:
    async with serving(send(OK)) as server:
        url = server.url
    with pytest.raises(ConnectFailed) as caught:
        await exchange.perform(Request("GET", url, Headers()), Collected())
    assert "127.0.0.1" in str(caught.value)


async def test_silence_before_the_head_times_out_and_closes() -> None:
    exchange = HttpExchange(reactor, Limits(2, 0.05, 2, 1000))
    async with serving(lambda transport: None) as server:
        with pytest.raises(TimedOut) as caught:
            await exchange.perform(get(server), Collected())
        assert caught.value.phase == "first byte"
        await server.all_gone()
    await exchange.close()


async def test_silence_within_the_body_times_out_and_closes() -> None:
    exchange = HttpExchange(reactor, Limits(2, 2, 0.05, 1000))
    async with serving(send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")) as server:
        with pytest.raises(TimedOut) as caught:
            await exchange.perform(get(server), Collected())
        assert caught.value.phase == "idle"
        await server.all_gone()
    await exchange.close()


async def test_a_body_over_the_cap_is_cut_off(exchange: HttpExchange) -> None:
    async with serving(send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", b"x" * 5000)) as server:
        with pytest.raises(BodyTooLarge) as caught:
            await exchange.perform(get(server), Collected())
        assert caught.value.limit_bytes == 1000
        await server.all_gone()


@pytest.mark.parametrize("line", [b"X-Pad: " + b"x" * 1000 + b"\r\n", b"X: y\r\n"])
async def test_a_head_without_end_is_cut_off(exchange: HttpExchange, line: bytes) -> None:
    async with serving(send(b"HTTP/1.1 200 OK\r\n", line * (2 * MAX_HEAD_BYTES // len(line)))) as server:
        with pytest.raises(BodyTooLarge, match="head"):
            await exchange.perform(get(server), Collected())
        await server.all_gone()


async def test_the_limit_of_the_head_is_no_limit_of_the_body_and_counts_anew_each_time() -> None:
    big = b"HTTP/1.1 200 OK\r\nX-Pad: " + b"x" * 15_000 + b"\r\nContent-Length: 500000\r\n\r\n" + b"x" * 500_000
    exchange = HttpExchange(reactor, Limits(2, 2, 2))
    async with serving(send(*(big[at : at + 999] for at in range(0, len(big), 999)))) as server:
        for _ in range(20):
            sink = Collected()
            await exchange.perform(get(server), sink)
            assert len(sink.body) == 500_000
        assert len(server.connections) == 1
    await exchange.close()


class Enough(Collected):
    """Has all it needs after the first piece."""

    def data(self, piece: bytes) -> bool:
        super().data(piece)
        return True


async def test_a_satisfied_reader_does_not_wait_for_the_end_of_the_body(exchange: HttpExchange) -> None:
    """Edge case 33: after the end mark the connection may stay open; it is closed, not used again."""
    async with serving(send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")) as server:
        sink = Enough()
        await exchange.perform(get(server), sink)
        assert sink.body == b"half"
        await server.all_gone()


@pytest.mark.parametrize("where", ["head", "data"])
async def test_what_the_reader_raises_ends_the_exchange(exchange: HttpExchange, where: str) -> None:
    class Refusing(Collected):
        def head(self, status: int, headers: Headers) -> None:
            if where == "head":
                raise KeyError("head")

        def data(self, piece: bytes) -> bool:
            raise KeyError("data")

    async with serving(send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")) as server:
        with pytest.raises(KeyError, match=where):
            await exchange.perform(get(server), Refusing())
        await server.all_gone()


@pytest.mark.parametrize("begun", [False, True])
async def test_cancelling_closes_the_connection(exchange: HttpExchange, begun: bool) -> None:
    reached: Deferred[None] = Deferred()

    def answer(transport: Any) -> None:
        if begun:
            transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")
        reactor.callLater(0.05, reached.callback, None)

    async with serving(answer) as server:
        running = Deferred.fromCoroutine(exchange.perform(get(server), Collected()))
        await reached
        running.cancel()
        with pytest.raises(CancelledError):
            await running
        await server.all_gone()


def test_one_endpoint_and_so_one_tls_context_per_origin() -> None:
    """A context per request costs 10 ms each."""
    endpoints = Endpoints(reactor, 5, None)
    first = endpoints.get(target_of("https://example.org/a"))
    assert endpoints.get(target_of("https://example.org/b")) is first
    assert endpoints.get(target_of("https://example.org:444/a")) is not first


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://api.example.org/v1/x?key=s", "https://api.example.org"),
        ("http://user:pass@127.0.0.1:99/x", "http://127.0.0.1:99"),
        ("http://host:port/", "http://host"),
    ],
)
def test_an_origin_shows_no_path_query_or_credential(url: str, origin: str) -> None:
    assert origin_of(url) == origin


async def test_no_error_and_no_repr_shows_a_key_or_a_path(exchange: HttpExchange) -> None:
    async with serving(lambda transport: transport.abortConnection()) as server:
        request = get(server)
        with pytest.raises(ConnectionLost) as caught:
            await exchange.perform(request, Collected())
        shown = f"{caught.value} {caught.value!r} {request!r}"
        assert "planted-key" not in shown
        assert "secret" not in shown
        assert "hidden" not in shown


@implementer(IAgentEndpointFactory)
class OneEndpoint:
    """Sends every request to one port, whatever the URL says."""

    def __init__(self, port: int) -> None:
        self._port = port

    def endpointForURI(self, uri: URI) -> HostnameEndpoint:
        return HostnameEndpoint(reactor, "127.0.0.1", self._port)


async def test_endpoints_of_the_callers_own_decide_where_to_and_keep_no_connection() -> None:
    async with serving(lambda transport: transport.write(OK)) as server:
        port = urlsplit(server.url).port or 0
        exchange = HttpExchange(reactor, Limits(2, 2, 2), endpoints=OneEndpoint(port))
        for _ in range(2):
            sink = Collected()
            await exchange.perform(Request("GET", "http://elsewhere.example/", Headers()), sink)
            assert sink.body == b"hello"
            assert sink.headers.getRawHeaders("content-length") == ["5"]
        assert len(server.connections) == 2
        assert b"Host: elsewhere.example" in server.received
