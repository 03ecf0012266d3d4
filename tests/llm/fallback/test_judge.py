from __future__ import annotations

import pytest

from mud_assistant.llm.fallback.find import Found, find_calls
from mud_assistant.llm.messages import ToolSpec

TOOLS = [
    ToolSpec("look", "", {"type": "object", "properties": {}}),
    ToolSpec("say", "", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
]
LOOK = '{"tool": "look", "parameters": {}}'
SAY = '{"tool": "say", "parameters": {"text": "hi"}}'
UNKNOWN = '{"tool": "google", "parameters": {"query": "x"}}'


def find(text: str) -> Found:
    return find_calls(text, TOOLS, complete=True, new_id=lambda: "id")


def names(text: str) -> list[str]:
    return [call.name for call in find(text).calls]


@pytest.mark.parametrize(
    "text",
    [
        f"<think>I could say {LOOK}</think> Hello there.",
        f"<think>{LOOK}",
        f"I could: {LOOK}\n</think>Hello there.",
        f"[THINK]{LOOK}[/THINK]",
    ],
)
def test_99_a_call_inside_think_tags_does_not_count(text: str) -> None:
    assert names(text) == []


def test_99_a_call_behind_the_thoughts_counts_and_the_thoughts_are_reasoning() -> None:
    found = find(f"<think>I could {SAY}.</think>\nI look round.\n{LOOK}")
    assert [call.name for call in found.calls] == ["look"]
    assert found.reasoning == f"I could {SAY}.\nI look round."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"The door is locked. You open it with a call, for example: {LOOK}", id="before it a real answer"),
        pytest.param(f"Yes, you can.\n\nFor example:\n```json\n{LOOK}\n```", id="in a fence"),
        pytest.param(f"For example, {LOOK} would show you the room.\n\nBut I stay here.", id="behind it a real answer"),
        pytest.param(f"You could write something like {LOOK}", id="something like"),
        pytest.param(f"You can send a call, e.g. {LOOK}", id="e.g."),
        pytest.param(f"I could answer with {LOOK}, but I will not.", id="in the middle of a sentence"),
        pytest.param(f"A call such as `{LOOK}` shows the room.", id="quoted in backticks"),
        pytest.param(f'Bob told me "{LOOK}" and left.', id="quoted"),
        pytest.param(f'The rules are {{"level": 1, "hp": 5}} and {LOOK}\n\nSo think it over.', id="among other JSON"),
        pytest.param(f'{LOOK}\n\nThe result is {{"room": "a cellar"}}.', id="other JSON and words behind it"),
        pytest.param(f'{{"note": {LOOK}}}', id="inside other JSON"),
    ],
)
def test_99_a_call_that_is_only_quoted_does_not_count(text: str) -> None:
    assert find(text) == Found(text=text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"I look round first. {LOOK}", id="the last substantial thing"),
        pytest.param(f"I will do this: {LOOK}.", id="a full stop behind it"),
        pytest.param(f"```json\n{LOOK}\n```\n\nThis shows me the room.", id="the only JSON, on its own lines"),
        pytest.param(f"{LOOK}\nI am looking.", id="words on the next line"),
        pytest.param(f"`{LOOK}`", id="in backticks, with nothing else"),
        pytest.param(f"That was an example. Now I look. {LOOK}", id="an example in an earlier sentence"),
        pytest.param(f"See [1] and {{}}.\n{LOOK}\nDone.", id="brackets in prose are no JSON"),
    ],
)
def test_99_a_call_that_is_meant_counts(text: str) -> None:
    assert names(text) == ["look"]


def test_99_an_example_before_the_call_is_left_out() -> None:
    assert names(f"For example: {SAY}\nBut I do this:\n{LOOK}") == ["look"]


def test_every_call_counts_in_order_and_the_prose_round_them_is_reasoning() -> None:
    found = find(f"First I look.\n{LOOK}\nThen I speak.\n{SAY}\n")
    assert [call.name for call in found.calls] == ["look", "say"]
    assert found.reasoning == "First I look.\nThen I speak."
    assert found.text == ""


@pytest.mark.parametrize("text", [UNKNOWN, f"```json\n{UNKNOWN}\n```", f"<think>hm</think>{UNKNOWN}"])
def test_86_99_an_unknown_tool_counts_when_it_is_the_whole_text(text: str) -> None:
    (call,) = find(text).calls
    assert (call.name, call.arguments) == ("google", {"query": "x"})


def test_86_99_an_unknown_tool_among_calls_is_answered_too() -> None:
    assert names(f"{LOOK}\n{UNKNOWN}") == ["look", "google"]


@pytest.mark.parametrize(
    "text",
    [
        f"I search the web. {UNKNOWN}",
        f"{UNKNOWN}\nThat is what I do.",
        '{"tool": "google"}',
        '{"name": "Bob", "age": 7}',
        '{"name": "Bob", "input": "x"}',
        '{"parameters": {"text": "hi"}}',
        '{"tool": "", "parameters": {}}',
        '{"tool": 5, "parameters": {}}',
    ],
)
def test_99_what_names_no_tool_is_text(text: str) -> None:
    assert find(text) == Found(text=text)
