"""The official clients as judges: what they build of the bytes that we render, in plain values.

The bytes reach them through a transport instead of a socket, cut into pieces as a network would cut them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
import orjson
from anthropic import Anthropic
from openai import OpenAI

from mud_assistant.llm import LLMResponse, Usage
from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall, Dialect
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.messages import ToolSpec
from mud_assistant.llm.request import CallOptions
from mud_assistant.llm.response import StreamEvent
from mud_assistant.llm.wire.accumulate import Accumulator

HEAD = AnswerHead("abc", 1_800_000_000, 321)
ASK: dict[str, Any] = {"model": "sage", "messages": [{"role": "user", "content": "Where is the well?"}]}


@dataclass
class Judged:
    """What a client understood. `raw` is the client's own object."""

    text: str
    calls: list[tuple[str, Any]]
    ids: list[str]
    reason: str | None
    usage: Any
    raw: Any = field(repr=False)
    thoughts: str = ""


def asked(*tools: str, **options: Any) -> AskedCall:
    """A call as a client asked for it; it wants thinking and usage unless told otherwise."""
    values: dict[str, Any] = {"options": CallOptions(think=True), "counts_usage": True, **options}
    return AskedCall("sage", True, (), [ToolSpec(name, "", {"type": "object"}) for name in tools], **values)


def response_of(events: Sequence[StreamEvent], call: AskedCall) -> LLMResponse:
    """The finished answer that these events make, as the client of a provider builds it."""
    numbers = itertools.count()
    answer = Accumulator([tool.name for tool in call.tools], lambda: f"made_{next(numbers)}")
    for event in events:
        answer.feed(event)
    message, finish = answer.message()
    return LLMResponse(message, finish, answer.usage, "test", answer.model)


def stream_of(
    renderer: AnswerRenderer, events: Sequence[StreamEvent], response: LLMResponse, *, pings: bool = False
) -> bytes:
    """The whole stream; with `pings`, a sign of life stands before every event."""
    sent = [renderer.begin()]
    for event in events:
        sent += [renderer.ping() if pings else b"", renderer.feed(event)]
    return b"".join([*sent, renderer.finish(response)])


def rendered(dialect: Dialect, events: Sequence[StreamEvent], call: AskedCall, *, pings: bool = False) -> bytes:
    """The stream that these events make."""
    return stream_of(dialect.renderer(call, HEAD), events, response_of(events, call), pings=pings)


def cut(body: bytes, seed: int) -> Iterator[bytes]:
    """The body in pieces of random sizes, many of them single bytes."""
    chance, at = random.Random(seed), 0  # noqa: S311  (a seeded choice of cuts)
    while at < len(body):
        size = chance.choice((1, 3, 20, 200, 3000))
        yield body[at : at + size]
        at += size


def judge(dialect: Dialect, body: bytes, *, streamed: bool = True, seed: int = 0) -> Judged:
    """What the official client of this dialect makes of a response."""
    ask = judge_messages if isinstance(dialect, MessagesDialect) else judge_chat
    return ask(body, streamed=streamed, seed=seed)


def judge_messages(body: bytes, *, streamed: bool = True, seed: int = 0) -> Judged:
    _WIRE.load(body, streamed, seed)
    if streamed:
        with _ANTHROPIC.messages.stream(max_tokens=9, **ASK) as stream:
            message: Any = stream.get_final_message()
    else:
        message = _ANTHROPIC.messages.create(max_tokens=9, **ASK)
    blocks = message.content
    return Judged(
        "".join(block.text for block in blocks if block.type == "text"),
        [(block.name, block.input) for block in blocks if block.type == "tool_use"],
        [block.id for block in blocks if block.type == "tool_use"],
        message.stop_reason,
        message.usage,
        message,
        "".join(block.thinking for block in blocks if block.type == "thinking"),
    )


def judge_chat(body: bytes, *, streamed: bool = True, seed: int = 0) -> Judged:
    _WIRE.load(body, streamed, seed)
    if streamed:
        with _OPENAI.chat.completions.stream(**ASK) as stream:
            answer: Any = stream.until_done().current_completion_snapshot
    else:
        answer = _OPENAI.chat.completions.create(**ASK)
    [choice] = answer.choices
    calls = choice.message.tool_calls or []
    return Judged(
        choice.message.content or "",
        [(call.function.name, orjson.loads(call.function.arguments)) for call in calls],
        [call.id for call in calls],
        choice.finish_reason,
        answer.usage,
        answer,
        getattr(choice.message, "reasoning_content", None) or "",
    )


def events_of(body: bytes) -> list[dict[str, Any]]:
    """The data of a stream's events, after a check that each is one line, named if it has a type, and not empty."""
    found = []
    for event in body.decode().removesuffix("\n\n").split("\n\n"):
        *named, data = event.split("\n")
        assert data.startswith("data: ")
        if data == "data: [DONE]":
            found.append({"done": True})
            continue
        value = orjson.loads(data[6:])
        assert named == ([f"event: {value['type']}"] if "type" in value else [])
        found.append(value)
    return found


def check_grammar(body: bytes) -> None:
    """Check the order of a stream of messages: one start, one block open at a time and none empty, one end."""
    events = [event for event in events_of(body) if event["type"] != "ping"]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    blocks = events[1:-2]
    assert {event["type"] for event in blocks} <= {f"content_block_{what}" for what in ("start", "delta", "stop")}
    opened = -1
    kind, grown = "", True
    for event in blocks:
        if event["type"] == "content_block_start":
            assert kind == ""
            opened += 1
            kind = event["content_block"]["type"]
            grown = kind.endswith("_tool_result")
        assert event["index"] == opened
        assert kind
        if event["type"] == "content_block_delta":
            grown = True
        elif event["type"] == "content_block_stop":
            assert grown, f"an empty block of {kind}"
            kind = ""
    assert kind == ""


def check_usage(dialect: Dialect, told: Any, usage: Usage) -> None:
    """Check that the client counts what the provider counted."""
    if isinstance(dialect, ChatDialect):
        assert told.prompt_tokens == (usage.input_tokens or 0)
        assert told.completion_tokens == (usage.output_tokens or 0)
        assert told.prompt_tokens_details.cached_tokens == (usage.cached_tokens or 0)
        assert told.completion_tokens_details.reasoning_tokens == (usage.reasoning_tokens or 0)
        return
    if usage.input_tokens is not None:
        cached = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
        assert told.input_tokens == max(0, usage.input_tokens - cached)
    if usage.output_tokens is not None:
        assert told.output_tokens == usage.output_tokens
    assert (getattr(told, "cache_read_input_tokens", None) or 0) == (usage.cached_tokens or 0)


class CannedTransport(httpx2.BaseTransport):
    """A transport that answers every request with the bytes that were loaded last."""

    def load(self, body: bytes, streamed: bool, seed: int) -> None:
        self._kind = "text/event-stream; charset=utf-8" if streamed else "application/json"
        self._pieces = cut(body, seed)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": self._kind}, content=self._pieces)


_WIRE = CannedTransport()
_HTTP = httpx2.Client(transport=_WIRE, trust_env=False)
_ANTHROPIC = Anthropic(api_key="k", max_retries=0, http_client=_HTTP)
_OPENAI = OpenAI(api_key="k", max_retries=0, http_client=_HTTP)
