"""Reads HTTP/1.1 responses with llhttp, the parser of Node, in its strict mode.

What it refuses, and why, is in docs/decisions/0019-our-own-http.md.
"""

from __future__ import annotations

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from msgspec import Struct

from mud_assistant.resilience.http.headers import ReceivedHeaders

#: The most bytes of one response head, and of what may come without any of the body: trailers, and the lines before
#: chunks. Real ones have a few thousand.
MAX_HEAD_BYTES = 256 * 1024
#: RFC 9110 section 15.
_FIRST_INTERIM, _FIRST_FINAL, _LAST = 100, 200, 999
_READ_VERSIONS = frozenset({"1.0", "1.1"})


class MalformedResponse(Exception):
    """What came is no HTTP/1.1 response, or one that could be read in more than one way."""


class HeadTooLong(Exception):
    """The head, the trailers or the line before a chunk have more than MAX_HEAD_BYTES."""


class ResponseHead(Struct, frozen=True):
    """The status and the headers of a response."""

    status: int
    headers: ReceivedHeaders


class ResponseReader:
    """Reads the responses of one connection, one after the other. Call `begin` before each request.

    `head` is there once it was read, `is_complete` tells that the response has ended. `pieces` are the parts of the
    body: take them away after each `feed`. Interim responses (1xx) are skipped.
    """

    __slots__ = (
        "_bytes_beside", "_expects_body", "_is_interim", "_is_plain", "_parser", "_tail", "_values", "can_keep",
        "head", "is_complete", "on_body", "pieces",
    )  # fmt: skip

    def __init__(self) -> None:
        #: What the parser calls for each part of a body.
        self.pieces: list[bytes] = []
        self.on_body = self.pieces.append
        #: The values of the head that is being read, by names in lower case.
        self._values: dict[bytes, list[bytes]] = {}
        self.begin()
        self._parser: HttpResponseParser | None = HttpResponseParser(self)

    def begin(self, *, expects_body: bool = True) -> None:
        """Expect the response to a request. `expects_body` is False for HEAD: its response has only a head."""
        self._expects_body = expects_body
        #: Bytes that came since the last of the body.
        self._bytes_beside = 0
        #: The last bytes that were read, enough to tell an empty line. Empty only before the first.
        self._tail = b""
        self._is_interim = False
        #: Whether an older server would find the same end of the body.
        self._is_plain = True
        self.head: ResponseHead | None = None
        self.is_complete = False
        #: Whether the connection may be used again: the server allows it, and sent nothing after the response.
        self.can_keep = False

    def close(self) -> None:
        """Let the parser go: it and the reader refer to each other."""
        self._parser = None

    def feed(self, data: bytes) -> None:
        """Read some bytes. Raises MalformedResponse or HeadTooLong."""
        if self._parser is None:
            return
        if not self._tail and not data.startswith(b"H"):
            raise MalformedResponse("it does not begin with HTTP")  # the parser skips line breaks, and takes RTSP
        had_head = self.head is not None
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self.is_complete:
                raise _cause(error) from None
            self.can_keep = False  # something came after the response: it stays what it is, and nothing more is read
        if self.is_complete:
            if not self._expects_body:
                self.pieces.clear()  # what follows the head belongs to no response
            elif self.can_keep and data.endswith((b"\r", b"\n")):
                self.can_keep = self._is_last(data, had_head=had_head)
            data = data[-5:]  # nothing long is kept while the connection waits
        elif self.pieces:
            self._bytes_beside = 0
        else:
            self._bytes_beside += len(data)
            if self._bytes_beside > MAX_HEAD_BYTES:
                raise HeadTooLong
        self._tail = data if len(data) > 4 else (self._tail + data)[-5:]  # noqa: PLR2004  (as below)

    def _is_last(self, data: bytes, *, had_head: bool) -> bool:
        """Tell whether the response ends where `data` does. The parser skips line breaks after it without a word."""
        assert self.head is not None
        body = b"" if self.head.headers.hasHeader(b"transfer-encoding") else b"".join(self.pieces)
        if body and had_head:
            return len(body) == len(data)
        read = self._tail + data
        before = read[: len(read) - len(body)]
        # What is before the body, or all of a chunked response, ends with one empty line and no more.
        return read.endswith(body) and before.endswith(b"\r\n\r\n") and before[-5:-4] not in {b"\r", b"\n"}

    def ends_with_connection(self) -> bool:
        """Tell whether the body ends where the connection does (RFC 9112 section 6.3, the last rule)."""
        if self.head is None or self.is_complete:
            return False
        headers = self.head.headers
        return not headers.hasHeader(b"transfer-encoding") and not headers.hasHeader(b"content-length")

    def on_message_begin(self) -> None:
        """Take note that a response begins: the parser found one. One that nobody asked for ends the connection."""
        if self.is_complete:
            raise MalformedResponse("it sent a response that was not asked for")
        self._is_interim = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Nobody reads a trailer."""
        if self.head is None:
            self._values.setdefault(name.lower(), []).append(value)

    def on_headers_complete(self) -> None:
        """Take the head of a response, unless it is an interim one."""
        assert self._parser is not None
        values, self._values = self._values, {}
        headers = ReceivedHeaders(values=values)
        status, version = self._parser.get_status_code(), self._parser.get_http_version()
        if version not in _READ_VERSIONS:
            raise MalformedResponse("it is of another version of HTTP")
        is_coded = headers.hasHeader(b"transfer-encoding")
        if _FIRST_INTERIM <= status < _FIRST_FINAL:
            if is_coded or headers.hasHeader(b"content-length"):
                raise MalformedResponse("an interim response announced a body")
            self._is_interim = True
            return
        if not _FIRST_FINAL <= status <= _LAST:
            raise MalformedResponse(f"its status is {status}")
        if is_coded:
            # As they came: the parser takes blanks after the name of the coding, but no tab.
            codings = [value.rstrip(b" ").lower() for value in values[b"transfer-encoding"]]
            if codings != [b"chunked"]:
                raise MalformedResponse("its transfer coding is another than chunked")
            self._is_plain = version != "1.0"
        self.head = ResponseHead(status, headers)
        self.is_complete = not self._expects_body

    def on_message_complete(self) -> None:
        """Take note of the end of a response."""
        assert self._parser is not None
        if self._is_interim or not self._expects_body:
            return
        self.is_complete = True
        self.can_keep = self._is_plain and self._parser.should_keep_alive()


def _cause(error: Exception) -> MalformedResponse:
    """Return why the parser stopped: what we raised ourselves, or what it says."""
    if isinstance(error, HttpParserUpgrade):
        return MalformedResponse("it switched to another protocol")
    return error.__context__ if isinstance(error.__context__, MalformedResponse) else MalformedResponse(str(error))
