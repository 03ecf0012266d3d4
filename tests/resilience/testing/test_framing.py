"""Where requests and responses begin and end, in streams that come in any pieces."""

from __future__ import annotations

import pytest

from mud_assistant.resilience.testing.framing import (
    MAX_HEAD_BYTES,
    Body,
    End,
    Framing,
    FramingError,
    Head,
    Part,
    Piece,
    request_length,
    response_length,
    wants_close,
)


def cut(framing: Framing, data: bytes, step: int) -> list[Part]:
    """The parts of a stream that comes in steps; pieces of one body joined."""
    parts: list[Part] = []
    for start in range(0, len(data), step):
        framing.feed(data[start : start + step])
        while (part := framing.next()) is not None:
            if isinstance(part, Piece) and parts and isinstance(parts[-1], Piece):
                parts[-1] = Piece(parts[-1].data + part.data)
            else:
                parts.append(part)
    return parts


GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH: 5\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"
CHUNKS = b"5;x=y\r\nhello\r\nA\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\nTrailer: 1\r\n\r\n"


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_requests_are_found_in_a_stream(step: int) -> None:
    stream = GET + POST + b"hello" + b"\r\n" + CHUNKED + CHUNKS + POST + b"GET /"
    expected = [Head(GET), End(), Head(POST), Piece(b"hello"), End(), Head(CHUNKED), Piece(CHUNKS), End(), Head(POST)]
    assert cut(Framing(request_length), stream, step) == [*expected, Piece(b"GET /"), End()]


def test_an_interim_response_is_followed_by_the_real_one() -> None:
    interim, final = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    framing = Framing(lambda head: response_length(head, b"POST"))
    assert cut(framing, interim + final + b"ok", 4) == [Head(interim), Head(final), Piece(b"ok"), End()]
    assert framing.is_between


@pytest.mark.parametrize(
    ("method", "head", "length"),
    [
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 7),
        (b"GET", b"HTTP/1.1 200 OK\nContent-Length: 7\n\n", 7),
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 0),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n", 0),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 0),
        (b"GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Body.CHUNKED),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: Close\r\n\r\n", Body.UNTIL_CLOSE),
        (b"GET", b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n", Body.UNTIL_CLOSE),
        (b"GET", b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\nConnection: keep-alive\r\n\r\n", 7),
        (b"GET", b"HTTP/1.1 200 OK\r\n\r\n", Body.UNTIL_CLOSE),
        (b"GET", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", Body.UNTIL_CLOSE),
        (b"GET", b"HTTP/1.1 103 Early Hints\r\n\r\n", Body.INTERIM),
    ],
)
def test_how_long_a_response_is(method: bytes, head: bytes, length: int | Body) -> None:
    assert response_length(head, method) == length


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (MAX_HEAD_BYTES // 6),
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        CHUNKED + b"-5\r\n",
        CHUNKED + b"x" * 20_000,
    ],
)
def test_what_cannot_be_followed_is_an_error(data: bytes) -> None:
    framing = Framing(request_length)
    framing.feed(data)
    with pytest.raises(FramingError):
        list(iter(framing.next, None))


def test_which_request_is_the_last() -> None:
    assert not wants_close(GET)
    assert wants_close(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert wants_close(b"GET / HTTP/1.0\r\n\r\n")
