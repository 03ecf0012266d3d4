"""The base of the fake reading services: pages, a record of requests, a limit per minute."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from twisted.web.http import Request
from twisted.web.resource import Resource


@dataclass(frozen=True, slots=True)
class FakePage:
    """A page as the service sees it."""

    title: str
    content: str
    status: int = 200


@dataclass(frozen=True, slots=True)
class Failing:
    """A response that the service gives once instead of a page."""

    status: int
    body: Mapping[str, Any] | bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One request: the page it is for, and what came with it."""

    url: str
    method: str
    headers: Mapping[str, str]
    record: Mapping[str, Any]


class FakeReader(Resource):
    """Serves `pages` by URL. Each of `failures` is given first, to one request. `now` gives clock seconds."""

    isLeaf = True

    def __init__(self, now: Callable[[], float], pages: Mapping[str, FakePage], *, key: str = "") -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Twisted 24.11 has no types here
        self.now = now
        self.pages = dict(pages)
        self.key = key
        self.failures: deque[Failing] = deque()
        self.heard: list[ReadRequest] = []
        self._times: deque[float] = deque()

    def seconds_over(self, most_per_minute: int) -> float:
        """Count a request if there is room for it; return 0 then, else the seconds until there is room."""
        now = self.now()
        while self._times and self._times[0] <= now - 60.0:
            self._times.popleft()
        if len(self._times) >= most_per_minute:
            return self._times[0] + 60.0 - now
        self._times.append(now)
        return 0.0

    def say(
        self, request: Request, status: int, body: Mapping[str, Any] | bytes, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Set status and headers, and return the body of this answer."""
        request.setResponseCode(status)
        request.setHeader("Content-Type", "text/html" if isinstance(body, bytes) else "application/json")
        for name, value in (headers or {}).items():
            request.setHeader(name, value)
        return body if isinstance(body, bytes) else orjson.dumps(body)

    def hear(self, request: Request, url: str = "") -> ReadRequest:
        """Record and return the request. A `url` in its body overrides the argument."""
        raw = request.content.read() if request.content else b""
        record: Any = {}
        if raw:
            record = orjson.loads(raw)
        named = {
            name.decode("latin-1").lower(): values[0].decode("latin-1")
            for name, values in request.requestHeaders.getAllRawHeaders()
        }
        heard = ReadRequest(record.get("url", url), request.method.decode("latin-1"), named, record)
        self.heard.append(heard)
        return heard

    def is_locked(self, heard: ReadRequest) -> bool:
        """Tell whether a key is required and the request lacks it."""
        return bool(self.key) and heard.headers.get("authorization") != f"Bearer {self.key}"
