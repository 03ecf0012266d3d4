"""Answers: errors and what they do not tell, HEAD, long bodies, streams, and clients that leave."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import orjson
import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import ServiceNotRunning
from mud_assistant.assistant.journal.errors import JournalUnreadable
from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.http.errors import HttpRefusal, parse_body
from mud_assistant.assistant.page.ports import Conflict, NotFound, PageError, Unavailable
from mud_assistant.assistant.page.values.actions import SettingChange
from tests.assistant.gateway.http.reached import until
from tests.assistant.page.http.visiting import VIEWER_TOKEN, Visiting, visiting
from tests.guards import FlushFailures

KEY = "sk-planted-key-000000"


def raising(error: Exception, *, is_api: bool) -> Route:
    async def fail(_: PageCall) -> Reply:
        raise error

    return Route("GET", "/api/v1/fail" if is_api else "/fail", fail, is_api=is_api)


TOLD = [
    (NotFound(f"no run {KEY}"), 404, "Not found", "no run [key]"),
    (Conflict("Ala was faster"), 409, "Already decided", "Ala was faster"),
    (Unavailable("later"), 503, "Not available", "later"),
    (JournalUnreadable(f"bad {KEY}"), 503, "Not available", "the journal cannot be used: bad [key]"),
    (ServiceNotRunning("the game stops"), 503, "Not available", "the game stops"),
    (SettingsError("model: <b>no such model</b>"), 422, "Not valid", None),
]


@pytest.mark.parametrize(("error", "status", "title", "detail"), TOLD, ids=lambda each: str(each)[:20])
async def test_known_errors_are_told(
    reactor: Any, error: Exception, status: int, title: str, detail: str | None
) -> None:
    routes = (raising(error, is_api=True), raising(error, is_api=False))
    async with visiting(reactor, *routes, scrub=lambda text: text.replace(KEY, "[key]")) as page:
        await page.log_in()
        got = await page.get("/api/v1/fail")
        assert (got.status, got.headers["content-type"]) == (status, "application/problem+json")
        problem = orjson.loads(got.body)
        assert problem["type"] == "about:blank"
        assert (problem["title"], problem["status"]) == (title, status)
        assert detail is None or problem["detail"] == detail
        shown = await page.get("/fail")
        assert (shown.status, shown.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert KEY not in shown.text
        assert "<b>" not in shown.text


async def test_unknown_errors_are_logged_and_not_told(reactor: Any, flush_failures: FlushFailures) -> None:
    routes = (raising(ZeroDivisionError(KEY), is_api=True), raising(ZeroDivisionError(KEY), is_api=False))
    async with visiting(reactor, *routes) as page:
        await page.log_in()
        for path in ("/fail", "/api/v1/fail"):
            got = await page.get(path)
            assert got.status == 500
            assert KEY not in got.text
            assert "ZeroDivision" not in got.text
            assert "log of the server" in got.text
    assert len(flush_failures(ZeroDivisionError)) == 2


async def test_views_draw_errors_and_may_fail_at_it(reactor: Any, flush_failures: FlushFailures) -> None:
    seen: list[tuple[PageCall | None, PageError]] = []

    def draw(call: PageCall | None, error: PageError) -> bytes:
        seen.append((call, error))
        return b"drawn %d" % (error.status // (0 if error.status == 409 else 1))

    async with visiting(reactor, raising(Conflict("c"), is_api=False), render_error=draw) as page:
        assert (await page.get("/none")).body == b"drawn 404"
        await page.log_in()
        got = await page.get("/fail")
        assert (got.status, got.headers["content-type"]) == (409, "text/html; charset=utf-8")
        assert b"Already decided" in got.body
    first, last = seen[0][0], seen[-1][0]
    assert first is None
    assert last is not None
    assert last.visitor.name == "operator"
    assert len(flush_failures(ZeroDivisionError)) == 1


def test_bodies_are_read_as_models() -> None:
    with pytest.raises(PageError) as caught:
        parse_body(SettingChange, {"option": 7, KEY: KEY})
    assert caught.value.status == 422
    assert "option" in str(caught.value)
    assert "Expected `str`, got `int`" in str(caught.value)
    with pytest.raises(PageError, match="the body: "):
        parse_body(SettingChange, None)


async def test_head_is_get_without_a_body(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        got = await page.ask("HEAD", "/")
        assert (got.status, got.body, got.headers["content-length"]) == (200, b"", "14")
        assert (await page.ask("HEAD", "/none")).body == b""
        assert (await page.ask("HEAD", "/api/v1/assistants/1/stop")).status == 405


@pytest.mark.parametrize("size", [100 * 1024, 100 * 1024 + 1, 3_000_000])
async def test_long_bodies_come_whole(reactor: Any, size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    async def long(_: PageCall) -> Reply:
        return Reply(body)

    async with visiting(reactor, Route("GET", "/long", long)) as page:
        await page.log_in()
        got = await page.get("/long")
        assert got.body == body


async def test_client_that_reads_nothing_is_let_go(reactor: Any) -> None:
    async def long(_: PageCall) -> Reply:
        return Reply(b"x" * 20_000_000)

    async with visiting(reactor, Route("GET", "/long", long)) as page:
        await page.log_in()
        client = await page.connect()
        transport: Any = client.transport
        transport.pauseProducing()
        transport.write(page.request("GET", "/long", {}))
        for _ in range(400):
            await turn(reactor)
        for _ in range(3):
            page.clock.advance(15)
        assert page.listener.connections == 1
        for _ in range(2):
            page.clock.advance(15)
        transport.resumeProducing()
        await client.closed
        assert 0 < len(client.received) < 20_000_000
        assert not page.clock.getDelayedCalls()


async def turn(reactor: Any) -> None:
    await deferLater(reactor, 0, lambda: None)


class Slow:
    """A handler that waits, and what became of it."""

    def __init__(self) -> None:
        self.waiting: list[Deferred[None]] = []
        self.ended: list[str] = []

    async def __call__(self, _: PageCall) -> Reply:
        self.waiting.append(Deferred())
        try:
            await self.waiting[-1]
        except CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return Reply(b"late")


async def leave(reactor: Any, page: Visiting, slow: Slow, raw: bytes) -> None:
    client = await page.connect()
    transport: Any = client.transport
    transport.write(raw)
    await until(reactor, lambda: slow.waiting)
    assert len(page.resource) == 1
    transport.abortConnection()
    await client.closed
    for _ in range(20):
        await turn(reactor)


async def test_leaving_cancels_reading(reactor: Any) -> None:
    slow = Slow()
    async with visiting(reactor, Route("GET", "/slow", slow)) as page:
        await page.log_in()
        await leave(reactor, page, slow, page.request("GET", "/slow", {}))
        assert slow.ended == ["cancelled"]
        assert len(page.resource) == 0


async def test_leaving_does_not_stop_a_change(reactor: Any) -> None:
    slow = Slow()
    async with visiting(reactor, Route("POST", "/slow", slow)) as page:
        await page.log_in()
        body = f"csrf={page.csrf}".encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": page.origin}
        await leave(reactor, page, slow, page.request("POST", "/slow", headers, body))
        assert slow.ended == []
        slow.waiting[0].callback(None)
        assert slow.ended == ["done"]
        assert len(page.resource) == 0


async def test_stop_cancels_what_is_answered(reactor: Any) -> None:
    slow = Slow()
    async with visiting(reactor, Route("POST", "/slow", slow)) as page:
        await page.log_in()
        answer: Deferred[Any] = Deferred.fromCoroutine(page.submit("/slow"))
        await until(reactor, lambda: slow.waiting)
        await page.resource.close()
        assert slow.ended == ["cancelled"]
        got = await answer
        assert got.status == 503


async def test_stream_begins_with_the_safety_headers(reactor: Any) -> None:
    begun: list[Any] = []

    def begin(request: Any) -> None:
        begun.append(request)
        request.setHeader(b"Content-Type", b"text/event-stream")
        request.write(b"data: 1\n\n")
        request.finish()

    async def stream(_: PageCall) -> Awaitable[Reply] | StreamReply | Reply:
        return StreamReply(begin)

    route: Any = Route("GET", "/api/v1/events", stream, is_api=True)  # type: ignore[arg-type]
    async with visiting(reactor, route) as page:
        got = await page.get("/api/v1/events", authorization=f"Bearer {VIEWER_TOKEN}")
        assert b"data: 1\n\n" in got.body
        assert got.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in got.headers["content-security-policy"]
        await page.ask("HEAD", "/api/v1/events", authorization=f"Bearer {VIEWER_TOKEN}")
        assert len(begun) == 1


def test_refusals_carry_their_status() -> None:
    error = HttpRefusal(421, "Wrong host", "no")
    assert (error.status, PageError.status) == (421, 500)
