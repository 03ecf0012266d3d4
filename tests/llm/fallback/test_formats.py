"""The forms in which models give arguments, and what becomes of overlapping readings."""

from __future__ import annotations

import json

import pytest

from mud_assistant.llm.fallback.drafts import Candidate, Reading, merge_readings
from mud_assistant.llm.fallback.find import Found, find_calls
from mud_assistant.llm.messages import JSON, ToolSpec


def tool(name: str, *required: str, optional: tuple[str, ...] = ()) -> ToolSpec:
    properties = {parameter: {"type": "string"} for parameter in (*required, *optional)}
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": list(required)})


TOOLS = [
    tool("look", optional=("target",)),
    tool("say", "text"),
    tool("move", "direction"),
    tool("whisper", "name", "text"),
    tool("who"),
]
SAY = ("say", {"text": "hi"})
LOOK: tuple[str, dict[str, JSON]] = ("look", {})


def find(text: str) -> Found:
    return find_calls(text, TOOLS, complete=True, new_id=lambda: "id")


def calls(text: str) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in find(text).calls]


@pytest.mark.parametrize("arguments", ["null", "[]", '["hi"]', '""', '"null"', "{}", '"{}"'])
def test_arguments_null_list_or_empty_are_none(arguments: str) -> None:
    assert calls(f'{{"tool": "look", "parameters": {arguments}}}') == [LOOK]


def test_arguments_absent_are_none() -> None:
    assert calls('{"tool": "look"}') == [LOOK]
    assert calls('{"tool": "look()", "reasoning": "x"}') == [LOOK]


def test_arguments_as_a_text_that_holds_an_object_are_decoded() -> None:
    assert calls(json.dumps({"tool": "say", "parameters": json.dumps({"text": "hi"})})) == [SAY]
    assert calls(json.dumps({"tool": "say", "parameters": json.dumps(json.dumps({"text": "hi"}))})) == [SAY]


def test_arguments_as_a_bare_text_are_the_sole_required_argument() -> None:
    assert calls('{"tool": "say", "parameters": "hi "}') == [SAY]
    assert calls('{"tool": "move", "parameters": 5}') == [("move", {"direction": 5})]


def test_87_arguments_that_fit_no_parameter_are_a_problem_not_silence() -> None:
    for name in ("whisper", "look"):
        (call,) = find(f'{{"tool": "{name}", "parameters": "Bob"}}').calls
        assert (call.arguments, call.problem) == ({}, "the arguments must be a JSON object")
    (call,) = find('{"tool": "who", "parameters": "everybody"}').calls
    assert (call.arguments, call.problem) == ({}, "")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}',
        '{"text": {"type": "string", "description": "what to say"}}',
    ],
)
def test_87_arguments_that_echo_the_schema_are_a_problem(arguments: str) -> None:
    (call,) = find(f'{{"name": "say", "description": "x", "parameters": {arguments}}}').calls
    assert call.arguments == {}
    assert "schema" in call.problem


def test_of_readings_that_overlap_the_one_that_begins_first_counts() -> None:
    outer, inner, later = Candidate(0, 20, ()), Candidate(5, 10, ()), Candidate(20, 25, ())
    assert merge_readings([Reading((inner,)), Reading((outer, later))], 30) == Reading((outer, later))


def test_a_cut_ends_the_reading_unless_a_value_holds_it() -> None:
    first, later = Candidate(0, 20, ()), Candidate(22, 25, ())
    assert merge_readings([Reading((first, later)), Reading(cut=5)], 30) == Reading((first, later))
    assert merge_readings([Reading((first, later)), Reading(cut=21)], 30) == Reading((first,), cut=21)
