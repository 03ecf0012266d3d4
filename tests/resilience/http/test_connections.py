"""Connections against real sockets on loopback: what they refuse, and when they are used again."""

from __future__ import annotations

from collections.abc import Iterator
from socket import SHUT_WR
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred
from twisted.internet.main import CONNECTION_LOST
from twisted.internet.tcp import Client

from mud_assistant.resilience import BodyTooLarge, ConnectionLost, HttpExchange, Limits, TimedOut
from mud_assistant.resilience.http.response import MAX_HEAD_BYTES
from tests.resilience.http.serving import CHUNKED, OK, ask, serving, turn

reactor: Any = _reactor
pytestmark = pytest.mark.usefixtures("reactor_baseline")
BIG = b"x" * 20_000_000


@pytest.fixture
def exchange() -> Iterator[HttpExchange]:
    made = HttpExchange(reactor, Limits(2, 2, 2, 1_000_000))
    yield made
    pytest_twisted.blockon(made.close())


# What may come before, after and instead of the answer.


@pytest.mark.parametrize("status", [b"100 Continue", b"103 Early Hints", b"102 Processing", b"199 X"])
@pytest.mark.parametrize("count", [1, 3])
async def test_interim_responses_are_skipped(exchange: HttpExchange, status: bytes, count: int) -> None:
    async with serving((b"HTTP/1.1 %b\r\nLink: </x>\r\n\r\n" % status) * count + OK) as server:
        for _ in range(2):
            sink = await ask(exchange, server)
            assert (sink.status, sink.body, sink.headers.hasHeader("link")) == (200, b"hello", False)
        assert len(server.connections) == 1


async def test_interim_responses_without_end_are_cut_off(exchange: HttpExchange) -> None:
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    async with serving(hint * (2 * MAX_HEAD_BYTES // len(hint))) as server:
        with pytest.raises(BodyTooLarge, match="head"):
            await ask(exchange, server)
        await server.all_gone()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 X\r\n\r\n",
        b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 150 X\r\nContent-Length: 5\r\n\r\nhello" + OK,
        b"SSH-2.0-OpenSSH\r\n",
    ],
)
async def test_what_is_no_answer_is_refused(exchange: HttpExchange, answer: bytes) -> None:
    async with serving(answer) as server:
        with pytest.raises(ConnectionLost, match="not HTTP") as caught:
            await ask(exchange, server)
        assert not caught.value.began
        await server.all_gone()
        assert len(server.connections) == 1


