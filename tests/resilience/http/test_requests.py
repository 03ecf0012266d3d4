"""What a caller may not send, and that nothing is left of an exchange."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError, Deferred
from twisted.web.http_headers import Headers

from mud_assistant.resilience import (
    BodyTooLarge,
    Collected,
    ConnectFailed,
    ConnectionLost,
    HttpExchange,
    Limits,
    Request,
)
from mud_assistant.resilience.http.connection import HttpConnection
from mud_assistant.resilience.http.response import ResponseReader
from mud_assistant.resilience.http.transfer import Transfer
from tests.resilience.http.serving import CHUNKED, OK, ask, serving, turn

reactor: Any = _reactor
pytestmark = pytest.mark.usefixtures("reactor_baseline")
OURS = (HttpConnection, ResponseReader, Transfer)


@pytest.fixture
def exchange() -> Iterator[HttpExchange]:
    made = HttpExchange(reactor, Limits(2, 2, 2, 1_000_000))
    yield made
    pytest_twisted.blockon(made.close())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/a b",
        "http://127.0.0.1:1/\r\nX: y",
        "http://h\r\nX: y/",
        "http://x/\x00",
        "http://x/\u2028",
        "ftp://x/",
        "/x",
        "http://",
        "http://x:99999/",
    ],
)
async def test_a_url_that_cannot_be_sent_is_refused(exchange: HttpExchange, url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        await exchange.perform(Request("GET", url, Headers()), Collected())


@pytest.mark.parametrize("method", ["", "GET /x HTTP/1.1\r\nX: y\r\n", "GE T", "GET\n", "CONNECT", "GÉT"])
async def test_a_method_that_is_none_is_refused(exchange: HttpExchange, method: str) -> None:
    with pytest.raises(ValueError, match="method"):
        await exchange.perform(Request(method, "http://127.0.0.1:1/", Headers()), Collected())


async def test_a_caller_cannot_frame_the_request(exchange: HttpExchange) -> None:
    headers = Headers({"Content-Length": ["3"], "Transfer-Encoding": ["chunked"], "Expect": ["100-continue"]})
    headers.addRawHeader("Connection", "close")
    headers.addRawHeader("X-Key", "a\r\nContent-Length: 9")
    async with serving(OK) as server:
        await exchange.perform(Request("POST", server.url, headers, b"body"), Collected())
        head, _, body = server.received.partition(b"\r\n\r\n")
        names = [line.partition(b":")[0] for line in head.split(b"\r\n")[1:]]
        assert sorted(names) == [b"Content-Length", b"Host", b"X-Key"]
        assert b"\r\nContent-Length: 4" in head
        assert body == b"body"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost:1/", "https://127.0.0.1:1/"])
async def test_cancelling_before_there_is_a_connection(exchange: HttpExchange, url: str) -> None:
    asked = Deferred.fromCoroutine(exchange.perform(Request("GET", url, Headers()), Collected()))
    asked.cancel()
    with pytest.raises(CancelledError):
        await asked
    await turn()


FAILING = [
    b"", b"HTTP/1.1 200", OK[:-1],
    CHUNKED + b"zz\r\n", b"HTTP/1.1 101 X\r\n\r\n", OK + OK, b"HTTP/1.1 200 OK\r\n\r\nall",
    b"HTTP/1.1 099 X\r\n\r\n", OK, b"X" * 300_000,
    b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 2_000_000,
]  # fmt: skip


@pytest.mark.parametrize("answer", FAILING, ids=range(len(FAILING)))
async def test_nothing_is_left_in_circles(answer: bytes) -> None:
    """Each would wait for the garbage collector, which the reactor's thread then pays for."""

    def reply(transport: Any) -> None:
        transport.write(answer)
        transport.loseConnection()

    async def fail() -> None:
        exchange = HttpExchange(reactor, Limits(2, 2, 2, 1_000_000))
        async with serving(reply) as server:
            with suppress(ConnectionLost, BodyTooLarge):
                await ask(exchange, server)
            await server.all_gone()
        await exchange.close()
        await turn()

    await _leaves_nothing(fail)


async def test_nothing_is_left_of_a_connection_that_was_never_made() -> None:
    async def fail() -> None:
        exchange = HttpExchange(reactor, Limits(2, 2, 2))
        with suppress(ConnectFailed):
            await exchange.perform(Request("GET", "http://127.0.0.1:1/", Headers()), Collected())
        await exchange.close()
        await turn()

    await _leaves_nothing(fail)


async def _leaves_nothing(run: Callable[[], Any]) -> None:
    await run()
    gc.collect()
    before = {id(each) for each in gc.get_objects() if isinstance(each, OURS)}
    gc.disable()
    try:
        await run()
        left = [each for each in gc.get_objects() if isinstance(each, OURS) and id(each) not in before]
        assert not left
    finally:
        gc.enable()
