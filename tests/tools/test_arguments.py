from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationInfo, field_validator

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.arguments import MAX_PROBLEM_CHARS, parse_arguments
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import ToolRetry
from mud_assistant.tools.testing import tool_call
from mud_assistant.tools.tool import Arguments, Category, Tool
from mud_assistant.tools.verbs import LOOK, SAY, WORLD_TOOLS


class Throw(Arguments):
    target: str = Field(min_length=1, max_length=20)
    times: int = Field(default=1, ge=1, le=5)
    hand: Literal["left", "right"] = "right"

    @field_validator("target")
    @classmethod
    def not_self(cls, target: str, _: ValidationInfo) -> str:
        if target == "me":
            raise ValueError("must be somebody else")
        return target


async def throw(_: Throw, __: ToolContext) -> str:
    return "thrown"


THROW = Tool("throw", "Throw a ball.", Throw, Category.TERMINAL, throw)
TAKES = "throw takes 'target' (string, 1 to 20 characters), 'times' (integer, 1 to 5, optional), "


def problem(tool: Tool, call: ToolCall) -> str:
    with pytest.raises(ToolRetry) as retry:
        parse_arguments(tool, call)
    return str(retry.value)


def test_arguments_that_fit() -> None:
    assert parse_arguments(THROW, tool_call("throw", target="Anna")) == Throw(target="Anna")


def test_numbers_in_strings_and_the_reverse_are_taken() -> None:
    assert parse_arguments(THROW, tool_call("throw", target=7, times="3")) == Throw(target="7", times=3)


def test_no_arguments() -> None:
    assert parse_arguments(LOOK, tool_call("look"))
    assert problem(LOOK, tool_call("look", at="map")) == "look has no 'at'; leave it out. look takes no arguments."


def test_a_missing_field_is_named_with_what_is_allowed() -> None:
    assert problem(THROW, tool_call("throw")) == f"throw needs 'target'. {TAKES}'hand' (one of left, right, optional)."


def test_an_unknown_field_is_named() -> None:
    assert problem(THROW, tool_call("throw", target="x", speed=3)).startswith("throw has no 'speed'; leave it out. ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "x" * 21}, "'target' of throw is wrong: it should have at most 20 characters."),
        ({"target": ""}, "'target' of throw is wrong: it should have at least 1 character."),
        ({"target": None}, "'target' of throw is wrong: it should be a valid string."),
        ({"target": ["x"]}, "'target' of throw is wrong: it should be a valid string."),
        ({"target": "x", "times": 6}, "'times' of throw is wrong: it should be less than or equal to 5."),
        ({"target": "x", "hand": "both"}, "'hand' of throw is wrong: it should be 'left' or 'right'."),
        ({"target": "me"}, "'target' of throw is wrong: it must be somebody else."),
        ({"target": "\ud83d"}, "'target' of throw is wrong: it should be a valid string, unable to parse"),
    ],
)
def test_a_wrong_value_is_explained(arguments: dict[str, Any], said: str) -> None:
    assert said in problem(THROW, tool_call("throw", **arguments))


def test_arguments_that_could_not_be_read() -> None:
    call = ToolCall("1", "say", {}, "the JSON ends\nin the middle")
    assert problem(SAY, call) == "The arguments of say could not be read: the JSON ends in the middle"


def test_arguments_that_are_no_object() -> None:
    call = ToolCall("1", "say", [1])  # type: ignore[arg-type]  # a provider may get this wrong
    assert problem(SAY, call).startswith("The arguments of say must be a JSON object. say takes 'text'")


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
json = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=5), scalars, max_size=2)


@given(
    st.sampled_from(WORLD_TOOLS),
    st.dictionaries(st.sampled_from(["text", "target", "query"]) | st.text(), json, max_size=4),
)
def test_any_json_is_taken_or_explained_in_one_short_clean_line(tool: Tool, arguments: dict[str, Any]) -> None:
    try:
        parse_arguments(tool, ToolCall("1", tool.name, arguments))
    except ToolRetry as retry:
        said = str(retry)
        assert said
        assert len(said) <= MAX_PROBLEM_CHARS
        assert "\n" not in said
        assert "http" not in said or "http" in str(arguments)  # no link of pydantic's
        assert "pydantic" not in said
