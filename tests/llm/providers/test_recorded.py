"""Recorded traffic of every Chat Completions server, read as it was written down: text, calls, finish, usage, error.

The recordings are read in place and never copied; without them these tests are skipped.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    BadCredential,
    ContextOverflow,
    FinishReason,
    LLMError,
    LLMProvider,
    LLMResponse,
    RateLimited,
    Rejected,
    ToolSpec,
    UnifiedLLMClient,
    get_provider,
    user,
)
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.response import Usage
from mud_assistant.llm.testing import FakeChat, Raw, serve
from mud_assistant.resilience import HttpExchange, Limits
from tests.llm.test_client import ONCE

reactor: Any = _reactor
Row = Mapping[str, Any]
RECORDED = Path(__file__).parents[3].parent / "shared" / "data" / "recorded" / "traffic.jsonl"
#: APIs that another test reads or that no provider of ours speaks, and why.
ELSEWHERE = {
    ("anthropic", "messages"): "Anthropic's provider has tests of its own",
    ("openai", "responses"): "the provider openai-responses has tests of its own",
}
#: Makes the random pieces the same in every run.
SEED = 20261121
_FINISH = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.FILTERED,
}


def recorded() -> list[Row]:
    if not RECORDED.exists():
        return []
    return [orjson.loads(line) for line in RECORDED.read_bytes().splitlines() if line.strip()]


ROWS = [row for row in recorded() if (row["provider"], row["api"]) not in ELSEWHERE]
needs_recordings = pytest.mark.skipif(not ROWS, reason=f"no recordings at {RECORDED}")
every_row = pytest.mark.parametrize("row", ROWS, ids=[f"{row['vendor']}-{row['name'][-40:]}" for row in ROWS])


def provider_of(row: Row, url: str = "http://127.0.0.1:1/v1") -> LLMProvider:
    """The provider that would have been chosen: by name, or `local` for a compatible server (Ollama's v1 is one)."""
    native = row["provider"] == "ollama" and row["url_path"].endswith("/api/chat")
    name = row["provider"] if native or row["provider"] in {"openai", "openrouter"} else "local"
    return get_provider(name, url.removesuffix("/v1") if native else url, str(row["request_json"].get("model") or "m"))


def tools_of(row: Row) -> list[ToolSpec]:
    functions = [tool.get("function") or {} for tool in row["request_json"].get("tools") or ()]
    return [
        ToolSpec(tool["name"], str(tool.get("description") or ""), tool.get("parameters") or {"type": "object"})
        for tool in functions
        if tool.get("name")
    ]


def split(body: bytes, chance: random.Random) -> Iterator[bytes]:
    """The bytes in pieces of random sizes, a few of them single bytes."""
    at = 0
    while at < len(body):
        size = chance.choice((1, 2, 7, 40, 300, 2000))
        yield body[at : at + size]
        at += size


async def parsed(row: Row, pieces: Iterator[bytes]) -> LLMResponse:
    """What the provider's parsers make of the body, without a network."""
    provider = provider_of(row)
    sink = AnswerSink(
        provider, [tool.name for tool in tools_of(row)], iter(map(str, range(99))).__next__, None, clock=Clock()
    )
    kind = row["response_headers"].get("content-type", "")
    sink.head(row["response_status"], Headers({"Content-Type": [kind]} if kind else {}))
    for piece in pieces:
        if sink.data(piece) is True:
            break
    answer = await sink.result()
    message, finish = answer.message()
    return LLMResponse(message, finish, answer.usage, provider.name, answer.model)


@asynccontextmanager
async def asked(row: Row, chunks: list[bytes]) -> AsyncIterator[UnifiedLLMClient]:
    """A client whose server answers with these bytes and the recorded head."""
    hop = {"content-length", "transfer-encoding", "connection", "content-encoding"}
    headers = {name: value for name, value in row["response_headers"].items() if name.lower() not in hop}
    fake = FakeChat(reactor, lambda _request: Raw(row["response_status"], headers, chunks))
    exchange = HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        try:
            yield UnifiedLLMClient(provider_of(row, f"{url}/v1"), exchange, reactor, retry=ONCE)
        finally:
            await exchange.close()


def expected_usage(usage: Mapping[str, Any] | None) -> Usage:
    if not usage:
        return Usage()
    into, out = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    cost = usage.get("cost")
    cached = into.get("cached_tokens")
    return Usage(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        usage.get("prompt_cache_hit_tokens") if cached is None else cached,
        out.get("reasoning_tokens"),
        into.get("cache_write_tokens"),
        None,
        cost.get("total_cost") if isinstance(cost, Mapping) else cost,
    )


def expected_error(error: Mapping[str, Any]) -> type[LLMError]:
    """The error that the recording's status and words stand for."""
    words = f"{error.get('message')} {error.get('type')} {error.get('code')}".lower()
    if "context length" in words or "too_many_prompt_tokens" in words:
        return ContextOverflow
    return {401: BadCredential, 429: RateLimited}.get(error["status"], Rejected)


def compare(answer: LLMResponse, expected: Mapping[str, Any]) -> None:
    calls = [(call.name, call.arguments) for call in answer.tool_calls]
    assert calls == [(call["name"], call["arguments"]) for call in expected["tool_calls"]]
    ids = [call["id"] for call in expected["tool_calls"]]
    assert [call.id for call in answer.tool_calls if call.id in ids] == [name for name in ids if name]
    assert answer.content.strip() == expected["text"].strip()
    assert answer.reasoning.strip() == expected["reasoning"].strip()
    finish = FinishReason.TOOL_CALLS if calls else _FINISH.get(expected["finish"] or "stop", FinishReason.STOP)
    assert answer.finish_reason is finish
    assert answer.usage == expected_usage(expected["usage"])


def check_error(caught: LLMError, expected: Mapping[str, Any], row: Row) -> None:
    error = expected["error"]
    assert type(caught) is expected_error(error)
    assert (error["message"] or "")[:200] in caught.message
    assert caught.status in {error.get("status"), row["response_status"]}


@needs_recordings
@every_row
@pytest.mark.parametrize("way", ["whole", "pieces", "bytes"])
async def test_every_recording_reads_as_it_was_written_down(row: Row, way: str) -> None:
    body = row["response_body"]["text"].encode()
    pieces = {
        "whole": iter([body]),
        "pieces": split(body, random.Random(SEED)),  # noqa: S311
        "bytes": (body[at : at + 1] for at in range(len(body))),
    }[way]
    expected = row["expected"]
    if not expected["error"]:
        compare(await parsed(row, pieces), expected)
        return
    with pytest.raises(LLMError) as caught:
        await parsed(row, pieces)
    check_error(caught.value, expected, row)


@needs_recordings
@every_row
@pytest.mark.parametrize("way", ["whole", "pieces"])
async def test_every_recording_through_the_client_over_loopback(row: Row, way: str) -> None:
    body = row["response_body"]["text"].encode()
    chunks = [body] if way == "whole" else list(split(body, random.Random(SEED)))  # noqa: S311
    expected = row["expected"]
    async with asked(row, chunks) as client:
        if not expected["error"]:
            compare(await client.chat_completion([user("again")], tools_of(row)), expected)
            return
        with pytest.raises(LLMError) as caught:
            await client.chat_completion([user("again")], tools_of(row))
        check_error(caught.value, expected, row)


@needs_recordings
def test_what_is_read_elsewhere_is_counted() -> None:
    """No row is left out in silence: each is read here or named above with its reason."""
    left = Counter((row["provider"], row["api"]) for row in recorded() if (row["provider"], row["api"]) in ELSEWHERE)
    assert sum(left.values()) + len(ROWS) == len(recorded())
    assert {row["api"] for row in ROWS} == {"chat"}
