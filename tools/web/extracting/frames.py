"""The messages between the reactor's process and the worker: a JSON head and a body of bytes, both length-prefixed.

    | 4 bytes: length of the head | 4 bytes: length of the body | head | body |

To the worker: head {content_type, charset, ...}, body the page. From it: {"say": "ready"} once; for each page
{"say": "begun"} when it was read from the pipe, then {"say": "done", title, flags} with the text as body, or
{"say": "failed", kind, message}. Neither side trusts a length.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import BinaryIO

from llm.messages import JSONObject

MAX_HEAD_BYTES = 64 * 1024
_LENGTHS = struct.Struct(">II")


class BadFrame(Exception):
    """Raised when the received bytes are not a message."""


def pack(head: JSONObject, body: bytes = b"") -> bytes:
    """Return one message as bytes."""
    encoded = json.dumps(head).encode()
    return _LENGTHS.pack(len(encoded), len(body)) + encoded + body


def read_frame(pipe: BinaryIO, max_body: int) -> tuple[JSONObject, bytes] | None:
    """Read the next message, blocking; return None when the other side has closed. Raises BadFrame."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _check_length(lengths, max_body)
    data = pipe.read(head + body)
    if len(data) < head + body:
        return None
    return _decode(data[:head]), data[head:]


class FrameBuffer:
    """Collects received bytes into messages. Each byte is copied twice at most."""

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self._pieces: list[bytes] = []
        self._held = 0
        self._wanted = _LENGTHS.size

    def feed(self, data: bytes) -> Iterator[tuple[JSONObject, bytes]]:
        """Yield the messages that are complete now. Raises BadFrame."""
        self._pieces.append(data)
        self._held += len(data)
        while self._held >= self._wanted:
            joined = b"".join(self._pieces)
            head, body = _check_length(joined[: _LENGTHS.size], self._max_body)
            end = _LENGTHS.size + head + body
            if len(joined) < end:
                self._pieces, self._wanted = [joined], end
                return
            start = _LENGTHS.size + head
            self._pieces, self._held, self._wanted = [joined[end:]], len(joined) - end, _LENGTHS.size
            yield _decode(joined[_LENGTHS.size : start]), joined[start:end]


def _check_length(lengths: bytes, max_body: int) -> tuple[int, int]:
    head, body = _LENGTHS.unpack(lengths)
    if head > MAX_HEAD_BYTES or body > max_body:
        raise BadFrame(f"a message of {head} and {body} bytes")
    return head, body


def _decode(data: bytes) -> JSONObject:
    try:
        head = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a head that is no JSON") from error
    if not isinstance(head, dict):
        raise BadFrame("a head that is no object")
    return head
