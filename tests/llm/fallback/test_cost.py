"""The search costs linear time, whatever a text repeats. Counted in calls and in characters, not in seconds."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from mud_assistant.llm.fallback.drafts import Offer
from mud_assistant.llm.fallback.find import READERS, find_calls
from mud_assistant.llm.loose_json.tokens import WorkBudget
from mud_assistant.llm.messages import ToolSpec

TOOLS = [
    ToolSpec("look", "", {"type": "object", "properties": {}}),
    ToolSpec("say", "", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
]
#: What a value that stays open may cost, which is tried again behind each of its brackets.
MOST_OPEN = 150_000
SEP = "<\uff5ctool▁sep\uff5c>"
UNITS = [
    *("{", "[", "{{", '{"', "{'", '{"a":', '{"a":"}', "{/*", "[1,", '{"a":{"b":1},', '{"a" {', "{}", "[]", '{"a":1}'),
    *('{"tool":"look"}', '{"say": {}}', "[look(", "[look(a='", "[look()]", "look.call(", "<|python_tag|>", "[1] "),
    *("<function_calls>", "```tool_code\n", "`", "\\", "<think>", "</think>", "<", "word ", " ", "\n", "a", '"'),
    *("<function=look>", "<function=say><parameter=text>", "<parameter=text>", "<function=say>{", "<function=say "),
    *('<invoke name="say">', "say<arg_key>", "say</tool_call>", "<arg_key>a</arg_key><arg_value>", "</tool_call>"),
    *("[TOOL_CALLS]", "say[ARGS]", "say[ARGS]{", "[TOOL_CALLS]say{", "say[CALL_ID]", SEP, f"say{SEP}", f"say{SEP}{{"),
    *("functions.say:0{", "<|tool_call_argument_begin|>", "a:1<|tool_call_argument_begin|>{", "to=", "to=say{"),
    *("<|channel|>", "commentary ", "<|channel|>commentary to=say<|message|>", ">>>", ">>>say\n{", "say\n{", "say {\n"),
    *("Action: say\nAction Input:", "Action: say\nAction Input: {", "Action: say\n", "call:say{", "call:say{text:"),
    *("call:say{a:<escape>", 'call:say{a:<|"|>', "<escape>", "<say>", "<say><a>", "<say></say>", "<say/>", "<say a='"),
    *("<invoke><tool_name>say</tool_name>", "<invoke>", '<say a="b" ', "call:say{a:<", "<say><a></a>", "<|", "</"),
]


def steps(text: str, inputs: tuple[str, ...], *, complete: bool) -> int:
    """How many functions a search calls, those in C among them."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        find_calls(text, TOOLS, complete=complete, inputs=inputs, new_id=lambda: "id")
    finally:
        sys.setprofile(before)
    return counted


@pytest.mark.parametrize("unit", UNITS)
def test_a_character_of_an_answer_costs_a_few_steps_however_long_it_is(unit: str) -> None:
    for length, complete in ((6_000, True), (20_000, True), (20_000, False)):
        assert steps(unit * (length // len(unit)), (), complete=complete) <= 8 * length + MOST_OPEN


@pytest.mark.parametrize("unit", UNITS)
def test_a_character_of_an_input_costs_a_few_steps_however_long_it_is(unit: str) -> None:
    for length in (6_000, 20_000):
        assert steps('{"tool": "look"}', (unit * (length // len(unit)),), complete=True) <= 8 * length + MOST_OPEN


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("complete", [True, False])
def test_no_reader_looks_at_a_character_more_than_a_few_times(unit: str, complete: bool) -> None:
    text = unit * (16 * 1024 // len(unit))
    for reader in READERS:
        budget = WorkBudget(len(text))
        reader(text, Offer(TOOLS), complete, budget)
        assert budget.spent <= 5 * len(text) + 20_000
