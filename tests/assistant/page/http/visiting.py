"""A page over real loopback TCP: a few routes, the standalone door on a `Clock`, and a client that sends raw bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any
from urllib.parse import urlencode

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import Clock, deferLater
from twisted.python.failure import Failure

from mud_assistant.assistant.http_server.http_listener import CLOSING_SECONDS, HttpListener
from mud_assistant.assistant.page.http.call import JSON, PageCall, PublicRoute, Reply, Route
from mud_assistant.assistant.page.http.door import StandaloneDoor, login_routes, logout_route
from mud_assistant.assistant.page.http.guard import hash_token
from mud_assistant.assistant.page.http.incoming import FORM
from mud_assistant.assistant.page.http.listener import page_listener
from mud_assistant.assistant.page.http.resource import PageResource
from mud_assistant.assistant.page.http.static import StaticTable
from mud_assistant.assistant.page.ports import Door
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.door import login_page

VIEWER_TOKEN, OPERATOR_TOKEN = "a-viewers-token", "an-operators-token"
STATIC = StaticTable({"page.css": b"main { color: black }", "page.js": b'"use strict";'})


@dataclass(frozen=True)
class Got:
    """An answer as it came: names of headers in lower case; one that came twice has both values, with a line break."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class RawClient(Protocol):
    """Collects what the server sends until it closes."""

    def __init__(self) -> None:
        self.received = b""
        self.closed: Deferred[None] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        self.received += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.closed.callback(None)


def numbered_bytes() -> Callable[[int], bytes]:
    """Return what gives other bytes each time, the same in each test."""
    numbers = count()
    return lambda length: sha256(b"%d" % next(numbers)).digest()[:length]


def parse(raw: bytes) -> Got:
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        known = headers.get(name.lower())
        headers[name.lower()] = value.strip() if known is None else f"{known}\n{value.strip()}"
    return Got(int(lines[0].split()[1]), headers, body)


@dataclass
class Visiting:
    """A page that is served, and a browser that may have its cookie."""

    reactor: Any
    clock: Clock
    door: StandaloneDoor
    resource: PageResource
    listener: HttpListener
    port: int
    calls: list[PageCall]
    cookie: str = ""
    csrf: str = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def connect(self) -> RawClient:
        endpoint = TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.port)
        client: RawClient = await connectProtocol(endpoint, RawClient())
        return client

    async def send(self, raw: bytes) -> bytes:
        """Send bytes, and return all that comes until the server closes."""
        client = await self.connect()
        assert client.transport is not None
        client.transport.write(raw)
        await client.closed
        return client.received

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
        said = {"Host": f"127.0.0.1:{self.port}", "Connection": "close"}
        said |= {"Cookie": self.cookie} if self.cookie else {}
        said |= {"Content-Length": str(len(body))} if body or method == "POST" else {}
        said |= headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in said.items() if value)
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body

    async def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Got:
        """Send one request; `content_type` is the header Content-Type. An empty header is not sent."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return parse(await self.send(self.request(method, path, named, body)))

    async def get(self, path: str, **headers: str) -> Got:
        return await self.ask("GET", path, b"", **headers)

    async def submit(self, path: str, fields: Mapping[str, str] | None = None, **headers: str) -> Got:
        """Send a form as a page of ours does: its origin, its token."""
        body = urlencode({"csrf": self.csrf, **(fields or {})}).encode()
        said: dict[str, Any] = {"origin": self.origin, "sec_fetch_site": "same-origin", "content_type": FORM}
        return await self.ask("POST", path, body, **(said | headers))

    async def call_api(self, path: str, body: bytes = b"{}", method: str = "POST", **headers: str) -> Got:
        """Send JSON as a script of ours does."""
        said: dict[str, Any] = {"origin": self.origin, "content_type": JSON, "x_csrf_token": self.csrf}
        return await self.ask(method, path, body, **(said | headers))

    async def log_in(self) -> Got:
        """Swap the printed token for a cookie, and read the token of forms from the first page."""
        token = self.door.new_address().rpartition("=")[2]
        got = await self.ask("POST", "/login", f'{{"token":"{token}"}}'.encode(), content_type=JSON, origin=self.origin)
        assert got.status == 200, got
        self.cookie = got.headers["set-cookie"].partition(";")[0]
        self.csrf = (await self.get("/")).headers["x-test-csrf"]
        return got


def sample_routes(calls: list[PageCall], more: Sequence[Route]) -> list[Route]:
    async def page(call: PageCall) -> Reply:
        calls.append(call)
        return Reply(f"hello {call.visitor.name}".encode(), headers=(("X-Test-CSRF", call.csrf),))

    async def data(call: PageCall) -> Reply:
        calls.append(call)
        return Reply(b'{"done":true}', content_type=JSON)

    return [
        Route("GET", "/", page),
        Route("POST", "/", page, VisitorRole.OPERATOR),
        Route("GET", "/runs/{id}", page),
        Route("GET", "/settings", page, VisitorRole.OWNER),
        Route("GET", "/api/v1/assistants", data, is_api=True),
        Route("POST", "/api/v1/assistants/{id}/stop", data, VisitorRole.OPERATOR, is_api=True),
        Route("PATCH", "/api/v1/assistants/{id}/settings", data, VisitorRole.OWNER, is_api=True),
        *more,
    ]


@asynccontextmanager
async def visiting(
    reactor: Any,
    *more: Route,
    public: Sequence[PublicRoute] = (),
    names: Sequence[str] = (),
    door: Door | None = None,
    **options: Any,
) -> AsyncIterator[Visiting]:
    """Serve the page; nobody is logged in. Another `door` decides instead of the standalone one."""
    time = Clock()
    own = StandaloneDoor(time, numbered_bytes(), names=names)
    calls: list[PageCall] = []
    resource = PageResource(
        [*sample_routes(calls, more), logout_route(own)],
        door or own,
        time,
        secret=b"s" * 32,
        static=STATIC,
        public=[*login_routes(own, login_page), *public],
        **options,
    )
    resource.bearers.use(
        [
            (hash_token(VIEWER_TOKEN), VisitorRole.VIEWER, "grafana"),
            (hash_token(OPERATOR_TOKEN), VisitorRole.OPERATOR, "script"),
        ]
    )
    listener = page_listener(reactor, resource, time)
    own.port = listener.start(0).port
    try:
        yield Visiting(reactor, time, own, resource, listener, own.port, calls)
    finally:
        closing = listener.close()
        for _ in range(10):  # what was sent arrives
            await deferLater(reactor, 0.001)
        time.advance(CLOSING_SECONDS)
        await closing
        assert (listener.connections, listener.held_bytes) == (0, 0)
