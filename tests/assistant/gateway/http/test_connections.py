"""Connections: clients that leave, are slow, or send several requests; handlers that fail; the end of the listener."""

from __future__ import annotations

import gc
import gzip
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs

from mud_assistant.assistant.gateway.http.calls import ClientRequest
from mud_assistant.assistant.gateway.http.response import ClientResponse
from mud_assistant.assistant.http_server.bounds import ClientGone
from mud_assistant.assistant.http_server.channel import ReceivedRequest
from mud_assistant.llm.dialects.failures import invalid
from tests.assistant.gateway.http.reached import Reached, echo, never, reached, request, turns
from tests.assistant.page.http.visiting import parse

POST = request("POST", "/v1/messages", {}, b"{}")
HEAD = POST.partition(b"\r\n\r\n")[0]


async def wait(_: ClientRequest, response: ClientResponse) -> None:
    await never()


async def start_and_wait(_: ClientRequest, response: ClientResponse) -> None:
    response.start(200, [])
    response.write(b"begun")
    await never()


# Clients that leave.


@pytest.mark.parametrize(("answer", "seen"), [(wait, b""), (start_and_wait, b"begun")], ids=["before", "amid"])
@pytest.mark.parametrize("leave", ["loseConnection", "abortConnection", "loseWriteConnection"])
async def test_a_client_that_leaves_cancels_its_handler(reactor: Any, answer: Any, seen: bytes, leave: str) -> None:
    async with reached(reactor, answer) as here:
        client = await here.connect(POST)
        await here.until(lambda: len(here.listener) == 1 and seen in client.received)
        getattr(client.transport, leave)()
        await here.until(lambda: here.handler.ended)
        assert here.handler.ended == ["CancelledError"]
        await here.until(lambda: here.listener.connections == 0)


@pytest.mark.parametrize("sent", [b"", b"POST", HEAD, HEAD + b"\r\n\r\n{"], ids=["nothing", "line", "head", "body"])
async def test_a_client_may_leave_before_its_request_is_whole(reactor: Any, sent: bytes) -> None:
    async with reached(reactor) as here:
        client = await here.connect(sent)
        await here.until(lambda: here.listener.connections == 1)
        await turns(reactor)
        client.transport.abortConnection()
        await here.until(lambda: here.listener.connections == 0)
        assert (here.handler.asked, here.listener.held_bytes) == ([], 0)


async def test_a_client_may_leave_while_its_body_is_inflated(reactor: Any) -> None:
    async with reached(reactor) as here:
        sent = request("POST", "/", {"content-encoding": "gzip"}, gzip.compress(bytes(20 << 20)))
        client = await here.connect(sent)
        await here.until(lambda: len(here.listener) == 1)
        client.transport.abortConnection()
        await here.until(lambda: len(here.listener) == 0)
        assert here.handler.asked == []


async def test_a_client_that_leaves_after_the_end_cancels_nothing(reactor: Any) -> None:
    later: Deferred[None] = Deferred()

    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        await echo(asked, response)
        await later

    async with reached(reactor, answer) as here:
        client = await here.connect(POST)
        await client.got(b"/v1/messages")
        client.transport.abortConnection()
        await here.until(lambda: here.listener.connections == 0)
        assert here.handler.ended == []
        later.callback(None)
        assert here.handler.ended == [""]


async def test_what_is_written_to_a_client_that_left_is_dropped(reactor: Any) -> None:
    async def answer(_: ClientRequest, response: ClientResponse) -> None:
        try:
            await never()
        except CancelledError:
            response.start(200, [])
            assert response.write(b"x" * (1 << 20)) is None
            response.finish()
            response.abort()
            raise

    async with reached(reactor, answer) as here:
        client = await here.connect(POST)
        await here.until(lambda: here.handler.asked)
        client.transport.abortConnection()
        await here.until(lambda: here.handler.ended)
        assert here.handler.ended == ["CancelledError"]


# Slow clients.


async def test_a_head_is_due_in_ten_seconds(reactor: Any) -> None:
    async with reached(reactor) as here:
        silent, slow = await here.connect(), await here.connect(b"POST / HT")
        await here.until(lambda: here.listener.connections == 2)
        for sent in (b"TP/1.1\r\n", b"Host: local", b"host\r\n"):
            await here.pass_time(3.2)
            slow.send(sent)
        assert not slow.is_closed
        await here.pass_time(0.5)
        assert await silent.closed() == await slow.closed() == b""


