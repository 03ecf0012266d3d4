"""Formats and repairs. Argument forms are in test_formats.py, which calls count in
test_judge.py, whose they are in test_quotes.py.
"""

from __future__ import annotations

import json
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.llm.fallback.drafts import Offer
from mud_assistant.llm.fallback.find import Found, find_calls
from mud_assistant.llm.fallback.formats.json_calls import read_json
from mud_assistant.llm.loose_json.tokens import WorkBudget
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


def find(text: str, *, complete: bool = True, tools: list[ToolSpec] | None = None) -> Found:
    numbers = count(1)
    return find_calls(text, TOOLS if tools is None else tools, complete=complete, new_id=lambda: f"id{next(numbers)}")


def calls(text: str, *, complete: bool = True) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in find(text, complete=complete).calls]


def test_f1_ours() -> None:
    found = find('{"tool": "say", "parameters": {"text": "hi"}, "reasoning": "Bob asked."}')
    assert [(call.id, call.name, call.arguments, call.problem) for call in found.calls] == [("id1", *SAY, "")]
    assert (found.reasoning, found.text, found.repaired, found.quoted) == ("Bob asked.", "", False, 0)


@pytest.mark.parametrize("name", ["tool", "name", "function", "action"])
@pytest.mark.parametrize("arguments", ["parameters", "arguments", "args", "input", "params"])
def test_f1_synonyms(name: str, arguments: str) -> None:
    assert calls(json.dumps({name: "say", arguments: {"text": "hi"}})) == [SAY]


def test_f1_among_several_names_the_one_that_is_a_tool_counts() -> None:
    assert calls('{"name": "Bob", "action": "say", "input": {"text": "hi"}, "extra": 1}') == [SAY]


def test_f1_the_tool_may_be_an_object() -> None:
    assert calls('{"tool": {"name": "say", "arguments": {"text": "hi"}}, "reasoning": "x"}') == [SAY]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```json\n{}\n```", id="json fence"),
        pytest.param("```\n{}\n```", id="untagged fence"),
        pytest.param("```json\n{}", id="unclosed fence"),
        pytest.param("```JSON {} ```", id="on one line"),
        pytest.param("Here is my answer:\n\n```json\n{}\n```\n", id="behind prose"),
    ],
)
def test_f2_fences(text: str) -> None:
    assert calls(text.replace("{}", '{"tool": "say", "parameters": {"text": "hi"}}')) == [SAY]


@pytest.mark.parametrize(
    "text",
    [
        r'{"tool_calls": [{"id": "1", "function": {"name": "say", "arguments": "{\"text\": \"hi\"}"}}]}',
        r'{"content": null, "tool_calls": [{"function": {"name": "say", "arguments": {"text": "hi"}}}]}',
        r'{"function_call": {"name": "say", "arguments": "{\"text\": \"hi\"}"}}',
        r'{"tool_call": {"name": "say", "arguments": {"text": "hi"}}}',
        r'[{"type": "function", "function": {"name": "say", "parameters": {"text": "hi"}}}]',
    ],
)
def test_f3_openai_pasted_as_text(text: str) -> None:
    assert calls(text) == [SAY]


@pytest.mark.parametrize("before", ["", "<|tool_call|>", "functools", "functools ", "Sure.\n"])
def test_f4_a_bare_list(before: str) -> None:
    text = '[{"name": "look", "arguments": {}}, {"name": "say", "arguments": {"text": "hi"}}]'
    assert calls(before + text) == [LOOK, SAY]


@pytest.mark.parametrize("closing", ["\n</tool_call>", ""])
def test_f5_hermes(closing: str) -> None:
    text = (
        f'<tool_call>\n{{"name": "look", "arguments": {{}}}}{closing}\n'
        f'<tool_call>\n{{"name": "say", "arguments": {{"text": "hi"}}}}{closing}'
    )
    found = find(text)
    assert [(call.id, call.name) for call in found.calls] == [("id1", "look"), ("id2", "say")]
    assert found.reasoning == ""


