"""Browsers that read the live stream over loopback, and a page that serves it to whoever the query says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol
from twisted.internet.task import deferLater
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from mud_assistant.assistant.page.http.call import Handler, PageCall, Reply
from mud_assistant.assistant.page.http.stream import live_route
from mud_assistant.assistant.page.live import AskedRequests, LiveHub
from mud_assistant.assistant.page.ports import Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.llm.testing import FakeOllama, serve
from mud_assistant.tools import Principal
from tests.assistant.living import reactor
from tests.assistant.service.village import Village, village


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something holds."""
    for _ in range(int(seconds / 0.005)):
        if condition():
            return
        await deferLater(reactor, 0.005)
    raise AssertionError("it did not come true")


class LivePage(Resource):
    """The route of the stream; session, role, tab and filters stand in the query."""

    isLeaf = True

    def __init__(self, handler: Handler) -> None:
        Resource.__init__(self)
        self._handler = handler

    def render_GET(self, request: Request) -> int:
        query = {name.decode(): values[0].decode() for name, values in (request.args or {}).items()}
        role = VisitorRole(query.pop("role", "operator"))
        visitor = Visitor(Principal("player:9", "Boss"), role, query.pop("session", "s"))
        Deferred.fromCoroutine(self._answer(request, PageCall("GET", "/live", visitor, query=query)))
        return NOT_DONE_YET

    async def _answer(self, request: Request, call: PageCall) -> None:
        reply = await self._handler(call)
        if isinstance(reply, Reply):
            request.setResponseCode(reply.status)
            request.write(reply.body)
            request.finish()
        else:
            reply.begin(request)


class Browser(Protocol):
    """A browser with one stream open. It keeps all bytes it was sent."""

    transport: Any

    def __init__(self, last_id: str = "", **query: str) -> None:
        self.bytes = bytearray()
        self.gone = False
        lines = [f"GET /live?{urlencode(query)} HTTP/1.0", f"Last-Event-ID: {last_id}" if last_id else ""]
        self._head = "\r\n".join(filter(None, lines)) + "\r\n\r\n"

    def connectionMade(self) -> None:
        self.transport.write(self._head.encode())

    def dataReceived(self, data: bytes) -> None:
        self.bytes += data

    def connectionLost(self, reason: Failure = Failure(Exception())) -> None:  # noqa: B008
        self.gone = True

    @property
    def status(self) -> int:
        return int(self.bytes.split(b" ", 2)[1])

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that are here whole, each with the JSON of its data."""
        whole = self.bytes.rpartition(b"\n\n")[0].decode()
        found = []
        for block in whole.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if line.startswith(("id", "event", "data")))
            if "data" in lines:
                event = json.loads(lines["data"])
                assert (event["id"], event["kind"]) == (lines["id"], lines["event"])
                found.append(event)
        return found

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The data of the events of a kind."""
        return [event["data"] for event in self.events if event["kind"] == kind]


@dataclass
class Watched:
    """A village whose live events are served."""

    here: Village
    hub: LiveHub
    asked: AskedRequests
    fake: FakeOllama
    url: str
    port: int
    _browsers: list[Browser] = field(default_factory=list)

    async def browser(self, last_id: str = "", **query: str) -> Browser:
        """Open a stream, and wait for its first bytes."""
        opened: list[Browser] = []
        await self.opening(opened, last_id, **query)
        await until(lambda: b"\r\n\r\n" in opened[0].bytes)
        return opened[0]

    def opening(self, opened: list[Browser], last_id: str = "", **query: str) -> Deferred[Browser]:
        """Open a stream, and add its browser to those `opened`."""
        browser = Browser(last_id, **query)
        self._browsers.append(browser)
        opened.append(browser)
        connected: Deferred[Browser] = connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", self.port), browser)
        return connected

    async def leave(self, browser: Browser) -> None:
        """Close a browser, and wait until the server knows it."""
        streams = self.hub.streams
        browser.transport.loseConnection()
        await until(lambda: browser.gone and self.hub.streams < streams)

    async def close(self) -> None:
        """Close all browsers."""
        for browser in self._browsers:
            if not browser.gone:
                browser.transport.abortConnection()
        await until(lambda: all(browser.gone for browser in self._browsers))

    def settings(self, **assistant: Any) -> dict[str, Any]:
        """Settings for the fake model."""
        model = {"provider": "ollama", "url": self.url, "model": "sage", "max_attempts": 2, "examples": False}
        return {"model": model, "assistant": {"join_seconds": 0, **assistant}}


@asynccontextmanager
async def watched(
    folder: Path, fake: FakeOllama, *, clock: IReactorTime = reactor, max_seconds: float = 60.0, **hub: Any
) -> AsyncIterator[Watched]:
    """A village that is served on loopback; the hub and the streams live on `clock`."""
    async with village(folder) as here, serve(fake, reactor) as url:
        asked = AskedRequests(here.service.scrub)
        here.service.watchers.keep_requests(asked)
        made = LiveHub(here.service, clock, lambda: 1_000_000.0, here.service.scrub, **hub)
        port = reactor.listenTCP(0, Site(LivePage(live_route(made, max_seconds))), 200, "127.0.0.1")
        found = Watched(here, made, asked, fake, url, port.getHost().port)
        try:
            yield found
        finally:
            made.close()
            await found.close()
            await port.stopListening()
