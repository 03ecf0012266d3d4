"""Plain HTTP over sockets for tests of the page behind the Portal: browsers that log in, post forms, and vanish."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure

from tests.evennia.live.telnet import PATIENCE

_HEAD = b"\r\n\r\n"


class Exchange(Protocol):
    """One request on a connection of its own. `head` fires when the headers are there, `whole` at the end."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.received = b""
        self.head: Deferred[None] = Deferred()
        self.whole: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        assert self.transport is not None
        self.transport.write(self._request)

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        if _HEAD in self.received and not self.head.called:
            self.head.callback(None)

    def connectionLost(self, reason: Failure | None = None) -> None:
        for waiting in (self.head, self.whole):
            if not waiting.called:
                waiting.callback(None)

    def vanish(self) -> None:
        """Be gone without a word, as a machine that is switched off."""
        transport: Any = self.transport
        transport.abortConnection()


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    body: str


@dataclass
class Browser:
    """Somebody's browser at one port of a game: it keeps cookies, and says where its forms come from."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """The origin of the game's web site."""
        return f"http://127.0.0.1:{self.port}"

    async def get(self, path: str, **headers: str) -> Answer:
        """The answer to a GET. A header is named with `_` for `-`."""
        return await self._ask("GET", path, headers, b"")

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        """The answer to a form of the page itself, unless the headers say that another page sent it."""
        own = {"Origin": self.origin, "Sec_Fetch_Site": "same-origin"}
        kind = {"Content_Type": "application/x-www-form-urlencoded"}
        return await self._ask("POST", path, {**own, **kind, **headers}, urlencode(fields).encode())

    async def log_in(self, name: str, password: str, at: str) -> Answer:
        """Send the form of the game's log-in page, to which `at` leads."""
        await self.get(at)
        return await self.post(
            at, {"username": name, "password": password, "csrfmiddlewaretoken": self.cookies["csrftoken"]}
        )

    async def stream(self, path: str) -> Exchange:
        """An answer that goes on, of which the headers are there."""
        exchange = await self._begin("GET", path, {}, b"")
        await exchange.head.addTimeout(PATIENCE, _reactor())
        return exchange

    async def _ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        exchange = await self._begin(method, path, headers, body)
        await exchange.whole.addTimeout(PATIENCE, _reactor())
        answer = parsed(exchange.received)
        self.cookies.update(answer.cookies)
        return answer

    async def _begin(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        named = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", "Content_Length": str(len(body))}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in {**named, **headers}.items()]
        lines += [f"Cookie: {cookies}"] if cookies else []
        head = "\r\n".join([f"{method} {path} HTTP/1.0", *lines])  # 1.0: no answer in chunks
        exchange = Exchange(head.encode() + _HEAD + body)
        endpoint = TCP4ClientEndpoint(_reactor(), "127.0.0.1", self.port)
        await connectProtocol(endpoint, exchange)
        return exchange


def parsed(received: bytes) -> Answer:
    """An answer as it came over the wire."""
    head, _, body = received.partition(_HEAD)
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    set_cookies = [value.partition(";")[0].partition("=") for name, value in pairs if name == "set-cookie"]
    cookies = {name: value for name, _, value in set_cookies}
    return Answer(int(first.split()[1]), dict(pairs), cookies, body.decode("utf-8", "replace"))


def form_token(page: str) -> str:
    """The token that the forms of a page carry."""
    (token, *_) = re.findall(r'name="csrf"[^>]*value="([^"]+)"', page) or re.findall(
        r'value="([^"]+)"[^>]*name="csrf"', page
    )
    return str(token)


def _reactor() -> Any:
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (a test's composition root)

    return reactor
