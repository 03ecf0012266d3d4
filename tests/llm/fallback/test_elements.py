"""Edges of the formats in tags, elements and marked names, that the corpus does not have."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.llm.fallback.find import Found, find_calls
from mud_assistant.llm.messages import ToolSpec

TOOLS = [
    ToolSpec("look", "", {"type": "object", "properties": {"target": {"type": "string"}}}),
    ToolSpec("say", "", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    ToolSpec("wait", "", {"type": "object", "properties": {"seconds": {"type": "integer"}}, "required": ["seconds"]}),
]


def find(text: str, *, complete: bool = True) -> Found:
    return find_calls(text, TOOLS, complete=complete, new_id=lambda: "id")


def calls(text: str, *, complete: bool = True) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in find(text, complete=complete).calls]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("<wait seconds='5'/>", ("wait", {"seconds": 5})),
        ('<wait seconds="5"></wait>', ("wait", {"seconds": 5})),
        ("<wait>5</wait>", ("wait", {"seconds": "5"})),
        ("<look></look>", ("look", {})),
        ('<say>{"text": "hi"}</say>', ("say", {"text": "hi"})),
        ("<tool_call><say><text>hi</text></say></tool_call>", ("say", {"text": "hi"})),
        ("<say><text>\nhi\n</text></say>", ("say", {"text": "hi"})),
    ],
)
def test_f20_forms(text: str, call: tuple[str, object]) -> None:
    assert calls(text) == [call]


@pytest.mark.parametrize(
    "text",
    [
        "Type <look> to see the room.",
        "<google><query>x</query></google>",
        "<say><text>hi</text>",
        "<say><text>hi</say>",
        "<say text=hi>",
    ],
)
def test_f20_what_is_not_closed_or_not_known_is_text(text: str) -> None:
    assert find(text) == Found(text=text)


@pytest.mark.parametrize(
    "text",
    [
        "<function=say>\n<parameter=text>\nhi",
        "<function=say><parameter=text>hi</parameter>",
        '<invoke name="say"><parameter name="text">hi',
        "<tool_call>say\n<arg_key>text</arg_key>\n<arg_value>hi",
        "<tool_call>say\n<arg_key>text</arg_key>\n<arg_value>hi</arg_value>",
    ],
)
def test_a_call_left_open_is_closed_only_when_the_text_ended_by_itself(text: str) -> None:
    assert calls(text) == [("say", {"text": "hi"})]
    assert calls(text, complete=False) == []


def test_a_value_so_open_that_it_holds_what_should_stand_behind_it_is_not_closed() -> None:
    assert calls("<function=say>\n<parameter=text>\nhi\n\nI hope this helps!") == []


def test_a_value_holds_a_tag_that_opens_a_call() -> None:
    text = "<function=say><parameter=text>write <function=look> and see</parameter></function>"
    assert calls(text) == [("say", {"text": "write <function=look> and see"})]


def test_a_call_in_the_arguments_of_another_is_none_of_its_own() -> None:
    inner = '{"tool": "look", "parameters": {}}'
    assert calls(f"<function=say><parameter=text>{inner}</parameter></function>") == [("say", {"text": inner})]
    assert calls(f"call:say{{text:<escape>{inner}<escape>}}") == [("say", {"text": inner})]


def test_a_number_is_typed_by_the_schema_whatever_the_format() -> None:
    for text in (
        "<function=wait><parameter=seconds>\n5\n</parameter></function>",
        "wait\n<arg_key>seconds</arg_key><arg_value>5</arg_value></tool_call>",
        '<invoke name="wait"><parameter name="seconds">5</parameter></invoke>',
        "call:wait{seconds:5}",
    ):
        assert calls(text) == [("wait", {"seconds": 5})]


@pytest.mark.parametrize(
    "text", ["Hello</tool_call>", "word <function=look> word", "look {here}", "say to=Bob", ">>> hi"]
)
def test_a_mark_alone_is_no_call(text: str) -> None:
    assert find(text) == Found(text=text)


def test_a_name_before_an_object_counts_only_with_parameters_of_its_own() -> None:
    assert calls('say {"text": "hi"}') == [("say", {"text": "hi"})]
    assert calls('say {"volume": 3}') == []


@pytest.mark.parametrize("said", ["hi", '"hi"', "`hi`", '{"text": "hi"}', '```json\n{"text": "hi"}\n```'])
def test_f18_forms_of_the_input(said: str) -> None:
    assert calls(f"Thought: I greet.\n**Action:** say\n**Action Input:** {said}") == [("say", {"text": "hi"})]


def test_f18_no_input() -> None:
    assert calls("Action: look\nAction Input: None\n") == [("look", {})]


def test_f14_thoughts_of_the_analysis_channel_are_not_searched() -> None:
    thought = '<|channel|>analysis<|message|>I could {"tool": "look"}<|end|>'
    call = '<|start|>assistant<|channel|>commentary to=functions.say <|constrain|>json<|message|>{"text": "hi"}<|call|>'
    assert calls(thought) == []
    found = find(thought + call)
    assert [(one.name, one.arguments) for one in found.calls] == [("say", {"text": "hi"})]
    assert found.reasoning == 'I could {"tool": "look"}'


marks = st.sampled_from(
    [
        *("<function=say>", "<parameter=text>", "</parameter>", "</function>", "<tool_call>", "</tool_call>", "say"),
        *("<arg_key>text</arg_key>", "<arg_value>", "</arg_value>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]x", "{", "}"),
        *('{"text": "hi"}', "<\uff5ctool▁sep\uff5c>", "function", "<|tool_call_argument_begin|>", "functions.say:0"),
        *('<invoke name="say">', "<invoke>", "</invoke>", "<tool_name>say</tool_name>", "to=say", "<|message|>"),
        *("call:say{", "text:", "<escape>", '<|"|>', ">>>", "\n", "Action: say\n", "Action Input: ", "Observation:"),
        *(
            "<say>",
            "</say>",
            "<say ",
            "/>",
            'text="hi"',
            "say.call(",
            ")",
            "<|im_end|>",
            "</s>",
            "hi ",
            '"',
            "\ud800",
            ",",
        ),
    ]
)


@settings(deadline=None)
@given(st.lists(marks, max_size=20).map("".join), st.booleans())
def test_no_mixture_raises_and_every_call_can_be_encoded(text: str, complete: bool) -> None:
    found = find_calls(text, TOOLS, complete=complete, inputs=[text[:30]], new_id=lambda: "id")
    for call in found.calls:
        json.dumps(call.arguments, allow_nan=False, ensure_ascii=False).encode()
