"""Finds where HTTP/1.1 messages begin and end in a stream of bytes. Pure: no byte is changed, none is waited for.

Bodies are counted (Content-Length), chunked, or go on until the connection closes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto

from msgspec import Struct

#: The most bytes a head may have; no HTTP that we know has more.
MAX_HEAD_BYTES = 256 * 1024
_MAX_LINE_BYTES = 16 * 1024
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_BODILESS = (204, 304)
_SWITCHING = 101
_FINAL = 200


class FramingError(ValueError):
    """The bytes are not HTTP/1.1 that could be followed; the message says why."""


class Head(Struct, frozen=True):
    """The whole head of a message, with its blank line."""

    data: bytes


class Piece(Struct, frozen=True):
    """Some bytes of a body as they are on the wire, including the sizes and trailers of a chunked body."""

    data: bytes


class End(Struct, frozen=True):
    """The message is complete."""


Part = Head | Piece | End


class Body(Enum):
    """How a body without a length ends. INTERIM: this head has no body and another head follows (100 Continue)."""

    CHUNKED = auto()
    UNTIL_CLOSE = auto()
    INTERIM = auto()


class Framing:
    """Cuts a stream into messages: `feed` it bytes and call `next` until it returns None.

    `length_of` says from a head how long the body is. Both raise FramingError.
    """

    def __init__(self, length_of: Callable[[bytes], int | Body]) -> None:
        self._length_of = length_of
        self._held = bytearray()
        self._searched = 0
        self._next: Callable[[], Part | None] = self._head
        self._left = 0

    @property
    def held_bytes(self) -> int:
        """How many bytes were fed and not taken yet."""
        return len(self._held)

    @property
    def is_between(self) -> bool:
        """Whether a message is over and the next part is a head."""
        return self._next == self._head

    def feed(self, data: bytes) -> None:
        """Add bytes of the stream."""
        self._held += data

    def next(self) -> Part | None:
        """Return the next part; None when it needs more bytes."""
        return self._next()

    def _head(self) -> Part | None:
        if not self._searched:
            del self._held[: len(self._held) - len(self._held.lstrip(b"\r\n"))]
        if self._held and not self._held[:1].isalpha():
            raise FramingError("this is not HTTP; connect without TLS")
        found = _BLANK_LINE.search(self._held, max(0, self._searched - 3))
        self._searched = len(self._held)
        if (found.end() if found else self._searched) > MAX_HEAD_BYTES:
            raise FramingError(f"the head has more than {MAX_HEAD_BYTES} bytes")
        if found is None:
            return None
        head = self._taken(found.end())
        self._searched = 0
        self._begin(self._length_of(head))
        return Head(head)

    def _begin(self, length: int | Body) -> None:
        """Switch to reading the body."""
        match length:
            case Body.CHUNKED:
                self._next = self._chunk_size
            case Body.UNTIL_CLOSE:
                self._next = self._rest
            case Body.INTERIM:
                self._next = self._head
            case int():
                self._left = length
                self._next = self._counted

    def _counted(self) -> Part | None:
        if self._left == 0:
            self._next = self._head
            return End()
        return self._some()

    def _rest(self) -> Part | None:
        return Piece(self._taken(len(self._held))) if self._held else None

    def _chunk_size(self) -> Part | None:
        line = self._line()
        if line is None:
            return None
        digits = line.split(b";")[0].strip()
        if re.fullmatch(rb"[0-9A-Fa-f]{1,15}", digits) is None:
            raise FramingError("a chunk has no size")
        size = int(digits, 16)
        self._left = size + 2 if size else 0
        self._next = self._chunk if size else self._trailer
        return Piece(line)

    def _chunk(self) -> Part | None:
        if self._left == 0:
            self._next = self._chunk_size
            return self._chunk_size()
        return self._some()

    def _trailer(self) -> Part | None:
        line = self._line()
        if line is None:
            return None
        if not line.strip():
            self._next = self._counted  # `_left` is 0, so the next part is the end
        return Piece(line)

    def _some(self) -> Part | None:
        """Return the available bytes of the counted body, up to what is left of it."""
        if not self._held:
            return None
        data = self._taken(min(self._left, len(self._held)))
        self._left -= len(data)
        return Piece(data)

    def _line(self) -> bytes | None:
        end = self._held.find(b"\n") + 1
        if (end or len(self._held)) > _MAX_LINE_BYTES:
            raise FramingError(f"a line between chunks has more than {_MAX_LINE_BYTES} bytes")
        return self._taken(end) if end else None

    def _taken(self, size: int) -> bytes:
        data = bytes(self._held[:size])
        del self._held[:size]
        return data


def request_length(head: bytes) -> int | Body:
    """Return how long the body of a request is; 0 when the head does not say. Raises FramingError."""
    fields = _fields(head)
    if b"transfer-encoding" in fields:
        if not _is_chunked(fields):
            raise FramingError("the body of the request has an end that cannot be found: send Content-Length")
        return Body.CHUNKED
    return _content_length(fields) or 0


def response_length(head: bytes, method: bytes) -> int | Body:
    """Return how long the body of the response to a request with this method is. Raises FramingError.

    When a server says it will close, its response ends with the connection.
    """
    fields = _fields(head)
    version, status = _status(head)
    if status < _FINAL and status != _SWITCHING:
        return Body.INTERIM
    if _closes(fields, version):
        return Body.UNTIL_CLOSE
    if method == b"HEAD" or status in _BODILESS:
        return 0
    if _is_chunked(fields):
        return Body.CHUNKED
    length = _content_length(fields)
    return Body.UNTIL_CLOSE if length is None or status == _SWITCHING else length


def wants_close(head: bytes) -> bool:
    """Tell whether a request is the last one of its connection."""
    return _closes(_fields(head), head.split(b"\n", 1)[0].split()[-1])


def _closes(fields: dict[bytes, bytes], version: bytes) -> bool:
    connection = fields.get(b"connection", b"").lower()
    return b"close" in connection or (version == b"HTTP/1.0" and b"keep-alive" not in connection)


def _status(head: bytes) -> tuple[bytes, int]:
    found = re.match(rb"(HTTP/\d\.\d) (\d{3})\b", head)
    if found is None:
        raise FramingError("the response has no status line")
    return found[1], int(found[2])


def _fields(head: bytes) -> dict[bytes, bytes]:
    """Return the header fields, with names in lower case. Of several with one name the last counts."""
    pairs = (line.partition(b":") for line in head.split(b"\n")[1:])
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


def _is_chunked(fields: dict[bytes, bytes]) -> bool:
    return fields.get(b"transfer-encoding", b"").lower().split(b",")[-1].strip() == b"chunked"


def _content_length(fields: dict[bytes, bytes]) -> int | None:
    length = fields.get(b"content-length")
    if length is None:
        return None
    if re.fullmatch(rb"\d{1,18}", length) is None:
        raise FramingError("Content-Length is no number")
    return int(length)
