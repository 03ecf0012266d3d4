"""Requests that two servers could cut apart in two ways are refused; garbage never ends the listener."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from tests.assistant.gateway.http.reached import reached, request
from tests.assistant.page.http.visiting import parse
from tests.effort import times

SECOND = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
LENGTHS = [b"Content-Length: 5", b"content-length:5", b"Content-Length: 0", b"Content-Length: 6"]
CODINGS = [b"Transfer-Encoding: chunked", b"transfer-encoding:CHUNKED ", b"Transfer-Encoding:\r\n chunked"]
ODD = [
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding : chunked",
    b" Transfer-Encoding: chunked",
    b"Content-Length: +5",
    b"Content-Length: -1",
    b"Content-Length: 5, 5",
    b"Content-Length: 0x5",
    b"Content-Length:",
    b"Content-Length: " + b"9" * 5000,
    b"X: a\nTransfer-Encoding: chunked",
    b"X: a\rContent-Length: 5",
    b"X: a\0b",
    b"X\0: a",
    b"no colon",
    b": empty",
]


def shaped(*lines: bytes, version: bytes = b"HTTP/1.1") -> bytes:
    head = b"\r\n".join([b"POST / " + version, b"Host: localhost", *lines])
    return head + b"\r\n\r\n0\r\n\r\n" + SECOND


async def refused(reactor: Any, raw: bytes) -> None:
    async with reached(reactor) as here:
        got = await here.send(raw)
        assert got.count(b"\r\nDate: ") == 1, got
        assert parse(got).status == 400, got
        assert here.handler.asked == []
        assert (await here.ask("GET", "/")).status == 200


@pytest.mark.parametrize("line", ODD)
@pytest.mark.parametrize("after", [(), (b"X-Last: a",)])
async def test_odd_headers_are_refused(reactor: Any, line: bytes, after: tuple[bytes, ...]) -> None:
    await refused(reactor, shaped(line, *after))


@pytest.mark.parametrize(
    "raw",
    [
        shaped(CODINGS[0], version=b"HTTP/1.0"),
        b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\r\nHost: localhost\r\n\r\n",
        b"G@T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 4000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 17_000 + b"\r\n\r\n",
        b"GET /" + b"y" * 17_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"y" * 40_000,
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 3000 + b"\r\n",
    ],
    ids=lambda raw: repr(raw[:30]),
)
async def test_what_is_no_request_is_refused(reactor: Any, raw: bytes) -> None:
    await refused(reactor, raw)


@settings(max_examples=times(16), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(  # type: ignore[arg-type]  # pytest-twisted waits for what a test returns
    st.permutations([st.sampled_from(LENGTHS), st.sampled_from(LENGTHS + CODINGS), st.just(b"X-Other: a")]).flatmap(
        lambda parts: st.tuples(*parts)
    )
)
def test_two_lengths_are_refused(reactor: Any, lines: tuple[bytes, ...]) -> Deferred[None]:
    return Deferred.fromCoroutine(refused(reactor, shaped(*lines)))


GARBAGE = st.lists(
    st.sampled_from(
        [b"GET / HTTP/1.1\r\n", b"POST /v1/messages HTTP/1.0\r\n", b"Host: localhost\r\n", b"\r\n", b"\n", b"\r", b"\0"]
        + [line + b"\r\n" for line in LENGTHS + CODINGS + ODD[:-7]]
        + [
            b"Expect: 100-continue\r\n",
            b"Content-Encoding: gzip\r\n",
            b"5\r\nabcde\r\n",
            b"0\r\n\r\n",
            b"Connection: close\r\n",
        ]
    )
    | st.binary(max_size=30),
    max_size=12,
)


@settings(max_examples=times(24), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(GARBAGE, st.booleans()), min_size=1, max_size=4))  # type: ignore[arg-type]  # the same
def test_garbage_never_ends_the_listener(reactor: Any, clients: list[tuple[list[bytes], bool]]) -> Deferred[None]:
    async def feed() -> None:
        async with reached(reactor) as here:
            for pieces, is_cut in clients:
                client = await here.connect()
                for piece in pieces:
                    client.send(piece)
                if is_cut:
                    client.transport.loseConnection()
                    await client.closed()
            assert (await here.ask("GET", "/")).status == 200
            for asked in here.handler.asked:
                assert asked.path.startswith("/")
                assert "smuggled" not in asked.path
            await here.pass_time(10)
            await here.pass_time(30)
            await here.pass_time(60)
            await here.pass_time(5)
            await here.until(lambda: here.listener.connections == 0)

    return Deferred.fromCoroutine(feed())


async def test_a_smuggled_request_would_be_seen(reactor: Any) -> None:
    async with reached(reactor) as here:
        whole = request("POST", "/", {"content-length": "0"}) + SECOND
        client = await here.connect(whole)
        await here.until(lambda: client.received.count(b"200 OK") == 2)
        assert here.handler.asked[1].path == "/smuggled"
