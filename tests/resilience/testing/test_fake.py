"""A fake on the test server, over real sockets: its answers, its key, its silence, and faults laid over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import ConnectionDone
from twisted.internet.error import ConnectionLost as WasReset
from twisted.internet.task import Clock, deferLater

from mud_assistant.resilience.testing import (
    Fake,
    FaultServer,
    RawResponse,
    Reset,
    Response,
    ServedRequest,
    json_response,
    serving,
)
from mud_assistant.resilience.testing.fake import SILENCE, Answered
from mud_assistant.resilience.testing.faults import PASS, Ending, Fault, always
from tests.resilience.testing.test_proxy import Bare

reactor: Any = _reactor
ASKS = b"POST /v1/ask?q=a%20b&q=c&r HTTP/1.1\r\nHost: x\r\nX-Two: a\r\nX-Two: b\r\nContent-Length: 10\r\n\r\n"
ENDLESS = RawResponse(lambda: chain((b"HTTP/1.1 200 OK\r\n\r\n",), repeat(b"more ")))


class Echo(Fake[ServedRequest]):
    """Answers with what it is given, or with what it was asked."""

    request_type = ServedRequest
    given: Answered | None = None

    def answer(self, request: ServedRequest) -> Answered:
        return self.given or json_response({"asked": request.body.get("ask")})


@asynccontextmanager
async def asking(fake: Echo, fault: Fault = PASS) -> AsyncIterator[Bare]:
    """A bare client of the fake."""
    async with serving(FaultServer(reactor, fake, always(fault))) as server:
        bare = Bare()
        await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", int(server.url.rpartition(":")[2])), bare)
        yield bare
    assert len(fake.clients) == 0


async def test_a_request_is_recorded_as_it_came_and_its_connection_kept() -> None:
    clock = Clock()
    clock.advance(7)
    fake = Echo(clock)
    async with asking(fake) as bare:
        for _ in range(2):
            bare.received = b""
            bare.send(ASKS + b'{"ask": 1}')
            await bare.saw(b'{"asked":1}')
    first, second = fake.requests
    assert (first.method, first.path, first.target, first.at) == ("POST", "/v1/ask", "/v1/ask?q=a%20b&q=c&r", 7)
    assert (first.query, first.headers["x-two"]) == ({"q": "a b", "r": ""}, "a, b")
    assert (first.body, first.raw) == (second.body, second.raw) == ({"ask": 1}, b'{"ask": 1}')
    assert (fake.clients.made, fake.abandoned) == (1, [])


@pytest.mark.parametrize("key", ["", "Authorization: planted\r\n", "Authorization: Bearer other\r\n"])
async def test_without_its_key_a_request_is_refused(key: str) -> None:
    async with asking(Echo(key="planted")) as bare:
        bare.send(f"GET / HTTP/1.1\r\n{key}\r\n".encode())
        await bare.saw(b"401")
        bare.send(b"GET / HTTP/1.1\r\nAuthorization: Bearer planted\r\n\r\n")
        await bare.saw(b'"asked":null')


async def test_a_chunked_request_is_refused_with_the_reason() -> None:
    async with asking(Echo()) as bare:
        bare.send(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert await bare.lost is ConnectionDone
    assert bare.received.startswith(b"HTTP/1.1 400 ")
    assert b"send Content-Length" in bare.received


async def test_head_has_no_body_and_close_ends_the_connection() -> None:
    async with asking(Echo()) as bare:
        bare.send(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert await bare.lost is ConnectionDone
    assert bare.received.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("given", [SILENCE, ENDLESS, Response(200, {}, (b"half",), Ending.HANG)])
async def test_a_client_that_leaves_an_answer_without_end_is_noted(given: Answered) -> None:
    fake = Echo()
    fake.given = given
    async with asking(fake) as bare:
        bare.send(ASKS + b'{"ask": 1}' + ASKS + b'{"ask": 2}')
        while not fake.requests:
            await deferLater(reactor, 0)
        if given is not SILENCE:
            await bare.saw(b"200")
    assert len(fake.requests) == 1
    assert fake.abandoned == fake.requests[:1]


async def test_a_fault_is_laid_over_a_fake() -> None:
    async with asking(Echo(), Reset(20)) as bare:
        bare.send(ASKS + b'{"ask": 1}')
        assert await bare.lost is WasReset
    assert bare.received == b"HTTP/1.1 200 OK\r\nCon"