async def test_a_body_is_due_in_thirty_seconds(reactor: Any) -> None:
    async with reached(reactor) as here:
        client = await here.connect(request("POST", "/", {"content-length": "100"}))
        await here.until(lambda: here.listener.connections == 1)
        for _ in range(3):
            await here.pass_time(9.9)
            client.send(b"x")
        await here.pass_time(0.5)
        got = parse(await client.closed())
        assert (got.status, got.headers["connection"]) == (408, "close")
        assert here.listener.held_bytes == 0


async def test_an_answer_may_take_its_time_and_an_idle_connection_may_not(reactor: Any) -> None:
    go: Deferred[None] = Deferred()

    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        await go
        await echo(asked, response)

    async with reached(reactor, answer) as here:
        client = await here.connect(POST)
        await here.until(lambda: here.handler.asked)
        await here.pass_time(3600)
        go.callback(None)
        await client.got(b"200 OK")
        await here.pass_time(59)
        client.send(POST)
        await here.until(lambda: client.received.count(b"200 OK") == 2)
        await here.pass_time(59)
        assert not client.is_closed
        await here.pass_time(2)
        await client.closed()


async def test_a_refused_client_that_goes_on_sending_is_cut(reactor: Any) -> None:
    async with reached(reactor) as here:
        client = await here.connect(request("POST", "/v1/v1", {"content-length": "9000000"}) + b"x" * 1000, stays=True)
        await client.got(b"404 Not Found")
        client.send(b"y" * 1000)
        await here.pass_time(4.9)
        assert here.listener.connections == 1
        await here.pass_time(0.2)
        await here.until(lambda: here.listener.connections == 0)


class Pouring:
    """A handler that sends a large stream as fast as it may."""

    def __init__(self, size: int = 50 << 20) -> None:
        self.size = size
        self.written = 0
        self.most = 0
        self.is_done = False

    async def __call__(self, _: ClientRequest, response: ClientResponse) -> None:
        response.start(200, [])
        written = 0
        while written < self.size:
            drained = response.write(b"x" * 8192)
            written += 8192
            self.written += 8192
            if drained is not None:
                await drained
        response.finish()
        self.is_done = True


def unsent(here: Reached) -> int:
    transports = [channel.transport for channel in here.listener._connections]
    return sum(len(one.dataBuffer) - one.offset + one._tempDataLen for one in transports)


async def test_slow_readers_of_a_large_stream_keep_little_in_memory(reactor: Any) -> None:
    pouring = Pouring()
    async with reached(reactor, pouring) as here:
        clients = [await here.connect() for _ in range(20)]
        for client in clients:
            client.transport.pauseProducing()
            client.send(POST)
        await here.until(lambda: len(here.listener) == 20)
        before = -1
        while before != pouring.written:
            before = pouring.written
            await turns(reactor, 20)
        assert unsent(here) <= 20 * (64 + 8) * 1024
        # The rest is the system's, on both sides.
        assert pouring.written <= 20 * 8 << 20
        for _ in range(8):  # they read, if slowly, and so are not cut
            for client in clients:
                client.transport.resumeProducing()
            await turns(reactor, 3)
            for client in clients:
                client.transport.pauseProducing()
            assert unsent(here) <= 20 * (64 + 8) * 1024
            await here.pass_time(15)
        assert here.listener.connections == 20
        for client in clients:
            client.transport.abortConnection()
        await here.until(lambda: here.listener.connections == 0)
        assert here.handler.ended == ["CancelledError"] * 20


async def test_a_fast_reader_gets_all(reactor: Any) -> None:
    pouring = Pouring(8 << 20)
    async with reached(reactor, pouring) as here:
        raw = await here.send(request("POST", "/", {"connection": "close"}))
        assert pouring.is_done
        assert raw.count(b"x") == 8 << 20
        assert raw.endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize("ends", [True, False])
