"""Answers of many shapes, as bytes: what servers and gateways make of one and the same answer of Chat Completions.

A shape is asked for by its name in the path of the stub: `/shape/fragments/v1`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks.canned import (
    ANSWER,
    ARGUMENTS,
    TEXT,
    TEXT_PIECES,
    call_deltas,
    chat_document,
    chat_stream,
    chunk,
    head,
    usage,
)

#: The text of the long answer: four events of 64 KiB, each of which comes in a chunk of its own.
LONG_PIECES = ["and so the road went on, " * (64 * 1024 // 25)] * 4
#: 300 events with the text of a usual stream five times.
MANY_PIECES = TEXT_PIECES * 5
_EXTENSION = b";route=eu-1;checked"


@dataclass(frozen=True, slots=True)
class Shape:
    """The bytes of an answer, as the server writes them: with a pause between two writes, if `drips`.

    `says` is its text, `streamed` whether it is a stream, which then ends with a call of `inspect`. The connection is
    closed behind it if `closes`.
    """

    writes: tuple[bytes, ...]
    says: str
    streamed: bool
    drips: bool = False
    closes: bool = False


def shape_of(name: str) -> Shape:
    """The shape of this name; raises KeyError."""
    return _made(SHAPES[name])


@lru_cache(maxsize=64)
def _made(make: Callable[[], Shape]) -> Shape:
    return make()


def _document(document: bytes, *, framing: str = "length", more: tuple[tuple[str, str], ...] = ()) -> Shape:
    """A whole answer, in one write."""
    if framing == "length":
        return Shape((head(200, "application/json", len(document), more) + document,), ANSWER, streamed=False)
    if framing == "chunked":
        body = _chunked(document[:700]) + _chunked(document[700:]) + b"0\r\n\r\n"
        return Shape((head(200, "application/json", None, more) + body,), ANSWER, streamed=False)
    return Shape((_closing_head("application/json") + document,), ANSWER, streamed=False, closes=True)


def _stream(
    events: list[bytes], says: str, *, drips: bool = False, extension: bytes = b"", closes: bool = False
) -> Shape:
    """A streamed answer: all of it in one write, or event by event if it drips."""
    if closes:
        return Shape((_closing_head("text/event-stream") + b"".join(events),), says, streamed=True, closes=True)
    chunks = [_chunked(event, extension) for event in events]
    writes = [head(200, "text/event-stream", None), *chunks[:-1], chunks[-1] + b"0\r\n\r\n"]
    return Shape(tuple(writes) if drips else (b"".join(writes),), says, streamed=True, drips=drips)


def _closing_head(kind: str) -> bytes:
    """A head without a length or chunks: the body ends with the connection."""
    whole = head(200, kind, 0, (("x-framing", "close"),))
    return whole.replace(b"content-length: 0\r\n", b"").replace(b"connection: keep-alive", b"connection: close")


def _tiny() -> Shape:
    choice = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
    return _document(json.dumps({"choices": [choice], "usage": usage()}).encode())


def _one_event() -> Shape:
    (delta,) = call_deltas("inspect", json.dumps(ARGUMENTS), 2)[:1]
    call: dict[str, Any] = delta["tool_calls"][0]
    whole = {**call, "function": {"name": "inspect", "arguments": json.dumps(ARGUMENTS)}}
    event = chunk({"role": "assistant", "content": ANSWER, "tool_calls": [whole]}, finish="tool_calls")
    return _stream([event, b"data: [DONE]\n\n"], ANSWER)


def _fragments() -> Shape:
    """The arguments of the call in pieces of three bytes."""
    arguments = json.dumps(ARGUMENTS)
    deltas = call_deltas("inspect", arguments, -(-len(arguments) // 3) + 1)
    says = [chunk({"role": "assistant", "content": ANSWER})]
    last = [chunk({}, finish="tool_calls"), b"data: [DONE]\n\n"]
    return _stream([*says, *(chunk(delta) for delta in deltas), *last], ANSWER)


SHAPES: dict[str, Callable[[], Shape]] = {
    "tiny": _tiny,
    "one_event": _one_event,
    "burst": lambda: _stream(chat_stream(calls=True, pieces=MANY_PIECES), "".join(MANY_PIECES)),
    "event_by_event": lambda: _stream(chat_stream(calls=True), TEXT, drips=True),
    "fragments": _fragments,
    "long": lambda: _stream(chat_stream(calls=True, pieces=LONG_PIECES), "".join(LONG_PIECES)),
    "headers": lambda: _document(
        chat_document(calls=False), more=tuple((f"x-gateway-{at}", "v" * 60) for at in range(80))
    ),
    "extensions": lambda: _stream(chat_stream(calls=True), TEXT, extension=_EXTENSION),
    "length": lambda: _document(chat_document(calls=False)),
    "chunked": lambda: _document(chat_document(calls=False), framing="chunked"),
    "close": lambda: _document(chat_document(calls=False), framing="close"),
    "close_stream": lambda: _stream(chat_stream(calls=True), TEXT, closes=True),
}


def _chunked(piece: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(piece), extension, piece)
