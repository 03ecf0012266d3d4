"""Faults that are whole HTTP answers, as a server in trouble gives them. The real server is not asked.

Durations are float seconds, sizes bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from resilience.testing.faults.connection_faults import require

_JSON = ("Content-Type", "application/json")


@dataclass(frozen=True, slots=True)
class Status:
    """An answer with this status code (200 to 599), body and headers; each header is a pair of name and value."""

    code: int
    body: bytes = field(default=b"", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Reject a code that is not a final status."""
        require(200 <= self.code <= 599, "give the status as a number from 200 to 599")  # noqa: PLR2004  (as said)


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """200 with a web page, as a captive portal or a misconfigured gateway answers."""


@dataclass(frozen=True, slots=True)
class HalfEvent:
    """200 with half a server-sent event; the HTTP body itself ends correctly."""


@dataclass(frozen=True, slots=True)
class EndlessEvents:
    """200 with a server-sent comment every `interval_seconds`, for ever: signs of life and no answer."""

    interval_seconds: float

    def __post_init__(self) -> None:
        """Reject an interval below zero."""
        require(self.interval_seconds >= 0, "give the time between two events as 0 or more seconds")


@dataclass(frozen=True, slots=True)
class HugeHeader:
    """200 with `bytes` bytes of headers, in lines of at most `line_bytes`."""

    bytes: int
    line_bytes: int = 1000

    def __post_init__(self) -> None:
        """Reject a size below 1, and lines without room for a name and a value."""
        require(self.bytes >= 1, "give the size of the headers as 1 or more bytes")
        require(self.line_bytes > _PADDING_BYTES, f"give the size of a header line as more than {_PADDING_BYTES} bytes")


@dataclass(frozen=True, slots=True)
class GzipBomb:
    """200 with a gzipped body of `decoded_bytes` zeros, a thousandth of that on the wire."""

    decoded_bytes: int

    def __post_init__(self) -> None:
        """Reject a size below zero."""
        require(self.decoded_bytes >= 0, "give the size of the decoded body as 0 or more bytes")


Answer = Status | HtmlPage | HalfEvent | EndlessEvents | HugeHeader | GzipBomb

#: Bytes of a padding header line that are not padding: its name, colon, space and line end.
_PADDING_BYTES = len("X-Padding: \r\n")


def throttled(retry_after_seconds: float) -> Status:
    """Return a 429 with Retry-After (seconds) and an error in the shape of OpenAI's."""
    require(retry_after_seconds >= 0, "give the time to wait as 0 or more seconds")
    error = {"message": "Rate limit reached", "type": "requests", "param": None, "code": "rate_limit_exceeded"}
    headers = (_JSON, ("Retry-After", f"{retry_after_seconds:g}"))
    return Status(429, json.dumps({"error": error}).encode(), headers)


def overloaded() -> Status:
    """Return a 529 with an error in the shape of Anthropic's."""
    error = {"type": "overloaded_error", "message": "Overloaded"}
    return Status(529, json.dumps({"type": "error", "error": error}).encode(), (_JSON,))


def server_error(code: int = 500) -> Status:
    """Return a 5xx with an error in the shape of OpenAI's."""
    require(500 <= code <= 599, "give the status of a server error as a number from 500 to 599")  # noqa: PLR2004  (as said)
    error = {"message": "The server had an error", "type": "server_error", "param": None, "code": None}
    return Status(code, json.dumps({"error": error}).encode(), (_JSON,))
