"""Answers rendered for clients of the Responses API."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.dialects.responses.dialect import ResponsesDialect
from mud_assistant.llm.messages import JSON, Citation, ServerToolCall, ToolCall, assistant
from mud_assistant.llm.response import (
    CallDelta,
    FinishReason,
    FinishSeen,
    LLMResponse,
    ReasoningDelta,
    ServerBlockSeen,
    TextDelta,
    Usage,
    UsageSeen,
)
from tests.llm.dialects.replayed import (
    ANSWERS,
    HEAD,
    Heard,
    added_up,
    asked_by,
    calls_of,
    heard,
    row_ids,
    streamed,
)
from tests.llm.dialects.responses.judge import events_of, final_response, judge, judge_whole, whole_response
from tests.llm.dialects.test_odd_streams import CALL, ODD
from tests.llm.dialects.test_recorded_streams import Row

DIALECT = ResponsesDialect()
FUNCTION: dict[str, JSON] = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {}},
}
BODY: dict[str, JSON] = {"model": "alias", "input": "hi", "stream": True, "tools": [FUNCTION]}


def rendered(answer: Heard, body: dict[str, JSON] | None = None) -> bytes:
    return streamed(DIALECT.renderer(asked_by(DIALECT, body or BODY), HEAD), answer)


def whole(answer: Heard, body: dict[str, JSON] | None = None) -> bytes:
    return DIALECT.renderer(asked_by(DIALECT, body or BODY), HEAD).whole(answer.response)


def told_calls(output: list[Any]) -> list[tuple[str, Any]]:
    return [(item.name, orjson.loads(item.arguments)) for item in output if item.type == "function_call"]


def check_same(read: Any, answer: LLMResponse) -> None:
    """Hold what a client read against what the provider said."""
    assert read.output_text.strip() == answer.content.strip()
    thoughts = [part.text for item in read.output if item.type == "reasoning" for part in item.summary]
    assert "".join(thoughts).strip() == answer.reasoning.strip()
    whole_calls = [call for call in answer.tool_calls if not call.problem]
    if len(whole_calls) == len(answer.tool_calls):
        assert told_calls(read.output) == calls_of(answer)
    assert read.usage.input_tokens == (answer.usage.input_tokens or 0)
    assert read.usage.output_tokens == (answer.usage.output_tokens or 0)
    assert read.usage.input_tokens_details.cached_tokens == (answer.usage.cached_tokens or 0)
    assert read.usage.output_tokens_details.reasoning_tokens == (answer.usage.reasoning_tokens or 0)
    cut = {FinishReason.LENGTH: "max_output_tokens", FinishReason.FILTERED: "content_filter"}
    assert read.status == ("incomplete" if answer.finish_reason in cut else "completed")
    reason = read.incomplete_details.reason if read.incomplete_details else None
    assert reason == cut.get(answer.finish_reason)
    assert read.model == "alias"


@pytest.mark.skipif(not ANSWERS, reason="no recordings")
@pytest.mark.parametrize("row", ANSWERS, ids=row_ids(ANSWERS))
async def test_every_recording_reaches_the_client_as_it_was(row: Row) -> None:
    """Read whole and at random splits, told as a stream and as one document."""
    answer = await heard(row)
    for same in (answer, await heard(row, in_pieces=True)):
        stream = rendered(same)
        judge(events_of(stream))
        read, text, arguments = final_response(stream)
        check_same(read, same.response)
        assert text == read.output_text
        said = {at: item.arguments for at, item in enumerate(read.output) if item.type == "function_call"}
        assert arguments == said
    body = whole(answer)
    judge_whole(body)
    check_same(whole_response(body), answer.response)


@pytest.mark.parametrize("odd", ODD)
def test_calls_stay_whole_in_any_order(odd: str) -> None:
    events, expected = ODD[odd]
    answer = added_up(*events, tools=CALL.tools)
    stream = streamed(DIALECT.renderer(CALL, HEAD), answer)
    judge(events_of(stream))
    read, _, _ = final_response(stream)
    assert told_calls(read.output) == expected
    ids = [item.call_id for item in read.output if item.type == "function_call"]
    assert len(set(ids)) == len(expected)
    assert read.output_text.strip() == answer.response.content.strip()


@given(
    calls=st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=9), max_size=3), min_size=1, max_size=4),
    chance=st.randoms(use_true_random=False),
)
def test_calls_that_take_turns_at_random_stay_whole(calls: list[dict[str, str]], chance: random.Random) -> None:
    queues = []
    for number, arguments in enumerate(calls):
        said = orjson.dumps(arguments).decode()
        at = chance.randrange(len(said) + 1)
        pieces = [CallDelta(number, arguments=said[:at]), CallDelta(number, arguments=said[at:])]
        queues.append([CallDelta(number, f"id{number}", "say", ""), *pieces])
    events = [queue.pop(0) for queue in queues]
    while any(queues):
        events.append(chance.choice([queue for queue in queues if queue]).pop(0))
    stream = streamed(DIALECT.renderer(CALL, HEAD), added_up(*events, tools=CALL.tools))
    judge(events_of(stream))
    read, _, _ = final_response(stream)
    assert told_calls(read.output) == [("say", arguments) for arguments in calls]


def test_a_call_is_told_as_soon_as_the_one_before_is_whole() -> None:
    renderer = DIALECT.renderer(asked_by(DIALECT, BODY), HEAD)
    renderer.begin()
    renderer.feed(CallDelta(0, "a", "get_weather", '{"city": '))
    assert renderer.feed(CallDelta(1, "b", "get_weather", '{"city": ')) == b""
    assert b'"call_id":"b"' in renderer.feed(CallDelta(0, None, None, '"Paris"}'))
    assert b"Rome" in renderer.feed(CallDelta(1, None, None, '"Rome"}'))


def test_reasoning_text_and_a_call_are_items_in_order() -> None:
    usage = Usage(10, 5, 4, 3)
    answer = added_up(
        ReasoningDelta("Let me "),
        ReasoningDelta("see."),
        TextDelta("\n"),
        TextDelta("Looking"),
        CallDelta(0, "a", "get_weather", ""),
        CallDelta(0, None, None, "{}"),
        FinishSeen(FinishReason.TOOL_CALLS),
        UsageSeen(usage),
    )
    events = events_of(rendered(answer))
    judge(events)
    done = events[-1]["response"]
    assert [item["type"] for item in done["output"]] == ["reasoning", "message", "function_call"]
    assert [item["id"][:3] for item in done["output"]] == ["rs_", "msg", "fc_"]
    assert done["id"] == f"resp_{HEAD.id}"
    assert done["output"][0]["summary"] == [{"type": "summary_text", "text": "Let me see."}]
    assert done["usage"]["input_tokens_details"] == {"cached_tokens": 4}
    assert done["usage"]["total_tokens"] == 15


def test_blank_text_is_no_item() -> None:
    answer = added_up(TextDelta("\n\n"), CallDelta(0, "a", "get_weather", '{"city": "Rome"}'))
    assert [item["type"] for item in events_of(rendered(answer))[-1]["response"]["output"]] == ["function_call"]


def test_a_sealed_thought_is_an_item_of_its_own() -> None:
    answer = added_up(ReasoningDelta("one"), ReasoningDelta("", "seal"), ReasoningDelta("two"), TextDelta("Hi"))
    output = events_of(rendered(answer))[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "reasoning", "message"]
    assert b"seal" not in rendered(answer)


@pytest.mark.parametrize(
    ("finish", "reason"),
    [(FinishReason.LENGTH, "max_output_tokens"), (FinishReason.FILTERED, "content_filter")],
)
def test_an_answer_that_is_cut_off_is_incomplete(finish: FinishReason, reason: str) -> None:
    events = events_of(rendered(added_up(TextDelta("Once upon"), FinishSeen(finish))))
    judge(events)
    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": reason}
    assert events[-1]["response"]["output"][0]["status"] == "incomplete"


def test_a_stream_that_fails_ends_with_its_cause_and_without_the_open_item() -> None:
    renderer = DIALECT.renderer(asked_by(DIALECT, BODY), HEAD)
    stream = renderer.begin() + renderer.feed(CallDelta(0, "a", "get_weather", '{"ci'))
    stream += renderer.fail(Failure(FailureKind.PROVIDER, "the provider broke off"))
    events = events_of(stream)
    judge(events)
    assert events[-1]["response"]["error"] == {"code": "server_error", "message": "the provider broke off"}
    assert events[-1]["response"]["output"] == []


def test_a_sign_of_life_is_a_comment_that_the_client_ignores() -> None:
    renderer = DIALECT.renderer(asked_by(DIALECT, BODY), HEAD)
    answer = added_up(TextDelta("Hi"))
    stream = renderer.begin() + renderer.ping() + renderer.feed(answer.events[0]) + renderer.ping()
    read, text, _ = final_response(stream + renderer.finish(answer.response))
    assert text == read.output_text == "Hi"


def test_an_attempt_that_failed_leaves_nothing_behind() -> None:
    renderer = DIALECT.renderer(asked_by(DIALECT, BODY), HEAD)
    stream = renderer.begin() + renderer.feed(TextDelta(" "))
    renderer.restart()
    answer = added_up(TextDelta("Hi"))
    stream += renderer.feed(answer.events[0]) + renderer.finish(answer.response)
    judge(events_of(stream))
    assert events_of(stream)[-1]["response"]["output"][0]["content"][0]["text"] == "Hi"


def test_a_source_is_noted_at_its_text() -> None:
    source = Citation("lilies are white", "https://x.example", "X")
    step = ServerToolCall("s1", "web_search", {"query": "lily"})
    cited = ServerBlockSeen(source)
    answer = added_up(ServerBlockSeen(step), TextDelta("A lily. "), cited, TextDelta("White."), cited)
    events = events_of(rendered(answer))
    judge(events)
    (part,) = events[-1]["response"]["output"][0]["content"]
    notes = part["annotations"]
    assert [part["text"][note["start_index"] : note["end_index"]] for note in notes] == ["A lily. ", "White."]
    assert (notes[0]["url"], notes[0]["title"]) == ("https://x.example", "X")
    assert judge_whole(whole(answer))["output"] == events[-1]["response"]["output"]


def test_text_that_turns_out_to_be_a_call_is_told_as_a_call() -> None:
    renderer = DIALECT.renderer(asked_by(DIALECT, BODY), HEAD)
    renderer.holds_text = True
    call = ToolCall("c1", "get_weather", {"city": "Rome"})
    response = LLMResponse(assistant(call), FinishReason.TOOL_CALLS, Usage(), "local", "m", from_fallback=True)
    stream = streamed(renderer, Heard([TextDelta('{"tool": "get_weather"}')], response))
    judge(events_of(stream))
    read, text, _ = final_response(stream)
    assert told_calls(read.output) == [("get_weather", {"city": "Rome"})]
    assert text == ""


SPACE: JSON = {
    "type": "namespace",
    "name": "mcp__files",
    "description": "Files.",
    "tools": [{**FUNCTION, "name": "open"}],
}
CUSTOM: JSON = {"type": "custom", "name": "apply_patch", "description": "Edit.", "format": {"type": "text"}}


def test_names_in_a_namespace_come_back_apart() -> None:
    body = {**BODY, "tools": [SPACE]}
    answer = added_up(CallDelta(0, "a", "mcp__files__open", '{"path": "x"}'), tools=asked_by(DIALECT, body).tools)
    for output in (
        events_of(rendered(answer, body))[-1]["response"]["output"],
        orjson.loads(whole(answer, body))["output"],
    ):
        assert [(item["namespace"], item["name"]) for item in output] == [("mcp__files", "open")]


def test_a_custom_tool_is_called_with_its_bare_text() -> None:
    body = {**BODY, "tools": [CUSTOM]}
    pieces = [CallDelta(0, "a", "apply_patch", '{"input": "*** Be'), CallDelta(0, None, None, 'gin\\n+x"}')]
    answer = added_up(*pieces, tools=asked_by(DIALECT, body).tools)
    events = events_of(rendered(answer, body))
    deltas = "".join(event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta")
    (item,) = events[-1]["response"]["output"]
    assert item["type"] == "custom_tool_call"
    assert item["input"] == deltas == "*** Begin\n+x"
    read, _, _ = final_response(rendered(answer, body))
    assert read.output[0].input == deltas


def test_the_settings_of_the_request_are_repeated() -> None:
    settings: dict[str, JSON] = {
        "instructions": "Be brief.",
        "max_output_tokens": 99,
        "temperature": 0.5,
        "store": True,
        "metadata": {"a": "b"},
        "parallel_tool_calls": False,
        "tool_choice": {"type": "function", "name": "get_weather"},
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "f", "schema": {"type": "object"}}},
    }
    value = judge_whole(whole(added_up(TextDelta("Hi")), {**BODY, **settings}))
    same = ("instructions", "max_output_tokens", "temperature", "metadata", "parallel_tool_calls", "tool_choice")
    assert {key: value[key] for key in same} == {key: settings[key] for key in same}
    assert value["store"] is False
    assert value["tools"][0]["strict"] is False
    assert value["reasoning"] == {"effort": "low", "summary": None}
    assert value["created_at"] == HEAD.created


def test_allowed_tools_are_repeated_in_the_published_form() -> None:
    choice: JSON = {"type": "allowed_tools", "tools": [{"type": "function", "name": "get_weather"}]}
    value = judge_whole(whole(added_up(TextDelta("Hi")), {**BODY, "tool_choice": choice}))
    assert value["tool_choice"]["mode"] == "auto"
