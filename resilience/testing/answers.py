"""Faults that are whole HTTP answers, as a server in trouble gives them. The real server is not asked.

Durations are float seconds, sizes bytes. The bytes of an answer are made piece by piece as they are needed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain, repeat
from typing import assert_never

_JSON = ("Content-Type", "application/json")
#: Bytes of a padding header line that are not padding: its name, colon, space and line end.
_PADDING_BYTES = len("X-Padding: \r\n")
#: Zeros that are compressed at once; on the wire they are a thousandth of it.
BLOCK_BYTES = 1024 * 1024
#: Bytes of headers that are written at once.
_HEADER_PIECE_BYTES = 64 * 1024
_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Welcome</h1></body></html>\n"
_HALF = b'data: {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [{"delta": {"content": "The w'
#: Statuses whose answers have no body.
BODILESS = (204, 304)
_EVENTS = ("Content-Type", "text/event-stream")


def require(is_right: bool, sentence: str) -> None:
    """Raise ValueError with the sentence when `is_right` is False."""
    if not is_right:
        raise ValueError(sentence)


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


def pieces(answer: Answer) -> Iterator[bytes]:
    """Return the answer as it goes over the wire. No piece is empty; EndlessEvents has no end."""
    match answer:
        case Status(code, body, headers):
            return iter((_whole(code, body, *headers),))
        case HtmlPage():
            return iter((_whole(200, _PAGE, ("Content-Type", "text/html; charset=utf-8")),))
        case HalfEvent():
            return _streamed((_HALF,), _EVENTS)
        case EndlessEvents():
            return _streamed(repeat(b": ping\n\n"), _EVENTS)
        case HugeHeader(size, line_bytes):
            return _padded(size, line_bytes)
        case GzipBomb(decoded_bytes):
            return _streamed(bomb(decoded_bytes), ("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
        case _:
            assert_never(answer)


def interval_seconds(answer: Answer) -> float:
    """Return the seconds between two pieces of the answer."""
    return answer.interval_seconds if isinstance(answer, EndlessEvents) else 0.0


def bomb(decoded_bytes: int) -> Iterator[bytes]:
    """Yield a gzip stream of that many zeros. Full blocks are compressed independently, so one is made and repeated."""
    yield b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    block = _packed(BLOCK_BYTES)
    checksum = 0
    for start in range(0, decoded_bytes, BLOCK_BYTES):
        size = min(BLOCK_BYTES, decoded_bytes - start)
        checksum = zlib.crc32(bytes(size), checksum)
        yield block if size == BLOCK_BYTES else _packed(size)
    yield b"\x03\x00" + checksum.to_bytes(4, "little") + (decoded_bytes % 2**32).to_bytes(4, "little")


def _packed(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(bytes(size)) + packer.flush(zlib.Z_FULL_FLUSH)


def _whole(code: int, body: bytes, *headers: tuple[str, str]) -> bytes:
    if code in BODILESS:
        return head_of(code, *headers)
    return head_of(code, *headers, ("Content-Length", str(len(body)))) + body


def _streamed(body: Iterable[bytes], *headers: tuple[str, str]) -> Iterator[bytes]:
    """Return a head and a chunked body with its end."""
    head = head_of(200, *headers, ("Transfer-Encoding", "chunked"))
    return chain((head,), map(chunk, body), (chunk(b""),))


def chunk(data: bytes) -> bytes:
    """Return a chunk of a body; one without data is the end."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _padded(size: int, line_bytes: int) -> Iterator[bytes]:
    """Yield a head with `size` bytes of padding lines. The last line has at least the bytes of an empty header."""
    yield b"HTTP/1.1 200 OK\r\n"
    line = b"X-Padding: " + b"x" * (line_bytes - 13) + b"\r\n"
    together = max(1, _HEADER_PIECE_BYTES // line_bytes)
    whole, rest = divmod(size, line_bytes)
    for start in range(0, whole, together):
        yield line * min(together, whole - start)
    if rest:
        yield b"X-Padding: " + b"x" * max(0, rest - 13) + b"\r\n"
    yield b"Content-Length: 2\r\n\r\n{}"


def head_of(code: int, *headers: tuple[str, str]) -> bytes:
    """Return the head of a response, with its blank line."""
    lines = [f"HTTP/1.1 {code} {_reason(code)}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _reason(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"
