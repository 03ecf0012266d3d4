"""The base of every fake server: requests are recorded, keys are checked, and each answer is played as it is described.

An answer is a `Response` of HTTP, or a `RawResponse` of bytes. Times are clock seconds.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import orjson
from twisted.internet.interfaces import IReactorTime

from mud_assistant.resilience.testing.answers import BODILESS, chunk, head_of
from mud_assistant.resilience.testing.faults import Ending
from mud_assistant.resilience.testing.server_connection import ConnectionCounter

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request as it came. `at` is when it came, in clock seconds; `search` is the part of its address after the `?`.

    Header names are lower case; `body` is empty when it was not a JSON object.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    raw: bytes = field(repr=False)
    at: float = 0.0
    search: str = ""

    @property
    def target(self) -> str:
        """The path with what follows it."""
        return f"{self.path}?{self.search}" if self.search else self.path

    @property
    def query(self) -> Mapping[str, str]:
        """The first value of each parameter of the address."""
        return dict(reversed(parse_qsl(self.search, keep_blank_values=True)))

    @property
    def authorization(self) -> str:
        """The value of the Authorization header, empty without one."""
        return self.headers.get("authorization", "")

    @property
    def bearer(self) -> str:
        """The key of the Authorization header, empty without one."""
        kind, _, key = self.authorization.partition(" ")
        return key if kind == "Bearer" else ""


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers and chunks of a response, and how it continues.

    `delay_seconds` pass before it begins and `piece_seconds` between its chunks.
    """

    status: int
    headers: Mapping[str, str]
    chunks: tuple[bytes, ...] = ()
    ending: Ending = Ending.KEEP
    delay_seconds: float = field(default=0.0, kw_only=True)
    piece_seconds: float = field(default=0.0, kw_only=True)

    def cut(self, after: int, ending: Ending, last: bytes = b"") -> Response:
        """Return this answer broken off after some chunks, at the latest before its last one. `last` is then added."""
        kept = self.chunks[: max(0, min(after, len(self.chunks) - 1))]
        return replace(self, chunks=(*kept, last) if last else kept, ending=ending)

    def pieces(self, method: str) -> Iterator[bytes]:
        """Return what goes over the wire to a request of this method: at once, or chunk by chunk when it is slow."""
        is_bodiless = method == "HEAD" or self.status in BODILESS
        is_chunked = not is_bodiless and "content-length" not in map(str.lower, self.headers)
        headers = {**self.headers, "Transfer-Encoding": "chunked"} if is_chunked else self.headers
        body = [] if is_bodiless else [chunk(data) if is_chunked else data for data in self.chunks if data]
        end = [chunk(b"")] if is_chunked and self.ending in {Ending.KEEP, Ending.CLOSE} else []
        head, *rest = [head_of(self.status, *headers.items()), *body, *end]
        if not self.piece_seconds:
            return iter((b"".join([head, *rest]),))
        return iter((head + b"".join(rest[:1]), *rest[1:]))


@dataclass(frozen=True, slots=True)
class RawResponse:
    """Exactly these bytes, which may have no end, with `piece_seconds` before each piece but the first."""

    make: Callable[[], Iterator[bytes]]
    piece_seconds: float = 0.0
    ending: Ending = Ending.CLOSE
    delay_seconds: float = 0.0

    def pieces(self, _method: str) -> Iterator[bytes]:
        """Return what goes over the wire."""
        return self.make()


Answered = Response | RawResponse
#: Endless silence from the beginning.
SILENCE = RawResponse(lambda: iter(()), ending=Ending.HANG)
R = TypeVar("R", bound=ServedRequest)


class Fake(ABC, Generic[R]):
    """A server that answers by itself.

    `requests` are all requests, and `abandoned` those whose client left before the answer was complete. With a `key`,
    requests must carry it. `clients` are the open connections, for as long as it is served. `clock` gives the time;
    without one the reactor does.
    """

    #: The kind of request that is recorded.
    request_type: type[R]

    def __init__(self, clock: IReactorTime | None = None, key: str | None = None) -> None:
        self.clock = clock
        self.requests: list[R] = []
        self.abandoned: list[R] = []
        self.clients = ConnectionCounter()
        self._key = key

    def take(self, head: bytes, raw: bytes, play: Callable[[Answered], None]) -> Callable[[], None]:
        """Record a request, and `play` the answer now or later. Return what to call when its client leaves before."""
        request = self._recorded(head, raw)
        self.requests.append(request)
        answer = self.failure(request) or (self.unauthorized() if self._is_locked(request) else self.answer(request))
        leave = self.begin(request, answer, lambda: play(answer))

        def left() -> None:
            leave()
            self.abandoned.append(request)

        return left

    def begin(self, request: R, answer: Answered, play: Callable[[], None]) -> Callable[[], None]:
        """Play the answer, now or later. Return what to call when the client leaves before its end."""
        play()
        return lambda: None

    def failure(self, _request: R) -> Answered | None:
        """Return what comes instead of an answer, whatever the key; None when nothing is wrong."""
        return None

    def credential(self, request: R) -> str:
        """Return the key that a request carries."""
        return request.bearer

    @abstractmethod
    def answer(self, request: R) -> Answered:
        """Return the answer to a request with the right key."""

    def unauthorized(self) -> Response:
        """Return the answer to a wrong or missing key."""
        return json_response({"error": "unauthorized"}, 401)

    def _is_locked(self, request: R) -> bool:
        return self._key is not None and self.credential(request) != self._key

    def _recorded(self, head: bytes, raw: bytes) -> R:
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, *_ = [*first.split(" "), "/"]
        path, _, search = target.partition("?")
        headers: dict[str, str] = {}
        for name, _, value in (line.partition(":") for line in lines):
            key = name.strip().lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
        at = self.clock.seconds() if self.clock is not None else 0.0
        return self.request_type(method, path, headers, _object(raw), raw, at, search)


def json_response(record: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a record as the whole response. NaN and infinity stand in it as Python and some servers write them."""
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    return sized_response(body, _JSON, status, headers)


def sized_response(
    body: bytes, content_type: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response with its length."""
    own = {"Content-Type": content_type, "Content-Length": str(len(body))}
    return Response(status, {**own, **(headers or {})}, (body,))


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}
