"""The dialect messages, rendered: what its clients see of thoughts, sources, server tools, usage and errors."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from mud_assistant.llm import FinishReason, LLMResponse, ServerToolCall, ServerToolResult, ToolCall, Usage, assistant
from mud_assistant.llm.dialects.dialect import OfferedModelName
from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.messages import Citation, Reasoning, Text
from mud_assistant.llm.request import CallOptions
from mud_assistant.llm.response import (
    CallDelta,
    FinishSeen,
    ReasoningDelta,
    ServerBlockSeen,
    StreamEvent,
    TextDelta,
    UsageSeen,
)
from tests.llm.dialects.judges import HEAD, asked, check_grammar, events_of, judge_messages, rendered, response_of

DIALECT = MessagesDialect()
SEARCH = [
    ServerBlockSeen(ServerToolCall("srv", "web_search", {"query": "wells"})),
    ServerBlockSeen(ServerToolResult("srv", "web_search", "Old Wells https://wells.example\nmore")),
]
SOURCE = ServerBlockSeen(Citation("by the mill", "https://wells.example", "Wells"))


def blocks_of(events: list[StreamEvent], **options: Any) -> list[dict[str, Any]]:
    """The content blocks that the client builds."""
    sent = rendered(DIALECT, events, asked("say", **options))
    check_grammar(sent)
    return [block.model_dump(exclude_none=True) for block in judge_messages(sent).raw.content]


def test_the_start_estimates_and_the_end_tells_the_use() -> None:
    usage = Usage(100, 7, 60, 3, 10, {"web_search": 2})
    told = events_of(rendered(DIALECT, [TextDelta("Hm."), UsageSeen(usage)], asked()))
    assert [event["type"] for event in told][:2] == ["message_start", "ping"]
    assert told[0]["message"]["usage"] == {"input_tokens": 321, "output_tokens": 0}
    assert told[-2]["usage"] == {
        "input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 60,
        "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 3},
        "server_tool_use": {"web_search_requests": 2},
    }


def test_a_use_that_is_not_known_is_left_out_and_the_client_keeps_the_estimate() -> None:
    sent = rendered(DIALECT, [TextDelta("Hm.")], asked())
    assert events_of(sent)[-2]["usage"] == {}
    assert judge_messages(sent).usage.input_tokens == 321


def test_an_answer_without_anything_has_no_block() -> None:
    assert blocks_of([TextDelta(" \n")]) == []


def test_thoughts_are_shown_only_to_a_client_that_asked_for_them() -> None:
    events: list[StreamEvent] = [ReasoningDelta("Hm."), ReasoningDelta("", "seal"), TextDelta("Well.")]
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "seal"}
    said = {"type": "text", "text": "Well."}
    assert blocks_of(events) == [thought, said]
    assert blocks_of(events, options=CallOptions()) == [said]


def test_a_sealed_thought_ends_its_block() -> None:
    events: list[StreamEvent] = [ReasoningDelta("a", "one"), ReasoningDelta("b"), ReasoningDelta("", "two")]
    assert [block["signature"] for block in blocks_of(events)] == ["one", "two"]


def test_thoughts_without_a_seal_carry_none() -> None:
    sent = rendered(DIALECT, [TextDelta("<think>Hm.</think>Well.")], asked())
    assert b"signature_delta" not in sent
    assert judge_messages(sent).thoughts == "Hm."


def test_a_search_is_shown_as_blocks_and_its_sources_with_their_text() -> None:
    events: list[StreamEvent] = [*SEARCH, TextDelta("It is by the mill."), SOURCE, SOURCE, TextDelta(" Go there.")]
    used, found, cited, rest = blocks_of(events)
    assert (used["type"], used["id"], used["input"]) == ("server_tool_use", "srv", {"query": "wells"})
    assert (found["type"], found["tool_use_id"]) == ("web_search_tool_result", "srv")
    assert (found["content"][0]["title"], found["content"][0]["url"]) == ("Old Wells", "https://wells.example")
    assert [source["cited_text"] for source in cited["citations"]] == ["by the mill"] * 2
    assert rest == {"type": "text", "text": " Go there."}


def test_steps_of_other_server_tools_have_no_block() -> None:
    events: list[StreamEvent] = [
        ServerBlockSeen(ServerToolCall("srv", "code_execution", {})),
        ServerBlockSeen(ServerToolResult("srv", "code_execution", "42")),
        TextDelta("42."),
    ]
    assert blocks_of(events) == [{"type": "text", "text": "42."}]


def test_a_failed_search_gives_its_word() -> None:
    [found] = blocks_of([ServerBlockSeen(ServerToolResult("srv", "web_search", "max_uses_exceeded", failed=True))])
    assert found["content"] == {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}


def test_what_comes_while_a_call_is_open_waits_for_it() -> None:
    events: list[StreamEvent] = [CallDelta(0, "a", "say", '{"text":'), *SEARCH, TextDelta("Hm."), SOURCE]
    kinds = [block["type"] for block in blocks_of([*events, CallDelta(0, arguments='"b"}')])]
    assert kinds == ["tool_use", "server_tool_use", "web_search_tool_result", "text"]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (FinishReason.STOP, "end_turn"),
        (FinishReason.LENGTH, "max_tokens"),
        (FinishReason.FILTERED, "refusal"),
        (FinishReason.PAUSED, "pause_turn"),
    ],
)
def test_why_it_ended(reason: FinishReason, told: str) -> None:
    assert judge_messages(rendered(DIALECT, [TextDelta("Hm."), FinishSeen(reason)], asked())).reason == told


def test_an_attempt_that_failed_before_anything_was_rendered_leaves_nothing() -> None:
    renderer = DIALECT.renderer(asked("say"), HEAD)
    sent = renderer.begin() + renderer.feed(TextDelta("\n")) + renderer.feed(CallDelta(0, "x", "say"))
    assert not renderer.has_content
    renderer.restart()
    events: list[StreamEvent] = [CallDelta(0, "a", "say", '{"text":"b"}')]
    sent += renderer.feed(events[0]) + renderer.finish(response_of(events, asked("say")))
    check_grammar(sent)
    assert judge_messages(sent).calls == [("say", {"text": "b"})]


def test_held_text_that_was_a_call_is_sent_as_a_call() -> None:
    renderer = DIALECT.renderer(asked("say"), HEAD)
    renderer.holds_text = True
    sent = renderer.begin() + renderer.feed(TextDelta('{"name":"say"}'))
    message = assistant(ToolCall("a", "say", {"text": "b"}))
    response = LLMResponse(message, FinishReason.TOOL_CALLS, Usage(), "p", "m", from_fallback=True)
    judged = judge_messages(sent + renderer.finish(response))
    assert (judged.text, judged.calls, judged.reason) == ("", [("say", {"text": "b"})], "tool_use")


def test_a_stream_that_cannot_be_finished_ends_with_an_error() -> None:
    renderer = DIALECT.renderer(asked(), HEAD)
    sent = renderer.begin() + renderer.feed(TextDelta("Hm.")) + renderer.fail(Failure(FailureKind.PROVIDER, "x failed"))
    assert events_of(sent)[-1] == {"type": "error", "error": {"type": "api_error", "message": "x failed"}}
    with pytest.raises(Exception, match="x failed"):
        judge_messages(sent)


def test_a_whole_answer_has_its_blocks_in_order() -> None:
    message = assistant(
        Reasoning("Hm.", "seal"),
        ServerToolCall("srv", "web_search", {}),
        ServerToolResult("srv", "web_search", "found"),
        Text("Well."),
        Citation("w", "https://wells.example"),
        Text(" "),
        ToolCall("a", "say", {"text": "b"}),
    )
    response = LLMResponse(message, FinishReason.TOOL_CALLS, Usage(5, 6), "p", "m")
    answer = orjson.loads(DIALECT.renderer(asked(), HEAD).whole(response))
    kinds = ["thinking", "server_tool_use", "web_search_tool_result", "text", "tool_use"]
    assert [block["type"] for block in answer["content"]] == kinds
    assert answer["content"][3]["citations"][0]["url"] == "https://wells.example"
    assert (answer["id"], answer["model"], answer["stop_reason"]) == ("msg_abc", "sage", "tool_use")
    assert answer["usage"] == {"input_tokens": 5, "output_tokens": 6}
    unasked = orjson.loads(DIALECT.renderer(asked(options=CallOptions()), HEAD).whole(response))
    assert [block["type"] for block in unasked["content"]] == kinds[1:]


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        (FailureKind.INVALID, 400, "invalid_request_error"),
        (FailureKind.UNSUPPORTED, 400, "invalid_request_error"),
        (FailureKind.NO_KEY, 401, "authentication_error"),
        (FailureKind.FORBIDDEN, 403, "permission_error"),
        (FailureKind.NO_MODEL, 404, "not_found_error"),
        (FailureKind.METHOD, 405, "invalid_request_error"),
        (FailureKind.TOO_LARGE, 413, "request_too_large"),
        (FailureKind.TOO_MANY, 429, "rate_limit_error"),
        (FailureKind.BUDGET, 429, "rate_limit_error"),
        (FailureKind.BUDGET_FOR_GOOD, 429, "billing_error"),
        (FailureKind.RATE_LIMITED, 429, "overloaded_error"),
        (FailureKind.OVERLOADED, 529, "overloaded_error"),
        (FailureKind.INTERNAL, 500, "api_error"),
        (FailureKind.CREDENTIAL, 502, "api_error"),
        (FailureKind.DEADLINE, 504, "timeout_error"),
    ],
)
def test_errors_have_the_dialects_words(kind: FailureKind, status: int, word: str) -> None:
    expected = {"type": "error", "error": {"type": word, "message": "so"}}
    assert DIALECT.error_body(Failure(kind, "so")) == (status, expected)


def test_a_prompt_that_is_too_long_is_told_in_the_words_that_tools_look_for() -> None:
    status, body = DIALECT.error_body(Failure(FailureKind.CONTEXT, "x", tokens=9000, limit=8192))
    assert status == 400
    assert body["error"] == {
        "type": "invalid_request_error",
        "message": "prompt is too long: 9000 tokens > 8192 maximum",
    }
    assert "prompt is too long: x" in str(DIALECT.error_body(Failure(FailureKind.CONTEXT, "x")))


def test_models() -> None:
    sage = OfferedModelName("sage", 1_800_000_000, 8192)
    listed = DIALECT.models_body([sage, OfferedModelName("fool", 0)])
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == ("sage", "fool", False)
    assert DIALECT.model_body(sage) == {
        "type": "model",
        "id": "sage",
        "display_name": "sage",
        "created_at": "2027-01-15T08:00:00Z",
        "max_input_tokens": 8192,
    }
    assert DIALECT.models_body([])["first_id"] is None


def test_what_waited_for_a_call_is_sent_when_the_call_is_whole() -> None:
    renderer = DIALECT.renderer(asked("say", "look"), HEAD)
    renderer.feed(CallDelta(0, "a", "say", '{"text":'))
    assert b"look" not in renderer.feed(CallDelta(1, "b", "look", '{"at":1}'))
    assert b"look" in renderer.feed(CallDelta(0, arguments='"b"}'))
