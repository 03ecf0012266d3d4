"""The values of one HTTP exchange: the request, its limits, and the reader of the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.web.http_headers import Headers

_USUAL_PORTS = {"http": 80, "https": 443}


class Limits(Struct, frozen=True):
    """The limits of one exchange. Times in seconds, sizes in bytes.

    `idle_seconds` is how long nothing at all may come; `progress_seconds` how long only signs of life may come.
    """

    connect_seconds: float = 5.0
    first_byte_seconds: float = 60.0
    idle_seconds: float = 60.0
    max_body_bytes: int = 32 * 1024 * 1024
    progress_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send. Headers may hold a key and URLs a path, so a repr shows neither."""

    method: str
    url: str = field(repr=False)
    headers: Headers = field(repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a request goes: the parts of its URL. Only `origin` may be shown."""

    url: str = field(repr=False)
    #: Scheme, host and port.
    key: tuple[str, str, int]
    origin: str
    #: Path and query, as they stand in the request line.
    path: bytes = field(repr=False)
    host: bytes = field(repr=False)


class Sink(Protocol):
    """The reader of a response. Anything it raises ends the exchange with that error."""

    def head(self, status: int, headers: Headers) -> None:
        """Take the status and the headers."""
        ...

    def data(self, piece: bytes) -> bool | Deferred[bool]:
        """Take some bytes of the body. Return True when no more are needed, or a Deferred of that if it takes time."""
        ...


class Exchange(Protocol):
    """What performs requests: an `HttpExchange`, or one with a guard before it."""

    async def perform(self, request: Request, sink: Sink, limits: Limits | None = None) -> None:
        """Send `request` and feed the response to `sink`, as `HttpExchange.perform` does."""
        ...


class Collected:
    """A sink that keeps the whole body: `status`, `headers` and `body` after the exchange."""

    def __init__(self) -> None:
        self.status = 0
        self.headers = Headers()
        self._pieces: list[bytes] = []

    def head(self, status: int, headers: Headers) -> None:
        """Take the status and the headers."""
        self.status, self.headers = status, headers

    def data(self, piece: bytes) -> bool:
        """Keep the piece. Return False: there may always be more."""
        self._pieces.append(piece)
        return False

    @property
    def body(self) -> bytes:
        """All bytes that came."""
        return b"".join(self._pieces)


@lru_cache(maxsize=256)
def target_of(url: str) -> RequestTarget:
    """Return where a request to this URL goes. Raises ValueError for a URL that cannot be requested."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("a URL has only printable ASCII characters, and no blanks")
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port
    if parts.scheme not in _USUAL_PORTS or not host:
        raise ValueError("a URL begins with http:// or https:// and a host")
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}".encode("ascii")
    key = (parts.scheme, host, port if port is not None else _USUAL_PORTS[parts.scheme])
    return RequestTarget(url, key, origin_of(url), path, host_of(url).encode("ascii"))


@lru_cache(maxsize=256)
def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL: the part that may be shown and logged."""
    parts = urlsplit(url)
    port = _port(parts)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{port}' if port else ''}"


def host_of(url: str) -> str:
    """Return the Host header of a request to this URL (RFC 9110 section 7.2): no port where it is the usual one."""
    parts = urlsplit(url)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    port = _port(parts)
    return f"{name}:{port}" if port and port != _USUAL_PORTS.get(parts.scheme) else name


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        return None
