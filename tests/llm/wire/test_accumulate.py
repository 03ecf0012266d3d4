"""Fragments to calls: the edge cases 1 to 18 of docs/edge-cases.md by their numbers."""

from __future__ import annotations

from itertools import count

import pytest

from mud_assistant.llm.messages import (
    Citation,
    Message,
    RawTurn,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from mud_assistant.llm.response import (
    CallDelta,
    FinishReason,
    FinishSeen,
    ModelSeen,
    RawSeen,
    ReasoningDelta,
    ServerBlockSeen,
    StreamEvent,
    TextDelta,
    Usage,
    UsageSeen,
)
from mud_assistant.llm.wire.accumulate import Accumulator
from mud_assistant.llm.wire.calls import MAX_ARGUMENT_CHARS

KNOWN = ("get_weather", "look", "say")


def read(*events: StreamEvent) -> tuple[Message, FinishReason]:
    numbers = count(1)
    accumulator = Accumulator(KNOWN, lambda: f"made_{next(numbers)}")
    for event in events:
        accumulator.feed(event)
    return accumulator.message()


def calls(*events: StreamEvent) -> list[tuple[str, object]]:
    return [(call.name, call.problem or dict(call.arguments)) for call in read(*events)[0].tool_calls]


def test_1_two_whole_calls_are_two_calls() -> None:
    assert calls(CallDelta(0, "a", "look", "{}"), CallDelta(1, "b", "say", '{"text":"x"}')) == [
        ("look", {}),
        ("say", {"text": "x"}),
    ]


def test_2_fragments_are_joined_by_index_also_when_they_interleave() -> None:
    assert calls(
        CallDelta(0, "a", "look", ""),
        CallDelta(1, "b", "say", ""),
        CallDelta(1, arguments='{"te'),
        CallDelta(0, arguments="{"),
        CallDelta(1, arguments='xt":"x"}'),
        CallDelta(0, arguments="}"),
    ) == [("look", {}), ("say", {"text": "x"})]


def test_3_two_pieces_of_one_index_in_one_delta_are_one_call() -> None:
    assert calls(CallDelta(0, "a", "say", '{"text":'), CallDelta(0, arguments='"x"}')) == [("say", {"text": "x"})]


def test_4_the_same_index_with_another_id_and_a_name_is_another_call() -> None:
    assert calls(CallDelta(0, "a", "look", "{}"), CallDelta(0, "b", "look", "{}")) == [("look", {}), ("look", {})]


def test_5_without_an_index_the_id_tells() -> None:
    assert calls(
        CallDelta(None, "a", "look", ""), CallDelta(None, "b", "say", '{"text":"x"}'), CallDelta(None, "a", None, "{}")
    ) == [("look", {}), ("say", {"text": "x"})]


def test_6_with_neither_it_belongs_to_the_last_open_call() -> None:
    assert calls(CallDelta(None, None, "say", ""), CallDelta(arguments='{"text":'), CallDelta(arguments='"x"}')) == [
        ("say", {"text": "x"})
    ]


def test_8_indices_may_begin_anywhere() -> None:
    assert calls(CallDelta(3, "a", "look", "{}"), CallDelta(1, "b", "say", '{"text":"x"}')) == [
        ("look", {}),
        ("say", {"text": "x"}),
    ]


def test_9_and_10_an_id_and_a_name_on_every_fragment_are_one_call() -> None:
    assert calls(
        CallDelta(0, "a", "say", '{"text":'), CallDelta(0, "a", "say", '"x"'), CallDelta(0, "a", "say", "}")
    ) == [("say", {"text": "x"})]


def test_11_a_name_in_two_pieces_is_joined_when_that_makes_a_known_name() -> None:
    assert calls(CallDelta(0, "a", "get_", None), CallDelta(0, None, "weather", "{}")) == [("get_weather", {})]


def test_12_a_missing_id_is_made() -> None:
    message, _ = read(CallDelta(0, None, "look", "{}"), CallDelta(1, "", "look", "{}"))
    assert [call.id for call in message.tool_calls] == ["made_1", "made_2"]


def test_13_two_calls_with_one_id_get_two() -> None:
    message, _ = read(CallDelta(0, "a", "look", "{}"), CallDelta(1, "a", "look", "{}"))
    assert [call.id for call in message.tool_calls] == ["a", "made_1"]


def test_13_whole_calls_without_index_and_with_one_id_are_two_calls() -> None:
    message, _ = read(CallDelta(None, "a", "look", {}), CallDelta(None, "a", "look", {}))
    assert [call.id for call in message.tool_calls] == ["a", "made_1"]


def test_14_arguments_that_are_an_object_already() -> None:
    assert calls(CallDelta(0, "a", "say", {"text": "x"})) == [("say", {"text": "x"})]


@pytest.mark.parametrize("nothing", ["", None])
def test_15_no_arguments_are_an_empty_object(nothing: str | None) -> None:
    assert calls(CallDelta(0, "a", "look", nothing)) == [("look", {})]


def test_18_two_values_in_one_string_are_never_joined() -> None:
    message, _ = read(CallDelta(0, "a", "say", '{"text":"x"}{"text":"y"}'))
    assert len(message.tool_calls) == 1
    assert message.tool_calls[0].arguments in ({"text": "x"}, {})


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.TOOL_CALLS])
def test_59_calls_run_whatever_the_finish_says(reason: FinishReason) -> None:
    message, finish = read(CallDelta(0, "a", "look", "{}"), FinishSeen(reason))
    assert finish is FinishReason.TOOL_CALLS
    assert len(message.tool_calls) == 1


