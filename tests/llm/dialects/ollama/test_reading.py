"""Requests of Ollama's clients."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused
from mud_assistant.llm.dialects.ollama.dialect import OllamaDialect
from mud_assistant.llm.messages import JSON, Reasoning, Role, Text, ToolResult
from tests.llm.dialects.responses.test_reading import SENT

ASKED = [row for row in SENT if row["path"] == "/api/chat"]
DIALECT = OllamaDialect()
HI: JSON = {"role": "user", "content": "hi"}
OBJECT: JSON = {"type": "object", "properties": {"a": {"type": "string"}}}
LOOK: JSON = {"type": "function", "function": {"name": "look", "description": "see", "parameters": OBJECT}}


def read(*messages: JSON, **more: JSON) -> AskedCall:
    return DIALECT.read({"model": "m", "messages": list(messages) or [HI], **more}, {})


def call(name: str, call_id: str = "") -> dict[str, JSON]:
    function: JSON = {"name": name, "arguments": {"a": "b"}}
    return {"id": call_id, "function": function} if call_id else {"function": function}


@pytest.mark.skipif(not ASKED, reason="no requests of clients")
@pytest.mark.parametrize("row", ASKED, ids=[row["client"][:20] for row in ASKED])
def test_what_real_clients_send_is_read(row: dict[str, Any]) -> None:
    asked = DIALECT.read(row["body"], row["headers"])
    assert [message.text for message in asked.messages] == ["hi"]
    assert asked.tools == []
    assert asked.streams is row["body"]["stream"]


def test_an_answer_is_streamed_unless_the_request_says_otherwise() -> None:
    assert read().streams
    assert DIALECT.wants_stream({})
    assert not read(stream=False).streams
    assert not DIALECT.wants_stream({"stream": False})


def test_messages_tools_and_options_are_read() -> None:
    asked = read(
        {"role": "system", "content": "Be brief."},
        HI,
        {"role": "assistant", "content": "Let me look.", "thinking": "hm", "tool_calls": [call("look", "c1")]},
        {"role": "tool", "content": "a room", "tool_call_id": "c1"},
        tools=[LOOK],
        options={"temperature": 0.5, "num_predict": 99, "seed": 7, "stop": ["x"], "top_p": 0.9, "num_ctx": 4096},
        keep_alive="5m",
        think="low",
        format="json",
    )
    assert [message.role for message in asked.messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert asked.messages[2].blocks[:2] == (Reasoning("hm"), Text("Let me look."))
    assert asked.messages[2].tool_calls[0].arguments == {"a": "b"}
    assert asked.messages[3].tool_results == (ToolResult("c1", "look", "a room"),)
    assert [(tool.name, tool.description, tool.parameters) for tool in asked.tools] == [("look", "see", OBJECT)]
    options = asked.options
    assert (options.temperature, options.max_tokens, options.seed, options.stop) == (0.5, 99, 7, ("x",))
    assert options.extra_params == {"top_p": 0.9}
    assert options.think
    assert options.json_object
    assert asked.dropped == ("keep_alive", "options.num_ctx")


def test_a_schema_is_read_and_an_empty_form_is_none() -> None:
    assert read(format=OBJECT).options.schema == OBJECT
    assert read(format="").options.schema is None
    assert read(options={"num_predict": -1}).options.max_tokens is None
    assert read(think=False).options.think is False
    assert read().options.think is None


def test_results_without_ids_go_to_their_calls_by_name_and_order() -> None:
    turn: JSON = {"role": "assistant", "content": "", "tool_calls": [call("look"), call("go"), call("look")]}
    asked = read(
        HI,
        turn,
        {"role": "tool", "content": "went", "tool_name": "go"},
        {"role": "tool", "content": "first", "tool_name": "look"},
        {"role": "tool", "content": "second"},
        turn,
        *({"role": "tool", "content": text} for text in ("1", "2", "3")),
    )
    first, second = asked.messages[2], asked.messages[4]
    assert [(answer.name, answer.text) for answer in first.tool_results] == [
        ("look", "first"),
        ("go", "went"),
        ("look", "second"),
    ]
    assert [answer.text for answer in second.tool_results] == ["1", "2", "3"]
    assert len({answer.call_id for answer in (*first.tool_results, *second.tool_results)}) == 6


@pytest.mark.parametrize(
    ("body", "kind", "path"),
    [
        ({"messages": [HI]}, FailureKind.INVALID, "model"),
        ({"model": "m", "messages": []}, FailureKind.INVALID, "messages"),
        ({"model": "m", "messages": [{"role": "judge"}]}, FailureKind.INVALID, "messages[0].role"),
        (
            {"model": "m", "messages": [{"role": "user", "content": "x", "images": ["AAAA"]}]},
            FailureKind.INVALID,
            "messages[0].images",
        ),
        ({"model": "m", "messages": [HI], "logprobs": True}, FailureKind.UNSUPPORTED, "logprobs"),
        ({"model": "m", "messages": [HI], "surprise": 1}, FailureKind.UNSUPPORTED, "surprise"),
        ({"model": "m", "messages": [HI], "options": {"surprise": 1}}, FailureKind.UNSUPPORTED, "options.surprise"),
        ({"model": "m", "messages": [HI], "think": "maybe"}, FailureKind.INVALID, "think"),
        ({"model": "m", "messages": [HI], "format": 3}, FailureKind.INVALID, "format"),
        ({"model": "m", "messages": [HI], "tools": [{"type": "function"}]}, FailureKind.INVALID, "tools[0].function"),
        (
            {"model": "m", "messages": [HI, {"role": "tool", "content": "x", "tool_name": "look"}]},
            FailureKind.INVALID,
            "messages[1]",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_path(body: dict[str, JSON], kind: FailureKind, path: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        DIALECT.read(body, {})
    assert (caught.value.failure.kind, caught.value.failure.parameter) == (kind, path)
    assert path in caught.value.failure.message
