"""Every recorded answer of a provider, rendered for clients of another dialect: the official clients read the same.

The recordings are read in place and never copied; without them these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import FinishReason, LLMProvider, LLMResponse, ToolSpec, get_provider
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.dialect import Dialect
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.providers.anthropic.provider import AnthropicProvider
from mud_assistant.llm.request import acting
from mud_assistant.llm.response import StreamEvent
from tests.llm.dialects.judges import HEAD, asked, check_grammar, check_usage, cut, judge, stream_of

Row = Mapping[str, Any]
RECORDED = Path(__file__).parents[3].parent / "shared" / "data" / "recorded" / "traffic.jsonl"
ALL = [orjson.loads(line) for line in RECORDED.read_bytes().splitlines()] if RECORDED.exists() else []
ROWS = [row for row in ALL if row["api"] in {"chat", "messages"} and not row["expected"]["error"]]
REASONS = {
    "messages": {
        FinishReason.STOP: "end_turn",
        FinishReason.TOOL_CALLS: "tool_use",
        FinishReason.LENGTH: "max_tokens",
        FinishReason.FILTERED: "refusal",
        FinishReason.PAUSED: "pause_turn",
    },
    "chat": {
        FinishReason.STOP: "stop",
        FinishReason.TOOL_CALLS: "tool_calls",
        FinishReason.LENGTH: "length",
        FinishReason.FILTERED: "content_filter",
        FinishReason.PAUSED: "stop",
    },
}
pytestmark = pytest.mark.skipif(not ROWS, reason=f"no recordings at {RECORDED}")
every_row = pytest.mark.parametrize("row", ROWS, ids=[f"{row['vendor']}-{row['name'][-40:]}" for row in ROWS])
both = pytest.mark.parametrize("dialect", [MessagesDialect(), ChatDialect()], ids=lambda dialect: str(dialect.name))


def provider_of(row: Row) -> LLMProvider:
    if row["provider"] == "anthropic":
        return AnthropicProvider(model="m")
    native = row["provider"] == "ollama" and row["url_path"].endswith("/api/chat")
    name = row["provider"] if native or row["provider"] in {"openai", "openrouter"} else "local"
    return get_provider(name, "http://127.0.0.1:1/v1", "m")


def tools_of(row: Row) -> list[ToolSpec]:
    offered = [tool.get("function") or tool for tool in row["request_json"].get("tools") or ()]
    return [ToolSpec(str(tool["name"]), "", {"type": "object"}) for tool in offered if tool.get("name")]


async def heard(row: Row, pieces: Iterable[bytes]) -> tuple[list[StreamEvent], LLMResponse]:
    """The events of the recorded body, and the answer they make."""
    provider, events = provider_of(row), list[StreamEvent]()
    names, numbers = [tool.name for tool in tools_of(row)], iter(map(str, range(99)))
    sink = AnswerSink(provider, names, numbers.__next__, acting(events.append), clock=Clock())
    kind = row["response_headers"].get("content-type", "")
    sink.head(row["response_status"], Headers({"Content-Type": [kind]} if kind else {}))
    for piece in pieces:
        if sink.data(piece) is True:
            break
    answer = await sink.result()
    message, finish = answer.message()
    return events, LLMResponse(message, finish, answer.usage, provider.name, answer.model)


@every_row
@both
@pytest.mark.parametrize("way", ["whole", "pieces"])
async def test_a_stream_is_read_as_it_was_sent(row: Row, dialect: Dialect, way: str) -> None:
    body = row["response_body"]["text"].encode()
    call = asked(*(tool.name for tool in tools_of(row)))
    for seed in range(1 if way == "whole" else 3):
        events, response = await heard(row, [body] if way == "whole" else cut(body, seed))
        sent = stream_of(dialect.renderer(call, HEAD), events, response, pings=way == "pieces")
        if dialect.name == "messages":
            check_grammar(sent)
        compare(dialect, judge(dialect, sent, seed=seed), row, response)


@every_row
@both
async def test_a_whole_answer_is_read_as_it_was_sent(row: Row, dialect: Dialect) -> None:
    _, response = await heard(row, [row["response_body"]["text"].encode()])
    sent = dialect.renderer(asked(), HEAD).whole(response)
    compare(dialect, judge(dialect, sent, streamed=False), row, response)


def compare(dialect: Dialect, judged: Any, row: Row, response: LLMResponse) -> None:
    expected = row["expected"]
    assert judged.text.strip() == expected["text"].strip()
    assert judged.thoughts.strip() == expected["reasoning"].strip()
    assert judged.calls == [(call["name"], call["arguments"]) for call in expected["tool_calls"]]
    ids = [call["id"] for call in expected["tool_calls"]]
    assert [name for name in judged.ids if name in ids] == [name for name in ids if name]
    assert len(set(judged.ids)) == len(judged.ids)
    assert judged.reason == REASONS[dialect.name][response.finish_reason]
    check_usage(dialect, judged.usage, response.usage)
