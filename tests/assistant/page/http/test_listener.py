"""What the page's own listener does with connections: deadlines, bounds, refusals that arrive, and its end."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.http.errors import PROBLEM
from mud_assistant.assistant.page.http.incoming import MAX_BODY_BYTES
from tests.assistant.gateway.http.reached import WireClient, turns, until
from tests.assistant.page.http.visiting import VIEWER_TOKEN, Got, RawClient, Visiting, parse, visiting

BEARER = f"Bearer {VIEWER_TOKEN}"
STOP = "/api/v1/assistants/1/stop"


async def connect(page: Visiting, data: bytes = b"") -> Any:
    """Return a client that has connected, and has sent `data`."""
    client: Any = await page.connect()
    await turns(page.reactor)
    client.transport.write(data)
    await turns(page.reactor)
    return client


async def closed(page: Visiting, client: Any) -> None:
    """Wait until a client's connection has ended, and fail when it does not."""
    await until(page.reactor, lambda: client.closed.called)


async def pass_time(page: Visiting, seconds: float) -> None:
    await turns(page.reactor)
    page.clock.advance(seconds)
    await turns(page.reactor)


def check_refusal(got: Got, status: int, kind: str) -> None:
    """A refusal is told as every error is, with the headers of every answer, and ends the connection."""
    assert (got.status, got.headers["content-type"].partition(";")[0], got.headers["connection"]) == (
        status,
        kind,
        "close",
    )
    assert "default-src 'none'" in got.headers["content-security-policy"]
    assert got.headers["cache-control"] == "no-store"
    assert got.headers["date"]
    assert "server" not in got.headers
    assert int(got.headers["content-length"]) == len(got.body)


async def test_a_head_is_due_in_ten_seconds(reactor: Any) -> None:
    async with visiting(reactor) as page:
        silent, slow = await connect(page), await connect(page, b"GET / HT")
        for sent in (b"TP/1.1\r\n", b"Host: local", b"host\r\n"):
            await pass_time(page, 3.2)
            slow.transport.write(sent)
        await turns(reactor)
        assert not slow.closed.called
        await pass_time(page, 0.5)
        await closed(page, silent)
        await closed(page, slow)
        assert silent.received == slow.received == b""


@pytest.mark.parametrize(("path", "kind"), [("/", "text/html"), (STOP, PROBLEM)])
async def test_a_body_is_due_in_thirty_seconds(reactor: Any, path: str, kind: str) -> None:
    async with visiting(reactor) as page:
        client = await connect(page, page.request("POST", path, {"Content-Length": "100"}))
        for _ in range(3):
            await pass_time(page, 9.9)
            client.transport.write(b"x")
        await pass_time(page, 0.5)
        await closed(page, client)
        got = parse(client.received)
        check_refusal(got, 408, kind)
        assert "did not arrive within 30 seconds" in got.text


@pytest.mark.parametrize(("path", "kind"), [("/", "text/html"), (STOP, PROBLEM)])
async def test_a_body_that_is_too_large_is_not_asked_for(reactor: Any, path: str, kind: str) -> None:
    async with visiting(reactor) as page:
        headers = {"Expect": "100-continue", "Content-Length": str(MAX_BODY_BYTES + 1)}
        got = parse(await page.send(page.request("POST", path, headers)))
        check_refusal(got, 413, kind)
        assert "64 KiB" in got.text
        headers["Content-Length"] = "2"
        client = await connect(page, page.request("POST", path, headers))
        await until(reactor, lambda: client.received == b"HTTP/1.1 100 Continue\r\n\r\n")


async def test_bodies_that_are_held_have_a_limit_together(reactor: Any) -> None:
    async with visiting(reactor) as page:
        page.listener._serving.held._limit = 3_000  # 16 MiB would take hundreds of connections
        first = await connect(page, page.request("POST", "/", {"Content-Length": "2001"}) + b"x" * 2_000)
        assert page.listener.held_bytes == 2_000
        got = await page.ask("POST", "/", b"y" * 2_000)
        check_refusal(got, 503, "text/html")
        assert got.headers["retry-after"] == "1"
        first.transport.write(b"x")
        await closed(page, first)
        assert parse(first.received).status == 303
        assert page.listener.held_bytes == 0