async def test_a_client_that_takes_nothing_for_a_minute_is_cut(reactor: Any, *, ends: bool) -> None:
    seen: list[str] = []

    async def answer(_: ClientRequest, response: ClientResponse) -> None:
        response.start(200, [])
        while (drained := response.write(b"x" * 60_000)) is None:
            pass
        while not ends:
            try:
                await drained
            except (CancelledError, ClientGone) as error:
                seen.append(type(error).__name__)
                raise
            drained = response.write(b"x" * 600_000) or drained
        response.finish()

    async with reached(reactor, answer) as here:
        client = await here.connect()
        client.transport.pauseProducing()
        client.send(POST)
        await here.until(lambda: here.handler.asked)
        await turns(reactor, 50)
        while unsent(here) == 0:  # the system took it all
            await turns(reactor)
            client.send(POST)
        for _ in range(3):
            await here.pass_time(15)
        assert here.listener.connections == 1
        for _ in range(2 if not ends else 8):
            await here.pass_time(15)
        await here.until(lambda: here.listener.connections == 0)
        assert seen == ([] if ends else ["CancelledError"])


# Several requests of one connection.


async def test_pipelined_requests_are_answered_in_order(reactor: Any) -> None:
    goes: list[Deferred[None]] = []

    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        goes.append(Deferred())
        await goes[-1]
        await echo(asked, response)

    async with reached(reactor, answer) as here:
        paths = [b"/%d" % number for number in range(300)]
        client = await here.connect(b"".join(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in paths))
        for number in range(300):
            while len(goes) == number:
                await turns(reactor, 1)
            assert (len(goes), len(here.listener)) == (number + 1, 1)
            goes[number].callback(None)
        await here.until(lambda: b'"/299"' in client.received)
        assert [asked.path.encode() for asked in here.handler.asked] == paths
        places = [client.received.index(b'"%s"' % path) for path in paths]
        assert places == sorted(places)


async def test_many_pipelined_requests_that_are_answered_at_once(reactor: Any) -> None:
    async with reached(reactor) as here:
        client = await here.connect(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3000)
        await here.until(lambda: client.received.count(b"200 OK") == 3000)


async def test_what_follows_a_refusal_or_a_close_is_not_read(reactor: Any) -> None:
    async with reached(reactor) as here:
        close = request("POST", "/1", {"connection": "keep-alive, close"}, b"{}")
        assert (await here.send(close + POST)).count(b"HTTP/1.1 ") == 1
        assert (await here.send(request("POST", "/v1/v1", {}, b"{}") + POST)).count(b"HTTP/1.1 ") == 1
        assert [asked.path for asked in here.handler.asked] == ["/1"]


async def test_a_connection_is_used_again(reactor: Any) -> None:
    async with reached(reactor) as here:
        client = await here.connect(POST)
        await here.until(lambda: client.received.count(b"200 OK") == 1)
        client.send(POST)
        await here.until(lambda: client.received.count(b"200 OK") == 2)
        assert here.listener.connections == 1


@pytest.mark.parametrize("connection", ["", "keep-alive"])
async def test_http_1_0_gets_a_stream_without_chunks_that_ends_with_the_connection(
    reactor: Any, connection: str
) -> None:
    async def answer(_: ClientRequest, response: ClientResponse) -> None:
        response.start(200, [])
        response.write(b"one ")
        response.write(b"two")
        response.finish()

    async with reached(reactor, answer) as here:
        sent = request("POST", "/", {"connection": connection}, b"{}").replace(b"HTTP/1.1", b"HTTP/1.0")
        got = parse(await here.send(sent))
        assert (got.body, got.headers["connection"]) == (b"one two", "close")
        assert "transfer-encoding" not in got.headers


# Handlers that fail.


