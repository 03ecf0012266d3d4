"""The dialect chat, rendered: chunks, usage only where asked for, sources, errors."""

from __future__ import annotations

import orjson
import pytest

from mud_assistant.llm import FinishReason, LLMResponse, ServerToolCall, ToolCall, Usage, assistant
from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.dialect import OfferedModelName
from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.messages import Citation, Reasoning, Text
from mud_assistant.llm.response import (
    FinishSeen,
    ReasoningDelta,
    ServerBlockSeen,
    StreamEvent,
    TextDelta,
    UsageSeen,
)
from tests.llm.dialects.judges import HEAD, asked, events_of, judge_chat, rendered

DIALECT = ChatDialect()
COUNTED = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "total_tokens": 107,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
USAGE = Usage(100, 7, 60, 3, 10)
NOTHING = {
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "total_tokens": 0,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}


def test_the_chunks_of_a_stream() -> None:
    first, *_, text, end, usage, done = events_of(rendered(DIALECT, [TextDelta("Hm."), UsageSeen(USAGE)], asked()))
    assert first == {
        "id": "chatcmpl-abc",
        "object": "chat.completion.chunk",
        "created": 1_800_000_000,
        "model": "sage",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
        "usage": None,
    }
    assert text["choices"][0]["delta"] == {"content": "Hm."}
    assert end["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert (usage["choices"], usage["usage"]) == ([], COUNTED)
    assert done == {"done": True}


def test_usage_is_sent_only_where_it_was_asked_for() -> None:
    sent = rendered(DIALECT, [TextDelta("Hm."), UsageSeen(USAGE)], asked(counts_usage=False))
    assert b"usage" not in sent
    assert all(event.get("choices") != [] for event in events_of(sent))
    assert sent.endswith(b"data: [DONE]\n\n")


def test_a_use_that_is_not_known_is_0() -> None:
    assert events_of(rendered(DIALECT, [], asked()))[-2]["usage"] == NOTHING


def test_a_sign_of_life_adds_nothing() -> None:
    [ping] = events_of(DIALECT.renderer(asked(), HEAD).ping())
    assert ping["choices"] == [{"index": 0, "delta": {}, "finish_reason": None}]
    assert judge_chat(rendered(DIALECT, [TextDelta("a"), TextDelta("b")], asked(), pings=True)).text == "ab"


def test_reasoning_has_its_own_field_and_a_seal_has_none() -> None:
    sent = rendered(DIALECT, [ReasoningDelta("Hm."), ReasoningDelta("", "seal"), TextDelta("Well.")], asked())
    assert b"seal" not in sent
    judged = judge_chat(sent)
    assert (judged.thoughts, judged.text) == ("Hm.", "Well.")


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (FinishReason.STOP, "stop"),
        (FinishReason.LENGTH, "length"),
        (FinishReason.FILTERED, "content_filter"),
        (FinishReason.PAUSED, "stop"),
    ],
)
def test_why_it_ended(reason: FinishReason, told: str) -> None:
    assert judge_chat(rendered(DIALECT, [TextDelta("Hm."), FinishSeen(reason)], asked())).reason == told


def test_sources_say_which_part_of_the_text_is_theirs() -> None:
    source, other = Citation("q", "https://a.example", "A"), Citation("q", "https://b.example")
    events: list[StreamEvent] = [
        ServerBlockSeen(ServerToolCall("srv", "web_search", {})),
        TextDelta("One."),
        ServerBlockSeen(source),
        ServerBlockSeen(other),
        TextDelta(" Two."),
        ServerBlockSeen(other),
        ServerBlockSeen(Citation("from a file")),
    ]
    places = [(0, 4, "https://a.example"), (0, 4, "https://b.example"), (4, 9, "https://b.example")]
    told = judge_chat(rendered(DIALECT, events, asked())).raw.choices[0].message
    assert [tuple(_place(entry)) for entry in told.annotations] == places
    message = assistant(Text("One."), source, other, Text(" Two."), other)
    response = LLMResponse(message, FinishReason.STOP, Usage(), "p", "m")
    whole = orjson.loads(DIALECT.renderer(asked(), HEAD).whole(response))
    assert [tuple(_place(entry)) for entry in whole["choices"][0]["message"]["annotations"]] == places