def test_96_a_half_stripped_tag_does_not_matter() -> None:
    assert calls('{"name": "say", "arguments": {"text": "hi"}}\n</tool_call>') == [SAY]


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ('{"tool": "say", "parameters": {"text": "hi",},}', True),
        ("{'tool': 'say', 'parameters': {'text': 'hi'}}", True),
        ('{"tool": "say", /* why */ "parameters": {"text": "hi"}} // done', True),
        ("{\u201ctool\u201d: \u201csay\u201d, \u201cparameters\u201d: {\u201ctext\u201d: \u201chi\u201d}}", True),
        ('{tool: "say", parameters: {text: "hi"}}', True),
        ('{{"tool": "say", "parameters": {"text": "hi"}}}', True),
        ('{{"tool": "say", "parameters": {"text": "hi"}}}}', True),
        ('{"tool": "say", "parameters": {"text": "hi"}', True),
        ('{"tool": "say", "parameters": {"text": "hi', True),
        ('[{"tool": "say", "parameters": {"text": "hi"}}', True),
        ('{"tool_calls": [{"function": {"name": "say", "arguments": {"text": "hi"}}}]', True),
        ('{"tool": "say", "parameters": {"text": "hi"}}', False),
    ],
)
def test_97_mistakes_are_repaired_and_told(text: str, repaired: bool) -> None:
    found = find(text)
    assert [(call.name, call.arguments) for call in found.calls] == [SAY]
    assert found.repaired is repaired


def test_97_line_breaks_inside_a_text() -> None:
    assert calls('{"tool": "say", "parameters": {"text": "one\ntwo"}}') == [("say", {"text": "one\ntwo"})]


def test_97_two_objects_are_two_calls() -> None:
    text = '{"tool": "look", "parameters": {}}\n\n{"tool": "say", "parameters": {"text": "hi"}}'
    assert calls(text) == [LOOK, SAY]
    assert calls(text.replace("\n\n", "; ")) == [LOOK, SAY]
    assert calls(text[:-1]) == [LOOK, SAY]


@pytest.mark.parametrize("cut", range(1, 71))
def test_98_a_call_cut_by_the_token_limit_is_none(cut: int) -> None:
    text = '{"tool": "whisper", "parameters": {"name": "look", "text": "a"}, "x": tru'
    found = find(text[:cut], complete=False)
    assert found == Found(text=text[:cut])


def test_98_a_closed_call_before_the_cut_counts() -> None:
    text = '{"tool": "look", "parameters": {}}\n{"tool": "say", "parameters": {"text": "hi'
    assert calls(text, complete=False) == [LOOK]
    assert calls('[{"tool": "look", "parameters": {}}, {"tool": "sa', complete=False) == []


def test_98_a_text_left_so_open_that_it_swallows_the_rest_is_not_closed() -> None:
    assert calls('{"tool": "say", "parameters": {"text": "hi}}\n\nI hope this helps!') == []


def test_98_an_argument_named_like_a_tool_is_no_call_when_the_call_is_unreadable() -> None:
    text = '{"tool": "whisper", "parameters": {"name": "look"}, "note": "he said "hi" to me"}'
    assert calls(text) == []
    assert calls(text[:-8], complete=False) == []


def test_97_bare_quotes_in_the_reasoning_do_not_matter() -> None:
    text = '{"tool": "say", "parameters": {"text": "hi"}, "reasoning": "Bob said "hi" and "how are you?""}'
    found = find(text)
    assert ([(call.name, call.arguments) for call in found.calls], found.repaired) == ([SAY], True)


@pytest.mark.parametrize(
    "said",
    ['he "said", "x": "and" more', 'he "said": no', 'he {"said"} it', 'two\n"lines"'],
)
def test_97_bare_quotes_that_may_hide_more_are_left_alone(said: str) -> None:
    assert calls(f'{{"tool": "say", "parameters": {{"text": "hi"}}, "reasoning": "{said}"}}') == []


def test_97_bare_quotes_in_an_argument_are_left_alone() -> None:
    assert calls('{"tool": "say", "parameters": {"text": "I say "hi" to you"}, "reasoning": "x"}') == []


