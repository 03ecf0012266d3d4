"""The tools of a request are encoded as a whole and kept; what is sent must always be what is offered."""

from __future__ import annotations

import orjson

from mud_assistant.llm.messages import JSONObject, ToolSpec, user
from mud_assistant.llm.providers.chat import _MOST_TOOL_SETS, LocalProvider
from mud_assistant.llm.request import CallOptions


def spec(name: str) -> ToolSpec:
    """A tool."""
    return ToolSpec(name, f"It can {name}.", {"type": "object", "properties": {}})


def offered(tools: list[ToolSpec], options: CallOptions | None = None) -> list[str]:
    """The names of the tools in a request that offers these."""
    body = LocalProvider("http://127.0.0.1:1/v1").build_request([user("hi")], tools, None, options or CallOptions())
    return [tool["function"]["name"] for tool in orjson.loads(body)["tools"]]


def test_a_list_that_grew_is_offered_whole() -> None:
    tools = [spec("look"), spec("say")]
    assert offered(tools) == ["look", "say"]
    tools.append(spec("move"))
    assert offered(tools) == ["look", "say", "move"]
    assert offered(tools[::-1]) == ["move", "say", "look"]


def test_each_of_many_sets_is_offered_as_it_is() -> None:
    names = [f"tool_{number}" for number in range(2 * _MOST_TOOL_SETS)]
    assert [offered([spec(name)]) for name in names] == [[name] for name in names]


def test_tools_among_the_extra_parameters_are_added() -> None:
    extra: JSONObject = {"tools": [{"type": "function", "function": {"name": "search"}}]}
    assert offered([spec("look")], CallOptions(extra_params=extra)) == ["look", "search"]
    assert offered([spec("look")]) == ["look"]
