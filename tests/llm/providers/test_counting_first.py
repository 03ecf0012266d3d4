"""What was counted is sent as if nobody had counted it: the bytes a message keeps are those of its provider."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mud_assistant.llm import (
    CallOptions,
    Message,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    get_provider,
    system,
    tool_results,
    user,
)
from mud_assistant.llm import assistant as assistant_message

LOOK = ToolSpec("look", "Looks round.", {"type": "object", "properties": {}})
URLS = {"local": "http://127.0.0.1:1/v1"}


def talk() -> list[Message]:
    return [
        system("You are Sage."),
        user("Hello."),
        assistant_message(ToolCall("call_1", "look", {})),
        tool_results([ToolResult("call_1", "look", "A room.")]),
        assistant_message(Text("It is a room.")),
        user("Thanks."),
    ]


@pytest.mark.parametrize("provider", ["anthropic", "local", "ollama", "openai", "openrouter"])
@pytest.mark.parametrize("tools", [(LOOK,), ()], ids=["tools", "none"])
def test_counting_first_changes_no_byte_of_a_request(provider: str, tools: tuple[ToolSpec, ...]) -> None:
    made = get_provider(provider, URLS.get(provider), "m")
    counted, build = talk(), made.build_request
    before = made.count_tokens(counted)
    assert build(counted, tools, None, CallOptions()) == build(talk(), tools, None, CallOptions())
    assert made.count_tokens(counted) == before


@pytest.mark.parametrize("first", ["anthropic", "local"])
def test_what_one_provider_counted_is_sent_to_another_in_its_own_form(first: str) -> None:
    other = "anthropic" if first == "local" else "local"
    one, another = get_provider(first, URLS.get(first), "m"), get_provider(other, URLS.get(other), "m")
    counted = talk()
    assert one.count_tokens(counted) > 0
    build: Callable[..., bytes] = another.build_request
    assert build(counted, (LOOK,), None, CallOptions()) == build(talk(), (LOOK,), None, CallOptions())