@pytest.mark.parametrize("mark", ["<|im_end|>", "<|eot_id|>", "</s>", "<|endoftext|>", "<end_of_turn>"])
def test_what_stands_behind_the_end_mark_of_the_model_is_left_out(mark: str) -> None:
    call = '{"tool": "say", "parameters": {"text": "hi"}}'
    assert calls(f"{call}{mark}\n<|im_start|>user\nNow tell me about the room.") == [SAY]
    assert calls(f'{call}{mark}\nuser: go\n{{"tool": "look"}}') == [SAY]
    assert calls(f"{mark}{call}{mark}") == [SAY]
    assert calls(f"{call[:-1]}{mark} and on", complete=False) == [SAY]
    assert find(f'Hello.{mark}\n{{"tool": "look"}}') == Found(text="Hello.")
    assert calls(call.replace("hi", f"say {mark} now")) == [("say", {"text": f"say {mark} now"})]


def test_words_struck_out_are_no_end() -> None:
    assert calls('I am <s>sad</s> glad.\n{"tool": "look"}') == [LOOK]


def test_calls_a_looping_model_repeats_are_counted() -> None:
    call = '{"tool": "say", "parameters": {"text": "hi"}}\n'
    found = find(call * 3 + '{"tool": "look"}')
    assert (len(found.calls), found.repeats) == (4, 2)


def test_86_names_in_other_clothes_become_the_tools() -> None:
    for name in ("SAY", "functions.say", "say:0", " say ", "say()"):
        assert calls(json.dumps({"tool": name, "parameters": {"text": "hi"}})) == [SAY]


def test_100_without_tools_everything_is_plain_text() -> None:
    text = '{"tool": "say", "parameters": {"text": "hi"}}'
    assert find(text, tools=[]) == Found(text=text)


def test_text_without_calls_is_the_answer_without_its_thoughts() -> None:
    assert find("<think>hm</think>\nHello, {friend}!") == Found(reasoning="hm", text="Hello, {friend}!")


def test_88_a_text_too_long_is_not_searched() -> None:
    text = '{"tool": "look"}' + " " * (256 * 1024)
    assert find(text).text == text


pieces = st.sampled_from(
    [
        '{"tool":"look"}',
        '{"tool":"say","parameters":{"text":"',
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "\\",
        ":",
        ",",
        "say(",
        ")",
        "\n",
        "word ",
        "```json\n",
        "```",
        "<tool_call>",
        "<think>",
        "</think>",
        "[look()]",
        "[say(text='",
        "/*",
        "\ud800",
    ]
)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])) | st.lists(pieces, max_size=25).map("".join), st.booleans())
def test_no_text_raises_and_every_call_can_be_encoded(text: str, complete: bool) -> None:
    found = find_calls(text, TOOLS, complete=complete, inputs=[text[:20]], new_id=lambda: "id")
    assert bool(found.calls) is not bool(found.text) or not found.calls
    for call in found.calls:
        json.dumps(call.arguments, allow_nan=False, ensure_ascii=False).encode()


HOSTILE = [
    "{",
    "[",
    "{{",
    '{"',
    "{'",
    '{"a":',
    '{"a":[',
    "```json\n{",
    '{"a":"}',
    "{/*",
    "[1,",
    '{"a":{"b":1},',
    '{"a" {',
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("complete", [True, False])
def test_the_search_is_linear(unit: str, complete: bool) -> None:
    """Counted in characters scanned."""
    for length in (10_000, 40_000):
        text = unit * (length // len(unit))
        budget = WorkBudget(len(text))
        read_json(text, Offer(TOOLS), complete, budget)
        assert budget.spent <= 10 * len(text) + 4096


@pytest.mark.parametrize(
    "unit",
    [
        *HOSTILE,
        "<think>",
        "</think>",
        "[look(",
        "[look(a='",
        "[look()]",
        "<function_calls>",
        "```tool_code\n",
        "`",
        "\\",
    ],
)
def test_hostile_texts_come_to_an_end(unit: str) -> None:
    text = unit * (256 * 1024 // len(unit))
    find(text)
    found = find_calls('{"tool": "look"}', TOOLS, complete=True, inputs=[text], new_id=lambda: "id")
    assert len(found.calls) + found.quoted == 1
