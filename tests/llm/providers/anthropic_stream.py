"""Answers of Anthropic, written piece by piece, and what the client reads in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from mud_assistant.llm import FinishReason, Message
from mud_assistant.llm.providers.anthropic.provider import AnthropicProvider
from mud_assistant.llm.response import StreamEvent
from mud_assistant.llm.wire.accumulate import Accumulator
from tests.llm.streamed import EventParser

PROVIDER = AnthropicProvider(model="m")
SOURCE = {"type": "web_search_result_location", "cited_text": "deep", "url": "https://w", "title": "Well"}


def event(kind: str, **fields: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))


def opened(index: int, **block: Any) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def piece(index: int, kind: str, **delta: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **delta})


def closed(index: int) -> bytes:
    return event("content_block_stop", index=index)


def block(index: int, *deltas: tuple[str, str, str], **start: Any) -> bytes:
    """A whole block; each delta is its type, its field and its piece."""
    return b"".join(
        [opened(index, **start), *(piece(index, kind, **{key: value}) for kind, key, value in deltas), closed(index)]
    )


def text(index: int, *words: str) -> bytes:
    return block(index, *(("text_delta", "text", word) for word in words), type="text", text="")


def call(index: int, *fragments: str, name: str = "say", call_id: str = "toolu_1") -> bytes:
    deltas = [("input_json_delta", "partial_json", fragment) for fragment in fragments]
    return block(index, *deltas, type="tool_use", id=call_id, name=name, input={})


START = event("message_start", message={"model": "claude", "usage": {"input_tokens": 3, "output_tokens": 1}})
STOP = event("message_stop")


def finish(reason: str = "end_turn", **usage: Any) -> bytes:
    return event("message_delta", delta={"stop_reason": reason}, usage=usage) + STOP


def fed(pieces: Iterable[bytes]) -> list[StreamEvent]:
    parser = EventParser(PROVIDER)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.end()


def collected(events: Iterable[StreamEvent]) -> Accumulator:
    answer = Accumulator((), lambda: "made")
    for one in events:
        answer.feed(one)
    return answer


def read(*pieces: bytes) -> tuple[Message, FinishReason]:
    return collected(fed(pieces)).message()


def thought(index: int, words: str, seal: str) -> bytes:
    return block(
        index,
        ("thinking_delta", "thinking", words),
        ("signature_delta", "signature", seal),
        type="thinking",
        thinking="",
        signature="",
    )
