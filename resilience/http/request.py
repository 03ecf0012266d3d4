"""The values of one HTTP exchange: the request, its limits, and the reader of the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from twisted.internet.defer import Deferred
from twisted.web.http_headers import Headers

_USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Limits:
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


class Sink(Protocol):
    """The reader of a response. Anything it raises ends the exchange with that error."""

    def head(self, status: int, headers: Headers) -> None:
        """Take the status and the headers."""
        ...

    def data(self, piece: bytes) -> bool | Deferred[bool]:
        """Take some bytes of the body. Return True when no more are needed, or a Deferred of that if it takes time."""
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