@pytest.mark.parametrize(
    ("method", "answer", "body", "connections"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"", 2),
        ("HEAD", OK, b"", 2),
        ("HEAD", CHUNKED, b"", 2),
        ("GET", b"HTTP/1.1 204 No\r\n\r\n", b"", 1),
        ("GET", b"HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n", b"", 1),
        ("GET", b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello", 2),
        ("GET", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", b"hello", 1),
        ("GET", b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", b"hello", 2),
        ("GET", OK + b"more", b"hello", 2),
        ("GET", OK + b"\r\n", b"hello", 2),
        ("GET", OK + OK, b"hello", 2),
        ("GET", CHUNKED + b"5\r\nhello\r\n0\r\nX: y\r\n\r\n", b"hello", 1),
    ],
)
async def test_when_a_connection_is_used_again(
    exchange: HttpExchange, method: str, answer: bytes, body: bytes, connections: int
) -> None:
    async with serving(answer) as server:
        for _ in range(2):
            assert (await ask(exchange, server, method)).body == body
        assert len(server.connections) == connections
        if connections == 2:
            await server.all_gone()


STALE = OK.replace(b"hello", b"stale")


@pytest.mark.parametrize("late", [STALE, STALE[:20], b"\r\n", b"H", b""])
async def test_what_waits_in_a_kept_connection_is_no_answer(exchange: HttpExchange, late: bytes) -> None:
    """It came while the process was busy, so the reactor has not read it. Without bytes it is the end."""
    async with serving(OK) as server:
        assert (await ask(exchange, server)).body == b"hello"
        sent: Any = server.connections[0].transport
        if late:
            sent.socket.send(late)
        else:
            sent.socket.shutdown(SHUT_WR)
        assert (await ask(exchange, server)).body == b"hello"
        assert [one.requests for one in server.connections] == [1, 1]


@pytest.mark.parametrize("length", [32, 64, 128, 192])
async def test_what_comes_behind_an_answer_of_whole_reads_is_none(exchange: HttpExchange, length: int) -> None:
    """Twisted reads up to 64 KiB at once, so the answer ends with a read; the next request goes in the same turn."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    body = b"x" * (length * 1024 - len(head % (length * 1024)))
    answer = head % len(body) + body
    assert len(answer) == length * 1024
    async with serving(answer + STALE) as server:
        for _ in range(3):
            assert (await ask(exchange, server)).body == body
        assert len(server.connections) == 3


# Bodies that go up.


async def test_an_early_answer_ends_a_long_upload() -> None:
    def refuse(transport: Any) -> None:
        transport.pauseProducing()
        transport.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        reactor.callLater(0.05, transport.resumeProducing)

    exchange = HttpExchange(reactor, Limits(2, 2, 2))
    async with serving(refuse) as server:
        assert (await ask(exchange, server, "POST", BIG)).status == 413
        await server.all_gone()
        assert len(server.received) < len(BIG)
    await exchange.close()


async def test_a_long_upload_arrives_whole_and_the_connection_is_used_again() -> None:
    def answer(transport: Any) -> None:
        transport.protocol.dataReceived = count
        count(b"")

    def count(data: bytes) -> None:
        server.received += data
        if server.received.endswith(b"x" * 9 + b"end"):
            server.received = b""
            del server.connections[-1].dataReceived
            server.connections[-1].transport.write(OK)  # type: ignore[union-attr]

    exchange = HttpExchange(reactor, Limits(2, 20, 2))
    async with serving(answer) as server:
        for _ in range(2):
            assert (await ask(exchange, server, "POST", BIG + b"end")).body == b"hello"
        assert len(server.connections) == 1
    await exchange.close()


async def test_a_server_that_does_not_read_times_out() -> None:
    exchange = HttpExchange(reactor, Limits(2, 0.1, 2))
    async with serving(lambda transport: transport.pauseProducing()) as server:
        with pytest.raises(TimedOut):
            await ask(exchange, server, "POST", BIG)
    await exchange.close()


# Connections that end.


@pytest.mark.parametrize(
    "part",
    [b"", b"HTTP/1.1 200 OK\r\nConten", b"HTTP/1.1 200 OK\r\n\r\nhalf", OK[:-1], CHUNKED + b"5\r\nhello\r\n0\r\n"],
)
async def test_a_reset_is_never_the_end_of_a_body(exchange: HttpExchange, part: bytes) -> None:
    def answer(transport: Any) -> None:
        transport.write(part)
        reactor.callLater(0.02, transport.abortConnection)

    async with serving(answer) as server:
        with pytest.raises(ConnectionLost) as caught:
            await ask(exchange, server)
        assert caught.value.began is (b"\r\n\r\n" in part)


@pytest.mark.parametrize("part", [b"HTTP/1.1 200 OK\r\nConten", OK[:-1], CHUNKED + b"5\r\nhello\r\n0\r\n", CHUNKED])
async def test_half_closed_by_the_server_is_cut(exchange: HttpExchange, part: bytes) -> None:
    def answer(transport: Any) -> None:
        transport.write(part)
        transport.loseWriteConnection()

    async with serving(answer) as server:
        with pytest.raises(ConnectionLost):
            await ask(exchange, server)


async def test_bytes_on_an_idle_connection_end_it(exchange: HttpExchange) -> None:
    async with serving(OK) as server:
        await ask(exchange, server)
        server.connections[0].transport.write(b"HTTP/1.1 200 OK\r\n\r\n")  # type: ignore[union-attr]
        await server.connections[0].lost
        assert (await ask(exchange, server)).body == b"hello"
        assert len(server.connections) == 2


@pytest.mark.parametrize("part", [b"H", b"HTTP/1.1 200 OK\r\n\r\nhalf"])
async def test_93_a_request_is_not_sent_again_once_a_byte_of_an_answer_came(
    exchange: HttpExchange, part: bytes
) -> None:
    def answer(transport: Any) -> None:
        if b"GET" in server.received[5:]:
            transport.write(part)
            reactor.callLater(0.02, transport.abortConnection)
        else:
            transport.write(OK)

    async with serving(answer) as server:
        await ask(exchange, server)
        with pytest.raises(ConnectionLost):
            await ask(exchange, server)
        assert len(server.connections) == 1


@pytest.mark.parametrize(
    "rest", [b"0\r\n" + b"X: y\r\n" * 90_000, b"0\r\nX: " + b"y" * 600_000, b"5;a=" + b"b" * 600_000]
)
async def test_trailers_and_extensions_without_end_are_cut_off(rest: bytes) -> None:
    exchange = HttpExchange(reactor, Limits(2, 2, 2))
    async with serving(CHUNKED + rest) as server:
        with pytest.raises(BodyTooLarge, match="head"):
            await ask(exchange, server)
        await server.all_gone()
    await exchange.close()


# How a request leaves.


class Narrow:
    """Sockets that take so many bytes of a request at once, and then none until the reactor says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
        self.sent: list[int | Exception] = []
        real = Client.writeSomeData

        def write(client: Any, data: bytes) -> int | Exception:
            taken: int | Exception = real(client, data[:size])
            self.sent.append(taken)
            return taken

        monkeypatch.setattr(Client, "writeSomeData", write)


async def test_a_request_leaves_at_once(exchange: HttpExchange, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = Narrow(monkeypatch, 10_000)
    async with serving(OK) as server:
        await ask(exchange, server)
        asked = Deferred.fromCoroutine(ask(exchange, server, "POST", b"x" * 500))
        assert len(narrow.sent) == 2  # without a turn of the reactor between
        assert (await asked).body == b"hello"
        assert len(narrow.sent) == 2
        assert len(server.connections) == 1


async def test_what_the_socket_does_not_take_follows_in_order(
    exchange: HttpExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = Narrow(monkeypatch, 7)
    async with serving(lambda _: None) as server:
        asked = Deferred.fromCoroutine(ask(exchange, server, "POST", b"0123456789"))
        while not server.received.endswith(b"\r\n\r\n0123456789"):
            await turn(0)
        assert server.received.startswith(b"POST / HTTP/1.1\r\n")
        assert server.received.count(b"POST") == 1
        assert len(narrow.sent) > 10
        server.connections[0].transport.write(OK)  # type: ignore[union-attr]  # it is connected
        assert (await asked).body == b"hello"


async def test_an_answer_before_the_request_has_left_spoils_no_later_one(
    exchange: HttpExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    Narrow(monkeypatch, 9)
    async with serving(lambda _: None) as server:
        first = Deferred.fromCoroutine(ask(exchange, server, "POST", b"a" * 400))
        while not server.received:
            await turn(0)
        server.connections[0].transport.write(OK)  # type: ignore[union-attr]  # it is connected
        assert (await first).body == b"hello"
        second = Deferred.fromCoroutine(ask(exchange, server, "POST", b"b" * 400))
        while not server.received.endswith(b"b" * 400):
            await turn(0)
        assert server.received.count(b"a" * 400 + b"POST / HTTP/1.1\r\n") == 1
        server.connections[0].transport.write(OK)  # type: ignore[union-attr]  # it is connected
        assert (await second).body == b"hello"
        assert len(server.connections) == 1


async def test_a_socket_that_takes_nothing_more_is_a_lost_connection(
    exchange: HttpExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(OK) as server:
        await ask(exchange, server)
        real, lost = Client.writeSomeData, [CONNECTION_LOST, CONNECTION_LOST]
        monkeypatch.setattr(Client, "writeSomeData", lambda self, data: lost.pop() if lost else real(self, data))
        assert (await ask(exchange, server)).body == b"hello"  # on a fresh one, as always
        assert len(server.connections) == 2
