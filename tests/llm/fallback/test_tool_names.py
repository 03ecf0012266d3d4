from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.llm.fallback.drafts import match_name

KNOWN = ("look", "say", "web_search", "Go", "go", "mcp.list")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("look", "look"),
        ("LOOK", "look"),
        ("Web_Search", "web_search"),
        ("  look\n", "look"),
        ('"look"', "look"),
        ("`look`", "look"),
        ("functions.look", "look"),
        ("Functions.Look", "look"),
        ("functions.look:0", "look"),
        ("look:12", "look"),
        ("tools.say", "say"),
        ("look()", "look"),
        ("look ( )", "look"),
        ("look<|channel|>commentary", "look"),
        ("look<|channel|>", "look"),
        ("<|channel|>look", "look"),
        ("<|channel|>commentary to=functions.look", "look"),
        ("mcp.list", "mcp.list"),
        ("go", "go"),
        ("Go", "Go"),
    ],
)
def test_86_a_name_in_other_clothes_is_matched(name: str, tool: str) -> None:
    assert match_name(name, KNOWN) == tool


@pytest.mark.parametrize(
    "name",
    ["", " ", "google", "look around", "looks", "GO", "go north please", "say(text)", "lo ok", "x" * 1000, "()", ":0"],
)
def test_86_a_name_that_is_no_tool_or_two_is_not_guessed(name: str) -> None:
    assert match_name(name, KNOWN) is None


@settings(deadline=None)
@given(st.text(max_size=300))
def test_86_any_name_gives_a_known_tool_or_none(name: str) -> None:
    assert match_name(name, KNOWN) in {*KNOWN, None}