def _place(entry: object) -> tuple[int, int, str]:
    told = entry if isinstance(entry, dict) else entry.model_dump()  # type: ignore[attr-defined]  # the client's own
    place = told["url_citation"]
    return place["start_index"], place["end_index"], place["url"]


def test_a_stream_that_cannot_be_finished_ends_with_an_error_and_no_done() -> None:
    renderer = DIALECT.renderer(asked(), HEAD)
    sent = renderer.begin() + renderer.feed(TextDelta("Hm.")) + renderer.fail(Failure(FailureKind.PROVIDER, "x failed"))
    assert events_of(sent)[-1]["error"]["message"] == "x failed"
    assert b"[DONE]" not in sent
    with pytest.raises(Exception, match="x failed"):
        judge_chat(sent)


def test_a_whole_answer() -> None:
    message = assistant(Reasoning("Hm."), ToolCall("a", "say", {"text": "b"}))
    response = LLMResponse(message, FinishReason.TOOL_CALLS, USAGE, "p", "m")
    answer = orjson.loads(DIALECT.renderer(asked(), HEAD).whole(response))
    call = {"id": "a", "type": "function", "function": {"name": "say", "arguments": '{"text":"b"}'}}
    assert answer == {
        "id": "chatcmpl-abc",
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": "sage",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "refusal": None,
                    "reasoning_content": "Hm.",
                    "tool_calls": [call],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": COUNTED,
    }


@pytest.mark.parametrize(
    ("kind", "status", "word", "code"),
    [
        (FailureKind.INVALID, 400, "invalid_request_error", None),
        (FailureKind.UNSUPPORTED, 400, "invalid_request_error", "unsupported_parameter"),
        (FailureKind.CONTEXT, 400, "invalid_request_error", "context_length_exceeded"),
        (FailureKind.NO_KEY, 401, "invalid_request_error", "invalid_api_key"),
        (FailureKind.FORBIDDEN, 403, "invalid_request_error", "permission_denied"),
        (FailureKind.NO_MODEL, 404, "invalid_request_error", "model_not_found"),
        (FailureKind.TOO_LARGE, 413, "invalid_request_error", None),
        (FailureKind.TOO_MANY, 429, "requests", "rate_limit_exceeded"),
        (FailureKind.BUDGET, 429, "insufficient_quota", "insufficient_quota"),
        (FailureKind.RATE_LIMITED, 429, "requests", "rate_limit_exceeded"),
        (FailureKind.INTERNAL, 500, "server_error", "server_error"),
        (FailureKind.CREDENTIAL, 502, "server_error", "server_error"),
        (FailureKind.OVERLOADED, 503, "server_error", "server_is_overloaded"),
        (FailureKind.DEADLINE, 504, "server_error", "server_error"),
    ],
)
def test_errors_have_the_dialects_words(kind: FailureKind, status: int, word: str, code: str | None) -> None:
    expected = {"error": {"message": "so", "type": word, "param": "n", "code": code}}
    assert DIALECT.error_body(Failure(kind, "so", "n")) == (status, expected)


def test_a_model_that_the_key_may_not_use_does_not_exist() -> None:
    status, body = DIALECT.error_body(Failure(FailureKind.FORBIDDEN, "so", "model"))
    assert (status, body["error"]) == (
        404,
        {"message": "so", "type": "invalid_request_error", "param": "model", "code": "model_not_found"},
    )


def test_models() -> None:
    sage = {"id": "sage", "object": "model", "created": 5, "owned_by": "mud-assistant"}
    models = [OfferedModelName("sage", 5), OfferedModelName("fool", 6, 8192)]
    listed = DIALECT.models_body(models)
    assert listed == {"object": "list", "data": [sage, DIALECT.model_body(models[1])]}
    assert DIALECT.model_body(models[1])["context_length"] == 8192