async def test_who_was_refused_and_goes_on_sending_is_cut(reactor: Any) -> None:
    async with visiting(reactor) as page:
        endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", page.port)
        client: WireClient = await connectProtocol(endpoint, WireClient(reactor, stays=True))
        client.send(page.request("POST", "/", {"Content-Length": "9000000"}))
        await client.got(b" 413 ")
        client.send(b"y" * 100_000)
        await pass_time(page, 4.9)
        assert page.listener.connections == 1
        await pass_time(page, 0.2)
        assert page.listener.connections == 0
        client.transport.abortConnection()
        await turns(reactor)


@pytest.mark.parametrize(
    "lines",
    [
        "HTTP/1.0\r\nHost: {own}\r\nTransfer-Encoding: chunked",
        "HTTP/1.1\r\nHost: {own}\r\nTransfer-Encoding: xchunked",
        "HTTP/1.1\r\nHost: {own}\r\nContent-Length: 5, 5",
        "HTTP/1.1\r\nHost: {own}\r\nX: a\0b",
        "HTTP/1.1\r\nHost: {own}\r\nX: " + "y" * 17_000,
        "HTTP/7\r\nHost: {own}",
    ],
    ids=lambda lines: repr(lines[:70]),
)
async def test_what_two_servers_could_read_in_two_ways_is_refused(reactor: Any, lines: str) -> None:
    async with visiting(reactor) as page:
        head = f"POST / {lines.format(own=f'127.0.0.1:{page.port}')}\r\n\r\n0\r\n\r\n"
        received = await page.send(head.encode() + b"GET /healthz HTTP/1.1\r\n\r\n")
        assert received.count(b"\r\nDate: ") == 1
        check_refusal(parse(received), 400, "text/html")


async def test_connection_is_used_again(reactor: Any) -> None:
    async with visiting(reactor) as page:
        first = page.request("GET", "/login", {"Connection": "keep-alive"})
        received = await page.send(first + page.request("GET", "/none", {}))
        assert received.count(b"HTTP/1.1 ") == 2
        assert b" 404 " in received
        assert b"\r\nConnection: close\r\n" in received


async def test_idle_connections_are_closed_and_busy_ones_are_not(reactor: Any) -> None:
    begun: list[Any] = []

    async def stream(_: PageCall) -> StreamReply:
        return StreamReply(begun.append)

    async with visiting(reactor, Route("GET", "/api/v1/events", stream, is_api=True)) as page:
        idle = await connect(page, page.request("GET", "/login", {"Connection": "keep-alive"}))
        watching = await connect(page, page.request("GET", "/api/v1/events", {"Authorization": BEARER}))
        await until(reactor, lambda: begun and b" 200 " in idle.received)
        await pass_time(page, 59)
        assert not idle.closed.called
        await pass_time(page, 2)
        await closed(page, idle)
        await pass_time(page, 3_600)
        assert not watching.closed.called
        begun[0].write(b"data: 1\n\n")
        begun[0].finish()
        await closed(page, watching)
        assert b"data: 1" in watching.received


async def test_the_end_closes_every_connection(reactor: Any) -> None:
    waiting: list[Deferred[None]] = []

    async def slow(_: PageCall) -> Reply:
        waiting.append(Deferred())
        await waiting[-1]
        return Reply(b"late")

    async with visiting(reactor, Route("GET", "/slow", slow)) as page:
        await page.log_in()
        idle: RawClient = await connect(page)
        asking = await connect(page, page.request("GET", "/slow", {}))
        await until(reactor, lambda: waiting)
        closing = page.listener.close()
        await closed(page, idle)
        await closed(page, asking)
        assert parse(asking.received).status == 503
        await closing
        assert page.listener.connections == 0