def test_60_a_finish_of_tool_calls_without_calls_is_a_stop() -> None:
    assert read(TextDelta("x"), FinishSeen(FinishReason.TOOL_CALLS))[1] is FinishReason.STOP


def test_61_arguments_cut_off_by_length_are_a_problem_and_not_a_call_to_run() -> None:
    message, finish = read(CallDelta(0, "a", "say", '{"text":"x'), FinishSeen(FinishReason.LENGTH))
    assert finish is FinishReason.LENGTH
    assert message.tool_calls[0].problem


def test_57_the_first_finish_wins_and_calls_come_once() -> None:
    message, finish = read(
        CallDelta(0, "a", "look", "{}"), FinishSeen(FinishReason.TOOL_CALLS), FinishSeen(FinishReason.STOP)
    )
    assert (len(message.tool_calls), finish) == (1, FinishReason.TOOL_CALLS)


def test_54_the_last_usage_wins() -> None:
    accumulator = Accumulator(KNOWN, lambda: "x")
    accumulator.feed(UsageSeen(Usage(1, 1)))
    accumulator.feed(UsageSeen(Usage(5, 2)))
    assert accumulator.usage == Usage(5, 2)


def test_67_the_first_model_name_stays() -> None:
    accumulator = Accumulator(KNOWN, lambda: "x")
    accumulator.feed(ModelSeen("a"))
    accumulator.feed(ModelSeen("b"))
    assert accumulator.model == "a"


def kinds(message: Message) -> list[str]:
    return [type(block).__name__ for block in message.blocks]


def test_blocks_stand_in_the_order_in_which_they_began() -> None:
    message, _ = read(
        ReasoningDelta("thought"),
        TextDelta("said "),
        CallDelta(0, "a", "look", ""),
        CallDelta(1, "b", "look", "{}"),
        TextDelta("more"),
        CallDelta(0, arguments="{}"),
    )
    assert kinds(message) == ["Reasoning", "Text", "ToolCall", "ToolCall", "Text"]
    assert (message.reasoning, message.text) == ("thought", "said more")


def test_71_a_thinking_block_in_the_text_may_reach_over_a_call() -> None:
    message, _ = read(TextDelta("<think>a "), CallDelta(0, "a", "look", "{}"), TextDelta("b</think>yes"))
    assert (message.reasoning, message.text) == ("a b", "yes")
    assert kinds(message) == ["Reasoning", "ToolCall", "Reasoning", "Text"]


def test_71_a_closing_tag_alone_takes_back_what_was_said_before_it() -> None:
    message, _ = read(TextDelta("hm "), CallDelta(0, "a", "look", "{}"), TextDelta("so</thi"), TextDelta("nk>yes"))
    assert (message.reasoning, message.text) == ("hm so", "yes")


def test_72_thoughts_with_their_own_signatures_stay_apart() -> None:
    message, _ = read(
        ReasoningDelta("one"),
        ReasoningDelta("", "seal1"),
        ReasoningDelta("", "seal2"),
        CallDelta(0, "a", "look", "{}"),
        ReasoningDelta("th"),
        ReasoningDelta("ree"),
    )
    assert message.blocks[:2] == (Reasoning("one", "seal1"), Reasoning("", "seal2"))
    assert message.blocks[3] == Reasoning("three")


def test_74_what_the_server_called_is_no_call_to_answer() -> None:
    search = ServerToolCall("srv", "web_search", {"query": "x"})
    message, finish = read(
        CallDelta(0, "a", "say", ""), ServerBlockSeen(search), CallDelta(0, arguments='{"text":"x"}')
    )
    assert message.tool_calls == (ToolCall("a", "say", {"text": "x"}),)
    assert message.blocks[1] == search
    assert finish is FinishReason.TOOL_CALLS


def test_75_results_and_sources_are_blocks_and_no_text() -> None:
    found, source = ServerToolResult("srv", "web_search", "Well"), Citation("deep", "https://well.example", "Well")
    message, finish = read(
        ServerBlockSeen(found), TextDelta("It is "), TextDelta("deep"), ServerBlockSeen(source), TextDelta(".")
    )
    assert message.blocks == (found, Text("It is deep"), source, Text("."))
    assert (message.text, finish) == ("It is deep.", FinishReason.STOP)


def test_76_a_pause_is_no_end_but_calls_are_answered_all_the_same() -> None:
    assert read(TextDelta("x"), FinishSeen(FinishReason.PAUSED))[1] is FinishReason.PAUSED
    message, finish = read(CallDelta(0, "a", "look", "{}"), FinishSeen(FinishReason.PAUSED))
    assert (len(message.tool_calls), finish) == (1, FinishReason.TOOL_CALLS)


def test_the_raw_turn_goes_along() -> None:
    raw = RawTurn("anthropic", ({"type": "text", "text": "x"},))
    assert read(TextDelta("x"), RawSeen(raw))[0].raw == raw
    assert read(TextDelta("x"))[0].raw is None


def test_blank_text_alone_is_none() -> None:
    assert read(TextDelta("\n"), CallDelta(0, "a", "look", "{}"), TextDelta(" "))[0].text == ""


def test_88_megabytes_of_arguments_are_a_problem() -> None:
    piece = "x" * 65536
    events = [CallDelta(0, "a", "say", piece) for _ in range(MAX_ARGUMENT_CHARS // len(piece) + 2)]
    call = read(*events)[0].tool_calls[0]
    assert isinstance(call, ToolCall)
    assert "characters" in call.problem
