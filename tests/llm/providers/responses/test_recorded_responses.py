"""Recorded answers of the Responses API, read whole, in random pieces and byte by byte: always what was expected.

The recordings are read in place and never copied; without them these tests are skipped.
"""

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
    Message,
    ServerToolCall,
    ServerToolResult,
    UnifiedLLMClient,
    Usage,
    user,
)
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.providers.responses.provider import ResponsesProvider
from mud_assistant.llm.providers.responses.turns import replay_items
from mud_assistant.llm.testing import FakeResponses, Raw, serve
from mud_assistant.resilience import HttpExchange, Limits
from tests.llm.test_client import ONCE, reactor

RECORDED = Path(__file__).parents[4].parent / "shared/data/recorded/responses.jsonl"
Row = Mapping[str, Any]
#: A response that was only queued has no answer yet. We never ask for that.
FINISH = dict.fromkeys(("completed", "complete", "queued"), FinishReason.STOP)


def rows() -> list[Row]:
    if not RECORDED.exists():
        return []
    return [orjson.loads(line) for line in RECORDED.read_bytes().splitlines() if line.strip()]


ROWS = rows()
needs_recordings = pytest.mark.skipif(not ROWS, reason=f"no recordings at {RECORDED}")
every_row = pytest.mark.parametrize("row", ROWS, ids=[f"{row['vendor']}-{row['name'][-40:]}" for row in ROWS])


def body_of(row: Row) -> bytes:
    return str(row["response_body"]["text"]).encode()


def pieces(body: bytes, how: str) -> Iterator[bytes]:
    """The body cut in one of four ways; the seed is the body's length, so a failure comes again."""
    if how == "whole":
        yield body
    elif how == "bytes":
        yield from (body[at : at + 1] for at in range(len(body)))
    elif how == "lines":
        yield from body.splitlines(keepends=True)
    else:
        chance, at = random.Random(len(body)), 0  # noqa: S311  (a seeded choice of cuts)
        while at < len(body):
            size = chance.choice((1, 2, 7, 40, 300, 2000))
            yield body[at : at + size]
            at += size


async def read(row: Row, how: str) -> tuple[Message, FinishReason, Usage]:
    sink = AnswerSink(ResponsesProvider(model="m"), (), lambda: "made", None, clock=Clock())
    sink.head(row["response_status"], Headers({key: [value] for key, value in row["response_headers"].items()}))
    for piece in pieces(body_of(row), how):
        if sink.data(piece) is True:
            break
    answer = await sink.result()
    return *answer.message(), answer.usage


def tokens(told: Mapping[str, Any] | None) -> Usage:
    """The expected usage in our terms."""
    if not told:
        return Usage()
    into, out = told.get("input_tokens_details") or {}, told.get("output_tokens_details") or {}
    return Usage(
        told["input_tokens"],
        told["output_tokens"],
        into.get("cached_tokens"),
        out.get("reasoning_tokens"),
        into.get("cache_write_tokens"),
        cost=told.get("cost"),
    )


def server_ids(message: Message) -> list[str]:
    """The server's own items in order, a result with the call it belongs to counted once."""
    ids = [
        block.id if isinstance(block, ServerToolCall) else block.call_id
        for block in message.blocks
        if isinstance(block, ServerToolCall | ServerToolResult)
    ]
    return list(dict.fromkeys(ids))


def check(message: Message, finish: FinishReason, usage: Usage, expected: Mapping[str, Any]) -> None:
    assert (message.text, message.reasoning) == (expected["text"], expected["reasoning"])
    calls = [(call["id"], call["name"], call["arguments"], "") for call in expected["tool_calls"]]
    assert [(call.id, call.name, call.arguments, call.problem) for call in message.tool_calls] == calls
    assert server_ids(message) == [call["id"] for call in expected["server_tool_calls"]]
    assert finish is (FinishReason.TOOL_CALLS if calls else FINISH[expected["finish"]])
    assert usage == tokens(expected["usage"])


@needs_recordings
@every_row
@pytest.mark.parametrize("how", ["whole", "pieces", "lines", "bytes"])
def test_a_recorded_answer_is_read_as_expected(row: Row, how: str) -> None:
    expected = row["expected"]
    result: list[Any] = []
    Deferred.fromCoroutine(read(row, how)).addBoth(result.append)
    if expected["error"]:
        assert isinstance(error := result[0].value, LLMError)
        assert error.status == expected["error"]["status"]
        assert expected["error"]["message"] in error.message
        return
    message, finish, usage = result[0]
    check(message, finish, usage, expected)


@needs_recordings
@every_row
@pytest.mark.parametrize("how", ["whole", "pieces"])
async def test_a_recorded_answer_through_the_client_over_loopback(row: Row, how: str) -> None:
    hop = {"content-length", "transfer-encoding", "connection", "content-encoding"}
    headers = {name: value for name, value in row["response_headers"].items() if name.lower() not in hop}
    answer = Raw(row["response_status"], headers, list(pieces(body_of(row), how)))
    fake, exchange = FakeResponses(reactor, lambda _: answer), HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        client = UnifiedLLMClient(ResponsesProvider(url, "m"), exchange, reactor, retry=ONCE)
        asked: list[Any] = []
        await client.chat_completion([user("again")]).addBoth(asked.append)
        await exchange.close()
    expected = row["expected"]
    if expected["error"]:
        assert isinstance(asked[0].value, LLMError)
        assert expected["error"]["message"] in asked[0].value.message
        return
    check(asked[0].message, asked[0].finish_reason, asked[0].usage, expected)


@needs_recordings
def test_a_recorded_whole_answer_is_kept_as_it_came_and_goes_back_without_ids() -> None:
    provider, seen = ResponsesProvider(model="m"), 0
    for row in ROWS:
        document = {} if row["is_stream"] else orjson.loads(body_of(row))
        if not document.get("output") or document.get("error"):
            continue
        [raw] = [event.raw for event in provider.parse_response(body_of(row)) if hasattr(event, "raw")]
        assert list(raw.blocks) == document["output"]
        sent = replay_items(raw.blocks)
        assert not any("id" in item for item in sent)
        kept = [item for item in document["output"] if item["type"] != "reasoning" or item.get("encrypted_content")]
        assert len(sent) >= len(kept) - (kept[-1]["type"] == "reasoning")
        seen += 1
    assert seen > 60
