from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.llm.fallback.drafts import Offer
from mud_assistant.llm.fallback.find import find_calls
from mud_assistant.llm.fallback.formats.pythonic import UnreadableCalls, parse_calls
from mud_assistant.llm.messages import JSON, ToolSpec


def tool(name: str, *required: str, optional: tuple[str, ...] = ()) -> ToolSpec:
    properties = {parameter: {"type": "string"} for parameter in (*required, *optional)}
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": list(required)})


TOOLS = [tool("look", optional=("target",)), tool("say", "text"), tool("whisper", "target", "text")]
OFFER = Offer(TOOLS)


def read(source: str) -> list[tuple[str, dict[str, JSON]]]:
    return [(draft.name, draft.arguments) for draft in parse_calls(source, OFFER)]


def calls(text: str, *, complete: bool = True) -> list[tuple[str, object]]:
    found = find_calls(text, TOOLS, complete=complete, new_id=lambda: "id")
    return [(call.name, call.arguments) for call in found.calls]


def test_f10_a_list_of_calls_with_keywords() -> None:
    assert read("[say(text='it\\'s \"me\"'), look()]") == [("say", {"text": 'it\'s "me"'}), ("look", {})]


def test_f10_every_literal() -> None:
    source = "say(a=1, b=-2.5, c=True, d=None, e=['x', (1, 2)], f={'k': {'n': false}}, g=null)"
    assert read(source) == [
        ("say", {"a": 1, "b": -2.5, "c": True, "d": None, "e": ["x", [1, 2]], "f": {"k": {"n": False}}, "g": None})
    ]


def test_f10_a_positional_argument_only_for_the_sole_required_parameter() -> None:
    assert read("[say('hello')]") == [("say", {"text": "hello"})]
    for source in ("[whisper('Bob', 'hi')]", "[look('door')]", "[say('a', 'b')]", "[nothing('x')]"):
        with pytest.raises(UnreadableCalls):
            read(source)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "look",
        "[look]",
        "[1, 2]",
        "x = look()",
        "look(); import os",
        "say(text=__import__('os').system('ls'))",
        "say(text=open('x'))",
        "say(text='a' + 'b')",
        "say(text=f'{1}')",
        "say(text=b'x')",
        "say(text=1j)",
        "say(text=...)",
        "say(text={1: 2})",
        "say(text={**a})",
        "say(**{'text': 'x'})",
        "say(text='x', text='y')",
        "say(text=1e999)",
        "say(text=99999999999999999999999)",
        "(lambda: 1)()",
        "look()()",
        "say(text='\\x')",
        "say(text='\0')",
    ],
)
def test_f10_anything_but_calls_with_literals_is_refused(source: str) -> None:
    with pytest.raises(UnreadableCalls):
        read(source)


def test_f10_an_escape_that_python_does_not_have_is_read_without_a_warning() -> None:
    assert read(r"say(text='\d')") == [("say", {"text": "\\d"})]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[say(text='hi'), look()]", id="bare"),
        pytest.param("I will.\n[say(text='hi'), look()]", id="behind prose"),
        pytest.param("<|tool_call_start|>[say(text='hi'), look()]<|tool_call_end|>", id="LFM2"),
        pytest.param("<|tool_call_start|>[say(text='hi'), look()]", id="LFM2 unclosed"),
        pytest.param("<function_calls>\nsay(text='hi')\nlook()\n</function_calls>", id="OLMo3"),
        pytest.param("```tool_code\nsay(text='hi')\nlook()\n```", id="Gemma 3"),
        pytest.param("```tool_code\nprint(say(text='hi'))\nprint(look())\n```", id="Gemma 3 printing"),
        pytest.param("[functions.say(text='hi'), tools.LOOK()]", id="names in other clothes"),
    ],
)
def test_f10_is_found_in_its_wrappers(text: str) -> None:
    assert calls(text) == [("say", {"text": "hi"}), ("look", {})]


@pytest.mark.parametrize(
    "text",
    ["look()", "Say look() to look.", "[looks fine (really)]", "[smile(text='x')] he said", "see [1] and [look]"],
)
def test_f10_prose_is_no_call(text: str) -> None:
    assert calls(text) == []


def test_f10_a_call_inside_the_text_of_a_json_call_is_not_found() -> None:
    text = '{"tool": "say", "parameters": {"text": "type [look()]"}}'
    assert calls(text) == [("say", {"text": "type [look()]"})]


def test_f10_json_inside_the_text_of_a_call_is_not_found() -> None:
    assert calls('[say(text=\'{"tool": "look"}\')]') == [("say", {"text": '{"tool": "look"}'})]


@pytest.mark.parametrize("complete", [True, False])
def test_98_a_list_that_is_cut_is_no_call(complete: bool) -> None:
    assert calls("[say(text='hi'), look(", complete=complete) == []
    assert calls('[say(text=\'{"tool": "look"}', complete=complete) == []


@settings(deadline=None)
@given(st.text(max_size=80) | st.text(st.sampled_from("[]()look=say'text\"\\,. -1"), max_size=60))
def test_f10_no_text_raises_anything_else(source: str) -> None:
    try:
        drafts = parse_calls(source, OFFER)
    except UnreadableCalls:
        return
    assert drafts


@pytest.mark.parametrize(
    "argument", ["-" * 200_000 + "1", "not " * 50_000 + "1", "a" + ".b" * 60_000, "f" + "()" * 60_000]
)
def test_88_f10_hostile_expressions_are_refused(argument: str) -> None:
    assert calls(f"[say(text={argument})]") == []


def test_88_f10_a_text_too_long_is_refused() -> None:
    with pytest.raises(UnreadableCalls):
        read(f"say(text='{'x' * 300_000}')")
