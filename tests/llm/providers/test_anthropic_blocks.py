"""Thoughts, server tools and sources in what Anthropic answers: the edge cases 72 to 77 by their numbers."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.llm import Citation, FinishReason, Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall
from tests.llm.providers.anthropic_stream import (
    SOURCE,
    START,
    block,
    call,
    closed,
    finish,
    opened,
    piece,
    read,
    text,
    thought,
)


def test_72_thoughts_stay_in_their_places_with_their_seals() -> None:
    message, _ = read(
        START,
        thought(0, "", "s1"),
        block(1, type="redacted_thinking", data="xx"),
        thought(2, "two", "s2"),
        call(3, "{}"),
        finish("tool_use"),
    )
    assert message.blocks[:2] == (Reasoning("", "s1"), Reasoning("two", "s2"))
    assert message.raw_of("anthropic") == (
        {"type": "thinking", "thinking": "", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "thinking", "thinking": "two", "signature": "s2"},
        {"type": "tool_use", "id": "toolu_1", "name": "say", "input": {}},
    )


def test_73_a_thought_without_its_seal_is_told_and_not_replayed() -> None:
    cut = block(0, ("thinking_delta", "thinking", "hm"), type="thinking", thinking="", signature="")
    message, _ = read(START, cut, text(1, "x"), finish("max_tokens"))
    assert message.reasoning == "hm"
    assert [raw["type"] for raw in message.raw_of("anthropic")] == ["text"]


def test_74_what_the_server_calls_beside_a_clients_call_stays_its_own() -> None:
    message, reason = read(
        START,
        opened(0, type="tool_use", id="a", name="say", input={}),
        piece(0, "input_json_delta", partial_json='{"text":'),
        opened(1, type="server_tool_use", id="srv", name="web_search", input={}),
        piece(1, "input_json_delta", partial_json='{"query":"well"}'),
        piece(0, "input_json_delta", partial_json='"x"}'),
        closed(1),
        closed(0),
        finish("tool_use"),
    )
    assert message.tool_calls == (ToolCall("a", "say", {"text": "x"}),)
    assert ServerToolCall("srv", "web_search", {"query": "well"}) in message.blocks
    assert reason is FinishReason.TOOL_CALLS
    assert message.raw_of("anthropic")[1]["input"] == {"query": "well"}


FOUND = {"type": "web_search_result", "url": "https://w", "title": "Well", "encrypted_content": "E", "page_age": None}


def test_75_results_come_whole_and_unknown_blocks_stay_raw() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [FOUND]}
    strange = {"type": "oracle", "vision": {"a": [1]}}
    message, _ = read(START, block(0, **result), block(1, **strange), finish())
    assert message.blocks == (ServerToolResult("srv", "web_search", "Well https://w"),)
    assert message.raw_of("anthropic") == (result, strange)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("web_fetch", {"type": "web_fetch_result", "url": "https://w", "content": {"title": "T"}}, "T https://w"),
        ("mcp", [{"type": "text", "text": "said"}], "said"),
        ("code_execution", {"type": "code_execution_result", "stdout": "4"}, "4"),
        ("other", "words", "words"),
        ("other", None, ""),
    ],
)
def test_75_other_results_in_short(name: str, content: Any, expected: str) -> None:
    message, _ = read(START, block(0, type=f"{name}_tool_result", tool_use_id="srv", content=content), finish())
    assert message.blocks == (ServerToolResult("srv", name, expected),)


def test_77_a_failed_search_is_a_note_and_the_turn_goes_on() -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    result = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": failed}
    message, reason = read(START, block(0, **result), text(1, "Sorry."), finish())
    assert message.blocks[0] == ServerToolResult("srv", "web_search", "max_uses_exceeded", failed=True)
    assert (message.text, reason) == ("Sorry.", FinishReason.STOP)


def test_sources_stand_behind_their_text() -> None:
    cited = [
        opened(0, type="text", text="", citations=[]),
        piece(0, "citations_delta", citation=SOURCE),
        piece(0, "text_delta", text="It is deep"),
        closed(0),
    ]
    message, _ = read(START, *cited, text(1, "."), finish())
    assert message.blocks == (Text("It is deep"), Citation("deep", "https://w", "Well"), Text("."))
    assert message.raw_of("anthropic")[0] == {"type": "text", "text": "It is deep", "citations": [SOURCE]}
