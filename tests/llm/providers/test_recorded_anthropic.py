"""Recorded answers of Anthropic, read whole, in random pieces and byte by byte: always what was expected of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    FinishReason,
    LLMError,
    LLMResponse,
    Message,
    ServerToolCall,
    ServerToolResult,
    UnifiedLLMClient,
    Usage,
    user,
)
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.paused import MAX_CONTINUATIONS
from mud_assistant.llm.providers.anthropic.provider import AnthropicProvider
from mud_assistant.llm.testing import FakeAnthropic, Raw, serve
from mud_assistant.resilience import HttpExchange, Limits
from tests.llm.test_client import ONCE, reactor

RECORDED = Path(__file__).parents[3].parent / "shared/data/recorded/traffic.jsonl"
FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.FILTERED,
    "pause_turn": FinishReason.PAUSED,
}


def rows() -> list[dict[str, Any]]:
    if not RECORDED.exists():
        return []
    with RECORDED.open("rb") as lines:
        return [row for line in lines if (row := orjson.loads(line))["provider"] == "anthropic"]


def body_of(row: Mapping[str, Any]) -> bytes:
    return str(row["response_body"]["text"]).encode()


def pieces(body: bytes, how: str) -> Iterator[bytes]:
    """The body cut in one of three ways; the seed is the body's length, so a failure comes again."""
    if how == "whole":
        yield body
    elif how == "bytes":
        yield from (body[at : at + 1] for at in range(len(body)))
    else:
        chance, at = random.Random(len(body)), 0  # noqa: S311  (a seeded choice of cuts)
        while at < len(body):
            size = chance.choice((1, 2, 7, 40, 300))
            yield body[at : at + size]
            at += size


async def read(row: Mapping[str, Any], how: str) -> tuple[Message, FinishReason, Usage]:
    sink = AnswerSink(AnthropicProvider(model="m"), (), lambda: "made", None, clock=Clock())
    sink.head(row["response_status"], Headers({key: [value] for key, value in row["response_headers"].items()}))
    for piece in pieces(body_of(row), how):
        sink.data(piece)
    answer = await sink.result()
    return *answer.message(), answer.usage


def tokens(told: Mapping[str, Any]) -> Usage:
    """The expected usage in our terms."""
    read, written = told.get("cache_read_input_tokens"), told.get("cache_creation_input_tokens")
    served = told.get("server_tool_use")
    return Usage(
        told["input_tokens"] + (read or 0) + (written or 0),
        told["output_tokens"],
        read,
        (told.get("output_tokens_details") or {}).get("thinking_tokens"),
        written,
        {key.removesuffix("_requests"): count for key, count in served.items()} if served else None,
    )


def server_blocks(message: Message) -> list[tuple[str, Any]]:
    return [
        (block.id, dict(block.arguments)) if isinstance(block, ServerToolCall) else (block.call_id, None)
        for block in message.blocks
        if isinstance(block, ServerToolCall | ServerToolResult)
    ]


@pytest.mark.skipif(not rows(), reason=f"no recordings at {RECORDED}")
@pytest.mark.parametrize("how", ["whole", "pieces", "bytes"])
@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row["name"]).rpartition("/")[2])
def test_a_recorded_answer_is_read_as_expected(row: Mapping[str, Any], how: str) -> None:
    expected = row["expected"]
    result: list[Any] = []
    Deferred.fromCoroutine(read(row, how)).addBoth(result.append)
    if expected["error"]:
        error = result[0].value
        assert isinstance(error, LLMError)
        assert error.status == expected["error"]["status"]
        assert expected["error"]["message"] in error.message
        return
    message, finish, usage = result[0]
    assert (message.text, message.reasoning) == (expected["text"], expected["reasoning"])
    assert [(call.id, call.name, call.arguments, call.problem) for call in message.tool_calls] == [
        (call["id"], call["name"], call["arguments"], "") for call in expected["tool_calls"]
    ]
    assert server_blocks(message) == [(block["id"], block["input"]) for block in expected["server_tool_calls"]]
    assert finish is FINISH[expected["finish"]]
    assert usage == tokens(expected["usage"])
    assert [block["type"] for block in message.raw_of("anthropic")] == expected["blocks"]


@pytest.mark.skipif(not rows(), reason=f"no recordings at {RECORDED}")
def test_a_recorded_whole_answer_is_replayed_as_it_came() -> None:
    provider = AnthropicProvider(model="m")
    for row in rows():
        sent = orjson.loads(body_of(row)) if not row["is_stream"] else {}
        if "content" in sent:
            raw = [event for event in provider.parse_response(body_of(row)) if hasattr(event, "raw")]
            assert list(raw[0].raw.blocks) == sent["content"]


@pytest.mark.skipif(not rows(), reason=f"no recordings at {RECORDED}")
@pytest.mark.parametrize("how", ["whole", "pieces"])
@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row["name"]).rpartition("/")[2])
async def test_a_recorded_answer_through_the_client_over_loopback(row: Mapping[str, Any], how: str) -> None:
    """As above, through real sockets. A turn that is recorded as paused is gone on with as often as may be."""
    hop = {"content-length", "transfer-encoding", "connection", "content-encoding"}
    headers = {name: value for name, value in row["response_headers"].items() if name.lower() not in hop}
    answer = Raw(row["response_status"], headers, list(pieces(body_of(row), how)))
    fake, exchange = FakeAnthropic(reactor, lambda _: answer), HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        client = UnifiedLLMClient(AnthropicProvider(url, "m"), exchange, reactor, retry=ONCE)
        asked: list[Any] = []
        await client.chat_completion([user("again")]).addBoth(asked.append)
        await exchange.close()
    expected = row["expected"]
    if expected["error"]:
        assert isinstance(asked[0].value, LLMError)
        assert expected["error"]["message"] in asked[0].value.message
        return
    response = asked[0]
    assert isinstance(response, LLMResponse)
    paused = expected["finish"] == "pause_turn"
    assert len(fake.chats) == (1 + MAX_CONTINUATIONS if paused else 1)
    assert response.finish_reason is FINISH[expected["finish"]]
    if not paused:
        assert (response.content, response.reasoning) == (expected["text"], expected["reasoning"])
        calls = [(call.id, call.name, call.arguments) for call in response.tool_calls]
        assert calls == [(call["id"], call["name"], call["arguments"]) for call in expected["tool_calls"]]
        assert response.usage == tokens(expected["usage"])