@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize("fails", [True, False])
async def test_a_handler_that_fails_is_logged_once_without_what_it_says(
    reactor: Any, *, starts: bool, fails: bool
) -> None:
    async def answer(_: ClientRequest, response: ClientResponse) -> None:
        if starts:
            response.start(200, [])
            response.write(b"begun")
        if fails:
            raise ValueError("sk-planted")

    async with reached(reactor, answer) as here:
        with capturedLogs() as logs:
            raw = await here.send(POST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        said = [event for event in logs if "gateway" in str(event.get("log_format"))]
        assert len(said) == 1
        assert said[0]["id"] == here.handler.asked[0].id
        assert "planted" not in str(logs)
        if starts:
            assert not raw.endswith(b"0\r\n\r\n")
        else:
            assert parse(raw).status == 500
            assert b"planted" not in raw


async def test_a_refusal_by_the_handler_keeps_the_connection(reactor: Any) -> None:
    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        raise invalid("model is missing", "model")

    async with reached(reactor, answer) as here:
        client = await here.connect()
        with capturedLogs() as logs:
            client.send(POST)
            await client.got(b"model is missing")
            assert client.received.startswith(b"HTTP/1.1 400 Bad Request")
            client.send(POST)
            await here.until(lambda: client.received.count(b"model is missing") == 2)
        assert list(logs) == []


async def test_an_answer_shorter_than_it_says_is_cut(reactor: Any) -> None:
    async def answer(_: ClientRequest, response: ClientResponse) -> None:
        response.start(200, [(b"Content-Length", b"10")])
        response.write(b"short")
        response.finish()

    async with reached(reactor, answer) as here:
        assert (await here.send(POST + POST)).count(b"HTTP/1.1 ") <= 1
        assert len(here.handler.asked) == 1


async def test_the_order_of_an_answer_is_kept(reactor: Any) -> None:
    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        with pytest.raises(RuntimeError):
            response.write(b"")
        with pytest.raises(RuntimeError):
            response.finish()
        was_started = response.is_started
        await echo(asked, response)
        assert (was_started, response.is_started) == (False, True)
        with pytest.raises(RuntimeError):
            response.start(200, [])
        response.finish()

    async with reached(reactor, answer) as here:
        assert (await here.ask("POST", "/")).status == 200


async def test_a_handler_whose_refusals_fail_still_gets_an_answer_out(reactor: Any) -> None:
    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        raise invalid("planted")

    async with reached(reactor, answer) as here:
        here.handler.headers_of_failures = lambda: 1 // 0
        with capturedLogs() as logs:
            assert parse(await here.send(request("POST", "/", {"connection": "close"}))).status == 500
            assert parse(await here.send(request("POST", "/v1/v1", {}))).status == 500
        assert "planted" not in str(logs)
        assert [event["kind"] for event in logs if "kind" in event] == ["ZeroDivisionError"] * 2


async def test_a_refusal_that_cannot_be_sent_cuts_the_connection(reactor: Any) -> None:
    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        raise invalid("planted")

    async with reached(reactor, answer) as here:
        here.handler.headers_of_failures = lambda: [(b"content-length", b"x")]
        with capturedLogs() as logs:
            assert b"planted" not in await here.send(POST)
        assert [event["kind"] for event in logs if "kind" in event] == ["ValueError"]


@pytest.mark.parametrize("answer", [echo, wait, start_and_wait])
async def test_a_request_that_is_over_leaves_nothing_to_collect(reactor: Any, answer: Any) -> None:
    async with reached(reactor, answer) as here:
        gc.collect()
        gc.disable()
        try:
            client = await here.connect(POST)
            await here.until(lambda: here.handler.asked)
            if answer is not echo:
                client.transport.abortConnection()
            await here.until(lambda: here.handler.ended)
            await turns(reactor)
            assert [one for one in gc.get_objects() if type(one) in {ReceivedRequest, ClientResponse}] == []
        finally:
            gc.enable()


# The end.


async def test_closing_ends_everything_and_waits_for_handlers(reactor: Any) -> None:
    cleaned: Deferred[None] = Deferred()

    async def answer(asked: ClientRequest, response: ClientResponse) -> None:
        if asked.path == "/amid":
            await start_and_wait(asked, response)
        try:
            await never()
        finally:
            await cleaned

    async with reached(reactor, answer) as here:
        idle = await here.connect()
        before, amid = await here.connect(POST), await here.connect(request("POST", "/amid", {}))
        await here.until(lambda: len(here.listener) == 2 and b"begun" in amid.received)
        closed = here.listener.close()
        assert await idle.closed() == b""
        assert not (await amid.closed()).endswith(b"0\r\n\r\n")
        await turns(reactor)
        assert not before.is_closed
        assert closed.called is False
        cleaned.callback(None)
        got = parse(await before.closed())
        assert (got.status, got.headers["connection"]) == (503, "close")
        await closed
        assert here.listener.connections == 0


async def test_closing_does_not_wait_for_a_client_that_does_not_read(reactor: Any) -> None:
    async with reached(reactor, Pouring()) as here:
        client = await here.connect()
        client.transport.pauseProducing()
        client.send(POST)
        await here.until(lambda: unsent(here))
        refused = await here.connect(request("POST", "/v1/v1", {"content-length": "9"}), stays=True)
        await refused.got(b"404")
        closed = here.listener.close()
        await turns(reactor)
        here.clock.advance(1)
        await closed
        client.transport.abortConnection()
