"""The proxy's connections: many requests on one, many at once, changes of plan, servers and clients that leave."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.error import ConnectionDone
from twisted.internet.error import ConnectionLost as WasReset
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import deferLater

from mud_assistant.resilience import ConnectionLost
from mud_assistant.resilience.testing import (
    PASS,
    EndlessEvents,
    Fault,
    FaultProxy,
    Faults,
    Hang,
    HtmlPage,
    Latency,
    Reset,
    Slicer,
    Status,
    always,
    at_random,
    every,
    proxied,
    sequence,
    throttled,
)
from tests.resilience.testing.test_proxy import BODY, GET, Rig, rigged

reactor: Any = _reactor
POST = b"POST /v1/chat HTTP/1.1\r\nHost: model\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


async def test_the_address_keeps_its_path() -> None:
    async with rigged() as rig:
        assert rig.proxy.url.startswith("http://127.0.0.1:")
        assert rig.proxy.url.endswith("/v1")


async def test_each_request_of_a_kept_connection_has_its_own_fault() -> None:
    async with rigged() as rig:
        rig.proxy.plan = sequence(Status(503), PASS, Latency(0.01), HtmlPage(), Slicer(10))
        statuses = [(await rig.ask(b"x" * size)).status for size in (0, 10, 100_000, 10, 0, 10)]
        assert statuses == [503, 200, 200, 200, 200, 200]
        assert [len(body) for body in rig.model.asked] == [10, 100_000, 0, 10]
        assert (rig.proxy.open_connections, len(rig.proxy.servers)) == (1, 1)


async def test_a_plan_sees_the_head_and_can_be_changed_in_mid_life() -> None:
    seen: list[tuple[int, bytes]] = []

    def plan(index: int, head: bytes) -> Fault:
        seen.append((index, head))
        return PASS

    async with rigged(Status(500)) as rig:
        assert (await rig.ask()).status == 500
        rig.proxy.plan = plan
        assert [(await rig.ask(b"secret body")).status for _ in range(2)] == [200, 200]
        assert [index for index, _ in seen] == [0, 1]
        assert all(head.startswith(b"POST /v1/chat HTTP/1.1\r\n") for _, head in seen)
        assert all(head.endswith(b"\r\n\r\n") for _, head in seen)
        assert rig.proxy.plan is plan
        assert [record.index for record in rig.proxy.requests] == [0, 1, 2]


async def test_a_kept_connection_that_is_reset_is_replaced_by_our_client() -> None:
    async with rigged() as rig:
        rig.proxy.plan = sequence(PASS, Reset())
        assert [(await rig.ask()).body for _ in range(2)] == [BODY, BODY]
        assert [record.fault for record in rig.proxy.requests] == [PASS, Reset(), PASS]


async def outcome(rig: Rig) -> object:
    try:
        return (await rig.ask()).status
    except ConnectionLost:
        return ConnectionLost


async def test_many_connections_at_once() -> None:
    faults: list[Fault] = [Status(500), Latency(0.01, 0.01), Slicer(100), HtmlPage(), Reset(50)]
    async with rigged() as rig:
        rig.proxy.plan = every(2, faults)
        outcomes = await gatherResults([Deferred.fromCoroutine(outcome(rig)) for _ in range(100)])
        assert outcomes.count(500) == 10
        assert outcomes.count(ConnectionLost) == 10
        assert outcomes.count(200) == 80
        assert rig.proxy.open_connections > 10


async def test_chance_repeats_itself() -> None:
    runs = []
    for _ in range(2):
        async with rigged() as rig:
            rig.proxy.plan = at_random(0.5, [Status(500), throttled(1)], Random(5))  # noqa: S311  (no secret)
            runs.append([(await rig.ask()).status for _ in range(20)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 500, 429}


async def test_requests_sent_ahead_wait_for_their_turn() -> None:
    async with rigged() as rig:
        rig.proxy.plan = sequence(Latency(0.02), Status(503, b"second"), PASS)
        body = b"x" * 300_000
        last = POST + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
        bare = await rig.raw(GET + GET + last)
        assert await bare.lost is ConnectionDone
        first, second = bare.received.index(b"HTTP/1.1 200"), bare.received.index(b"HTTP/1.1 503")
        assert first < second < bare.received.rindex(b"HTTP/1.1 200")
        assert rig.model.asked == [b"", body]


async def test_a_chunked_request_is_followed() -> None:
    async with rigged() as rig:
        rig.proxy.plan = sequence(PASS, Status(503), PASS)
        bare = await rig.raw()
        for status in (b" 200 ", b" 503 ", b" 200 "):
            bare.received = b""
            for piece in (CHUNKED, b"5\r\nhel", b"lo\r\n1", b"\r\n!\r\n0\r\n", b"\r\n"):
                bare.send(piece)
                await deferLater(reactor, 0.001)
            await bare.saw(status)
            await bare.saw(BODY if status == b" 200 " else b"\r\n\r\n")
        assert rig.model.asked == [b"hello!", b"hello!"]
        assert len(rig.proxy.requests) == 3


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x16\x03\x01\x00\xa5", b"connect without TLS"),
        (POST + b"Content-Length: many\r\n\r\n", b"Content-Length is no number"),
        (CHUNKED + b"soon\r\n", b"a chunk has no size"),
    ],
)
async def test_what_cannot_be_followed_is_refused_clearly(data: bytes, says: bytes) -> None:
    async with rigged() as rig:
        bare = await rig.raw(data)
        await bare.lost
        assert bare.received.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert says in bare.received
        assert [record.error.encode() for record in rig.proxy.requests] == [bare.received.split(b"\r\n\r\n")[1].strip()]


async def test_a_server_that_is_not_there_is_a_502() -> None:
    async with rigged() as rig:
        url = rig.proxy.url
        told: list[str] = []
    async with proxied(url, reactor, always(PASS), on_request=lambda record: told.append(record.error)) as proxy:
        rig.proxy = proxy
        for _ in range(2):
            sink = await rig.ask(b"x" * 200_000)
            assert sink.status == 502
            assert sink.headers.getRawHeaders("Content-Type") == ["text/plain; charset=utf-8"]
            assert sink.body.decode().startswith("the fault proxy cannot connect to http://127.0.0.1:")
        assert all(record.error.startswith("cannot connect to") for record in proxy.requests)
        assert proxy.open_connections == 1
        assert [bool(error) for error in told] == [False, True, False, True]
        await rig.exchange.close()


class Rude(Protocol):
    """A server that hangs up in its own way when it is asked."""

    transport: Any
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"
    resets = False

    def dataReceived(self, data: bytes) -> None:
        self.transport.write(self.said)
        reactor.callLater(0.02, self.transport.abortConnection if self.resets else self.transport.loseConnection)


@pytest.mark.parametrize(("resets", "seen"), [(True, WasReset), (False, ConnectionDone)])
async def test_a_server_that_hangs_up_is_heard_as_such(resets: bool, seen: type[BaseException]) -> None:
    factory = Factory.forProtocol(type("This", (Rude,), {"resets": resets}))
    factory.noisy = False
    port = reactor.listenTCP(0, factory, interface="127.0.0.1")
    async with rigged() as rig, proxied(f"http://127.0.0.1:{port.getHost().port}", reactor, always(PASS)) as proxy:
        rig.proxy = proxy
        bare = await rig.raw(GET)
        assert await bare.lost is seen
        assert bare.received == Rude.said
        with pytest.raises(ConnectionLost) as caught:
            await rig.ask()
        assert caught.value.began
    await port.stopListening()


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("said", "fault"),
    [(b"SSH-2.0-OpenSSH_9.9\r\n\r\n", PASS), (WHOLE, Latency(0.05)), (WHOLE, Slicer(1, 0.001))],
    ids=repr,
)
async def test_all_that_a_server_said_arrives_before_its_end(said: bytes, fault: Fault) -> None:
    """Also when it is no HTTP, and when the server has gone while its answer is under way."""
    factory = Factory.forProtocol(type("This", (Rude,), {"said": said}))
    factory.noisy = False
    port = reactor.listenTCP(0, factory, interface="127.0.0.1")
    async with rigged() as rig, proxied(f"http://127.0.0.1:{port.getHost().port}", reactor, always(fault)) as proxy:
        rig.proxy = proxy
        bare = await rig.raw(GET)
        assert await bare.lost is ConnectionDone
        assert bare.received == said
    await port.stopListening()


async def test_a_request_that_goes_wrong_under_way_ends_its_answer() -> None:
    async with rigged() as rig:
        bare = await rig.raw(CHUNKED + b"5\r\nhello\r\n")
        await until(lambda: len(rig.proxy.servers) == 1)
        bare.send(b"soon\r\n")
        await bare.lost
        assert b"a chunk has no size" in bare.received
        assert rig.model.asked == []
        await until(lambda: len(rig.proxy.servers) == 0)


class Tired(Protocol):
    """A server that waits for the next request for a moment only, and says so."""

    transport: Any

    def dataReceived(self, data: bytes) -> None:
        self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        reactor.callLater(0.02, self.transport.write, b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        reactor.callLater(0.04, self.transport.loseConnection)


async def test_a_kept_connection_closes_with_the_servers() -> None:
    """And what the server says unasked is passed on."""
    factory = Factory.forProtocol(Tired)
    factory.noisy = False
    port = reactor.listenTCP(0, factory, interface="127.0.0.1")
    async with rigged() as rig, proxied(f"http://127.0.0.1:{port.getHost().port}", reactor, always(PASS)) as proxy:
        rig.proxy = proxy
        bare = await rig.raw(GET)
        assert await bare.lost is ConnectionDone
        assert bare.received.endswith(b"408 Request Timeout\r\n\r\n")
    await port.stopListening()


@pytest.mark.parametrize(
    "fault", [Hang(), EndlessEvents(0.001), Latency(60), Faults(Latency(60), HtmlPage())], ids=repr
)
async def test_a_client_that_leaves_is_forgotten(fault: Fault) -> None:
    async with rigged(fault) as rig:
        bare = await rig.raw(GET)
        await until(lambda: len(rig.proxy.requests) == 1)
        assert rig.proxy.open_connections == 1
        bare.transport.abortConnection()
        await until(lambda: rig.proxy.open_connections == 0)
        await until(lambda: len(rig.proxy.servers) == 0)


async def test_the_end_of_the_block_resets_whatever_is_under_way() -> None:
    async with rigged(Latency(60)) as rig:
        slow = await rig.raw(GET)
        idle = await rig.raw()
        await until(lambda: len(rig.model.asked) == 1 and rig.proxy.open_connections == 2)
        rig.proxy.plan = always(Hang())
        hanging = await rig.raw(GET)
        await until(lambda: len(rig.proxy.requests) == 2)
    assert [await bare.lost for bare in (slow, idle, hanging)] == [WasReset] * 3


async def test_a_proxy_can_be_used_without_the_block() -> None:
    async with rigged() as rig:
        host, port = rig.proxy.host, rig.proxy.port
        proxy = FaultProxy(reactor, host, port, always(PASS), Random(1))  # noqa: S311  (no secret)
        await proxy.listen()
        rig.proxy = proxy
        assert (await rig.ask()).body == BODY
        await rig.exchange.close()
        await proxy.close()


async def until(is_so: Any) -> None:
    """Wait for something that is going to happen."""
    while not is_so():
        await deferLater(reactor, 0.005)
