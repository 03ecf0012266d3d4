"""Renders any provider's neutral stream as Anthropic's sequence of events.

There is one `message_start`, and no block is empty. A block's index is opened once, closed once and never used again.
Blocks follow each other strictly: what arrives for a later block waits while an earlier call is incomplete. The finish
is held back until the stream has ended. A failure becomes an `error` event, never a normal end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import orjson

from llm.errors import (
    BadCredential,
    Blocked,
    ContextOverflow,
    LLMDeadlineExceeded,
    LLMError,
    ModelNotFound,
    QuotaExhausted,
    RateLimited,
    Rejected,
)
from llm.messages import JSON, JSONObject
from llm.response import FinishReason, Usage
from llm.stream import CallDelta, ReasoningDelta, StreamEvent, TextDelta
from llm.wire.accumulate import Accumulator, OpenCall

_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_-]")
_STOP_REASONS: Mapping[FinishReason, str] = {
    FinishReason.LENGTH: "max_tokens",
    FinishReason.FILTERED: "refusal",
    FinishReason.PAUSED: "pause_turn",
}
_ERROR_TYPES: tuple[tuple[type[LLMError], str], ...] = (
    (BadCredential, "authentication_error"),
    (Blocked, "permission_error"),
    (QuotaExhausted, "billing_error"),
    (ModelNotFound, "not_found_error"),
    (RateLimited, "rate_limit_error"),
    (LLMDeadlineExceeded, "timeout_error"),
    (ContextOverflow, "invalid_request_error"),
    (Rejected, "invalid_request_error"),
)
_OVERLOADED = 529


@dataclass(slots=True)
class _Block:
    """A block of text or reasoning: its pieces, and how many of them were sent."""

    kind: str
    pieces: list[str] = field(default_factory=list)
    sent: int = 0
    opened: bool = False

    @property
    def is_whole(self) -> bool:
        return True  # more text of the same kind would have joined it

    def start(self) -> JSONObject | None:
        if not any(self.pieces):
            return None
        return {"type": "text", "text": ""} if self.kind == "text" else {"type": "thinking", "thinking": ""}

    def deltas(self) -> list[JSONObject]:
        fresh, self.sent = self.pieces[self.sent :], len(self.pieces)
        return [{"type": f"{self.kind}_delta", self.kind: piece} for piece in fresh if piece]


@dataclass(slots=True)
class _CallBlock:
    """A block for one call. Its arguments end with the first complete JSON value; anything after it is dropped."""

    call: OpenCall
    id: str
    sent: int = 0
    opened: bool = False
    _depth: int = 0
    _in_string: bool = False
    _escaped: bool = False
    _begun: bool = False
    _closed: bool = False

    @property
    def is_whole(self) -> bool:
        return self._closed or self.call.whole is not None

    def start(self) -> JSONObject | None:
        if not self.call.name:
            return None
        return {"type": "tool_use", "id": self.id, "name": self.call.name, "input": {}}

    def deltas(self) -> list[JSONObject]:
        if self.call.whole is not None:
            whole, self.sent = ([] if self.sent else [orjson.dumps(self.call.whole).decode()]), 1
        else:
            whole, self.sent = (
                [self._first_value(piece) for piece in self.call.pieces[self.sent :]],
                len(self.call.pieces),
            )
        return [{"type": "input_json_delta", "partial_json": piece} for piece in whole if piece]

    def _first_value(self, piece: str) -> str:
        """Return the part of a piece that belongs to the first JSON value."""
        for place, character in enumerate(piece):
            if self._closed:
                return piece[:place]
            self._step(character)
        return piece

    def _step(self, character: str) -> None:
        if self._in_string:
            if self._escaped:
                self._escaped = False
            elif character == "\\":
                self._escaped = True
            elif character == '"':
                self._in_string = False
        elif character == '"':
            self._in_string = True
        elif character in "{[":
            self._depth, self._begun = self._depth + 1, True
        elif character in "}]":
            self._depth -= 1
        self._closed = self._begun and self._depth <= 0 and not self._in_string


class AnthropicEvents:
    """A renderer for one answer. `known` are the tool names offered; `new_id` makes ids for calls that have none."""

    def __init__(self, message_id: str, model: str, known: Collection[str], new_id: Callable[[], str]) -> None:
        self._message_id = message_id
        self._model = model
        self._new_id = new_id
        self._router = Accumulator(known, new_id)
        self._blocks: list[_Block | _CallBlock] = []
        self._calls: dict[int, _CallBlock] = {}
        self._front = 0
        self._index = 0
        self._started = False
        self._over = False

    def feed(self, event: StreamEvent) -> list[JSONObject]:
        """Return the Anthropic events for one event of the stream."""
        self._router.feed(event)
        match event:
            case TextDelta(text):
                self._grow("text", text)
            case ReasoningDelta(text):
                self._grow("thinking", text)
            case CallDelta():
                self._find_calls()
            case _:
                return []
        return self._advance(final=False)

    def end(self) -> list[JSONObject]:
        """Return the last events of an answer that ended well. Nothing more may be fed."""
        events = [*self._start(), *self._advance(final=True)]
        stop = {"stop_reason": self._stop_reason(), "stop_sequence": None}
        usage = _usage(self._router.usage)
        self._over = True
        return [*events, {"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}]

    def fail(self, error: LLMError) -> list[JSONObject]:
        """Return the one event of an answer that failed. Nothing follows it."""
        if self._over:
            return []
        self._over = True
        kind = next((word for kind, word in _ERROR_TYPES if isinstance(error, kind)), "api_error")
        if error.status == _OVERLOADED:
            kind = "overloaded_error"
        return [{"type": "error", "error": {"type": kind, "message": error.message}}]

    def _grow(self, kind: str, text: str) -> None:
        """Add to the last block if it is of this kind, else begin a new one."""
        last = self._blocks[-1] if self._blocks else None
        if not isinstance(last, _Block) or last.kind != kind:
            last = _Block(kind)
            self._blocks.append(last)
        last.pieces.append(text)

    def _find_calls(self) -> None:
        """Add a block for each new call."""
        for call in self._router.open_calls:
            place = id(call)
            if place not in self._calls:
                taken = {block.id for block in self._calls.values()}
                clean = _NOT_IN_AN_ID.sub("_", call.id)
                block = _CallBlock(call, clean if clean and clean not in taken else self._new_id())
                self._calls[place] = block
                self._blocks.append(block)

    def _advance(self, *, final: bool) -> list[JSONObject]:
        """Send what the front block has, and go on to the next block when it is complete."""
        events: list[JSONObject] = []
        while self._front < len(self._blocks):
            block = self._blocks[self._front]
            events += self._of(block)
            is_last = self._front == len(self._blocks) - 1
            if not (final or (block.is_whole and not is_last)):
                break
            if block.opened:
                events.append({"type": "content_block_stop", "index": self._index})
                self._index += 1
            self._front += 1
        return events

    def _of(self, block: _Block | _CallBlock) -> list[JSONObject]:
        """Return the start of a block that has something to show, and its new pieces."""
        events: list[JSONObject] = []
        if not block.opened and (start := block.start()) is not None:
            block.opened = True
            events += self._start()
            events.append({"type": "content_block_start", "index": self._index, "content_block": start})
        if block.opened:
            events += [
                {"type": "content_block_delta", "index": self._index, "delta": delta} for delta in block.deltas()
            ]
        return events

    def _start(self) -> list[JSONObject]:
        if self._started:
            return []
        self._started = True
        message: dict[str, JSON] = {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "model": self._router.model or self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        return [{"type": "message_start", "message": message}]

    def _stop_reason(self) -> str:
        finish = self._router.finish or FinishReason.STOP
        if finish in _STOP_REASONS:
            return _STOP_REASONS[finish]
        return "tool_use" if any(block.opened for block in self._calls.values()) else "end_turn"


def sse(events: list[JSONObject]) -> bytes:
    """Encode the events as server-sent events, each under its own name."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), orjson.dumps(event)) for event in events)


def _usage(usage: Usage) -> JSONObject:
    """Return Anthropic's counts, where the input excludes tokens read from a cache or written to one."""
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    counts = {
        "input_tokens": None if usage.input_tokens is None else max(0, usage.input_tokens - cached - written),
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens or 0,
    }
    return {name: count for name, count in counts.items() if count is not None}
