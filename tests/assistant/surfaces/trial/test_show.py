from __future__ import annotations

import json

import pytest

from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, Limit, LimitReached, NothingToDo
from mud_assistant.assistant.events.outcome import Outcome as RunOutcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.service.wording.showing import (
    outcome_text,
    scene_text,
    spoken_lines,
    trace_json,
    trace_text,
    who_text,
)
from mud_assistant.llm import FinishReason, LLMResponse, Reasoning, Text, ToolCall, ToolResult, Usage, assistant
from mud_assistant.llm.modes.capabilities import CallOutcome, CallRecord, CallStyle, record_answer
from mud_assistant.tools import Category, Executed, Person, Scene, Status, Thing

CALL = ToolCall("c", "say", {"text": "Hello"})
DONE = Executed(CALL, ToolResult("c", "say", "You said it."), Status.DONE, Category.TERMINAL, 0.25)
ANSWER = LLMResponse(
    assistant(Reasoning("hm"), Text("so"), CALL), FinishReason.TOOL_CALLS, Usage(120, 7, 100), "local", "tiny"
)
RECORD = record_answer(CallRecord(), CallOutcome.VALID, style=CallStyle.NATIVE)
TRACE = StepTrace("run-1", 2, 9, 130, ANSWER, (DONE,), 1.25, RECORD)


def test_a_step_shows_tokens_answer_calls_results_and_times() -> None:
    text = trace_text(TRACE)
    for part in ("run-1 step 2", "9 messages", "130 tokens", "120 tokens in (100 cached), 7 out", "1.2 s"):
        assert part in text
    assert 'say {"text":"Hello"} -> done in 0.25 s: You said it.' in text
    assert "thought: hm" in text
    assert "its last calls: 1 valid, 0 repaired, 0 failed; asked by way of: native" in text


def test_unknown_usage_is_not_shown_as_zero() -> None:
    answer = LLMResponse(ANSWER.message, FinishReason.STOP, Usage(), "ollama", "m")
    assert "tokens not reported" in trace_text(StepTrace("run-1", 1, 1, 1, answer, (), 0.0))


def test_a_step_is_one_json_object_on_one_line() -> None:
    line = trace_json(TRACE)
    assert "\n" not in line
    step = json.loads(line)
    assert step["calls"] == [
        {"tool": "say", "arguments": {"text": "Hello"}, "status": "done", "result": "You said it.", "seconds": 0.25}
    ]
    assert step["usage"] == {"input_tokens": 120, "output_tokens": 7, "cached_tokens": 100, "cost": None}
    assert step["sent"] == {"messages": 9, "tokens_estimated": 130}


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Answered(("say", "emote")), "answered with say, emote"),
        (NothingToDo(), "nothing to do"),
        (LimitReached(Limit.STEPS), "limit reached: steps"),
        (Failed("the server is down"), "failed: the server is down"),
        (Cancelled(), "cancelled"),
    ],
)
def test_every_outcome_has_its_words(outcome: RunOutcome, words: str) -> None:
    assert words in outcome_text("run-1", outcome)


def test_a_room_shows_what_is_in_it_and_who_is_an_ai() -> None:
    text = scene_text(Scene("Mill", "It turns.", ("west",), (Person("Sage", is_ai=True),), (Thing("sack"),)))
    assert text == "Mill\nIt turns.\nYou see: sack.\nHere: Sage (AI).\nExits: west."
    assert who_text([Person("Ann"), Person("Sage", is_ai=True)]) == "In the hamlet: Ann, Sage (AI)."


def test_speech_cannot_move_the_cursor_or_forge_a_line() -> None:
    assert spoken_lines("a\x1b[2Jb\r\nSage says, x") == "ab\n  Sage says, x"
