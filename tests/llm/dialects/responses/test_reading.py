"""Requests of clients of the Responses API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused
from mud_assistant.llm.dialects.responses.dialect import ResponsesDialect
from mud_assistant.llm.messages import (
    JSON,
    Image,
    Reasoning,
    Role,
    ServerToolCall,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from tests.llm.dialects.refusing import check_refused

CLIENTS = Path(__file__).parents[4].parent / "shared" / "data" / "gateway" / "client-requests.jsonl"
SENT = [orjson.loads(line) for line in CLIENTS.read_bytes().splitlines()] if CLIENTS.exists() else []
ASKED = [row for row in SENT if row["path"].startswith("/v1/responses")]
DIALECT = ResponsesDialect()
OBJECT: JSON = {"type": "object", "properties": {"a": {"type": "string"}}}


def function(name: str, **more: JSON) -> dict[str, JSON]:
    return {"type": "function", "name": name, "parameters": OBJECT, **more}


def call(call_id: str, name: str = "look", **more: JSON) -> dict[str, JSON]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"a":"b"}', **more}


def result(call_id: str, output: JSON = "seen") -> dict[str, JSON]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def read(items: JSON = "hi", **more: JSON) -> AskedCall:
    return DIALECT.read({"model": "m", "input": items, **more}, {})


def refused(items: JSON = "hi", **more: JSON) -> tuple[FailureKind, str]:
    with pytest.raises(RequestRefused) as caught:
        read(items, **more)
    assert caught.value.failure.parameter in caught.value.failure.message
    return caught.value.failure.kind, caught.value.failure.parameter


@pytest.mark.skipif(not ASKED, reason="no requests of clients")
@pytest.mark.parametrize("row", ASKED, ids=[row["client"][:20] for row in ASKED])
def test_what_real_clients_send_is_read(row: dict[str, Any]) -> None:
    asked = DIALECT.read(row["body"], row["headers"])
    images = [block for message in asked.messages for block in message.blocks if isinstance(block, Image)]
    assert len(images) == str(row["body"]).count("'input_image'")
    assert asked.messages
    assert asked.streams is bool(row["body"].get("stream"))


def test_roles_and_places_are_kept() -> None:
    asked = read(
        [
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "c"}], "id": "msg_1"},
            {"type": "message", "role": "system", "content": "d"},
            {"role": "user", "content": "e"},
        ],
        instructions="Be brief.",
    )
    assert [(message.role, message.text) for message in asked.messages] == [
        (Role.SYSTEM, "Be brief."),
        (Role.SYSTEM, "Be kind."),
        (Role.USER, "a\nb"),
        (Role.ASSISTANT, "c"),
        (Role.SYSTEM, "d"),
        (Role.USER, "e"),
    ]


def test_calls_of_one_turn_and_their_results_belong_together() -> None:
    parts: JSON = [{"type": "input_text", "text": "x"}, {"type": "output_text", "text": "y"}]
    items: JSON = [call("1"), call("2"), result("2", parts), result("1")]
    turn, answers = read(items).messages
    assert [block.id for block in turn.tool_calls] == ["1", "2"]
    assert turn.tool_calls[0].arguments == {"a": "b"}
    assert answers.tool_results == (ToolResult("1", "look", "seen"), ToolResult("2", "look", "x\ny"))


def test_calls_after_a_result_are_a_turn_of_their_own() -> None:
    asked = read([call("1"), result("1"), call("1"), result("1", "again")])
    assert [message.role for message in asked.messages] == [Role.ASSISTANT, Role.TOOL] * 2
    assert asked.messages[-1].tool_results[0].text == "again"


@pytest.mark.parametrize("items", [[call("1")], [result("1")], [call("1"), result("1"), result("1")], []])
def test_calls_and_results_that_do_not_match_are_refused(items: JSON) -> None:
    assert refused(items)[0] is FailureKind.INVALID


def test_encrypted_reasoning_is_kept_for_its_own_provider() -> None:
    seal: JSON = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    sealed: JSON = {**seal, "encrypted_content": "gAAA"}  # type: ignore[dict-item]
    said: JSON = {"type": "message", "role": "assistant", "content": "I look.", "phase": "commentary"}
    turn = read([sealed, said, call("1"), result("1")]).messages[0]
    assert [type(block) for block in turn.blocks] == [Reasoning, Text, ToolCall]
    raw = turn.raw_of("openai-responses")
    assert [block["type"] for block in raw] == ["reasoning", "message", "function_call"]
    assert raw[0]["encrypted_content"] == "gAAA"
    assert "id" not in raw[0]
    assert raw[1]["phase"] == "commentary"
    assert read([seal, call("1"), result("1")]).messages[0].raw is None


def test_a_hosted_search_is_kept_for_its_own_provider() -> None:
    step: JSON = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
    turn = read([step, {"role": "assistant", "content": "It is so."}, {"role": "user", "content": "Ah"}]).messages[0]
    assert turn.blocks == (ServerToolCall("ws_1", "web_search", {"query": "q"}), Text("It is so."))
    assert turn.raw_of("openai-responses")[0] == step


def test_tools_in_a_namespace_get_flat_names_that_no_other_has() -> None:
    space: JSON = {"type": "namespace", "name": "fs", "description": "Files.", "tools": [function("open")]}
    asked = read(
        [call("1", "open", namespace="fs"), result("1")],
        tools=[function("fs__open"), space],
        tool_choice={"type": "function", "name": "open", "namespace": "fs"},
    )
    assert [tool.name for tool in asked.tools] == ["fs__open", "fs__open_2"]
    assert asked.tools[1].description == "Files."
    assert asked.namespaces == {"fs__open_2": ("fs", "open")}
    assert asked.messages[0].tool_calls[0].name == "fs__open_2"
    assert asked.tool_choice == "fs__open_2"


def test_a_flat_name_is_one_that_every_provider_takes() -> None:
    space: JSON = {"type": "namespace", "name": "a.b" * 20, "tools": [function("x" * 40), function("x" * 41)]}
    names = [tool.name for tool in read(tools=[space]).tools]
    assert len(set(names)) == 2
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)


def test_a_custom_tool_has_one_argument_of_text() -> None:
    form: JSON = {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}
    tool: JSON = {"type": "custom", "name": "patch", "description": "Edit.", "format": form}
    items: JSON = [
        {"type": "custom_tool_call", "call_id": "1", "name": "patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "1", "output": "done"},
    ]
    asked = read(items, tools=[tool], tool_choice={"type": "custom", "name": "patch"})
    assert "start: WORD" in asked.tools[0].description
    assert list(asked.tools[0].parameters["properties"]) == ["input"]  # type: ignore[arg-type]
    assert asked.messages[0].tool_calls == (ToolCall("1", "patch", {"input": "*** Begin"}),)
    assert asked.tool_choice == "patch"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "look"}, "look"),
        ({"type": "function", "function": {"name": "look"}}, "look"),
    ],
)
def test_every_spelling_of_the_choice_is_read(choice: JSON, expected: str) -> None:
    assert read(tools=[function("look"), function("go")], tool_choice=choice).tool_choice == expected


def test_allowed_tools_are_the_only_ones_offered() -> None:
    choice: JSON = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "go"}]}
    asked = read(tools=[function("look"), function("go")], tool_choice=choice)
    assert asked.tools == [ToolSpec("go", "", OBJECT)]  # type: ignore[arg-type]
    assert asked.tool_choice == "required"


def test_options_are_read() -> None:
    form: JSON = {"type": "json_schema", "name": "f", "schema": OBJECT, "strict": True}
    options = read(
        text={"format": form, "verbosity": "low"},
        reasoning={"effort": "high", "summary": "auto"},
        max_output_tokens=16,
        temperature=0.5,
        top_p=0.9,
        parallel_tool_calls=False,
    ).options
    assert (options.schema, options.think, options.max_tokens, options.temperature) == (OBJECT, True, 16, 0.5)
    assert options.extra_params == {"top_p": 0.9, "parallel_tool_calls": False}
    assert read(reasoning={"effort": "none"}).options.think is False
    assert read(reasoning={"effort": None}).options.think is None
    assert read(text={"format": {"type": "json_object"}}).options.json_object


def test_hints_are_dropped_and_noted() -> None:
    hints: dict[str, JSON] = {
        "metadata": {},
        "user": "u",
        "service_tier": "auto",
        "prompt_cache_key": "k",
        "client_metadata": {"a": "b"},
        "store": True,
        "include": ["reasoning.encrypted_content"],
        "truncation": "auto",
    }
    assert set(read(**hints).dropped) == set(hints)
    assert read(tools=[function("look", defer_loading=True)]).dropped == ("tools[].defer_loading",)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("previous_response_id", "resp_1"),
        ("conversation", "conv_1"),
        ("prompt", {"id": "p"}),
        ("background", True),
        ("top_logprobs", 3),
        ("surprise", 1),
    ],
)
def test_what_cannot_be_carried_is_refused_by_name(field: str, value: JSON) -> None:
    assert refused(**{field: value}) == (FailureKind.UNSUPPORTED, field)
    _, body = DIALECT.error_body(_failure(field, value))
    assert body["error"]["code"] == "unsupported_parameter"  # type: ignore[call-overload, index]


def _failure(field: str, value: JSON) -> Any:
    with pytest.raises(RequestRefused) as caught:
        read(**{field: value})
    return caught.value.failure


@pytest.mark.parametrize(
    ("items", "path"),
    [
        ([{"type": "item_reference", "id": "x"}], "input[0].type"),
        ([{"type": "compaction", "encrypted_content": "x"}], "input[0].type"),
        ([{"role": "user", "content": [{"type": "input_file", "file_id": "x"}]}], "input[0].content[0].type"),
        ([{"role": "user", "content": "hi", "surprise": 1}], "input[0].surprise"),
    ],
)
def test_items_that_cannot_be_carried_are_refused_by_their_path(items: JSON, path: str) -> None:
    assert refused(items) == (FailureKind.UNSUPPORTED, path)


def test_hosted_tools_are_refused_by_their_path() -> None:
    assert refused(tools=[function("look"), {"type": "web_search"}]) == (FailureKind.UNSUPPORTED, "tools[1].type")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"input": "hi"}, "model"),
        ({"model": "m"}, "input"),
        ({"model": "m", "input": 3}, "input"),
        ({"model": "m", "input": [{"role": "judge", "content": "hi"}]}, "input[0].role"),
        ({"model": "m", "input": [{"content": "hi"}]}, "input[0].type"),
        ({"model": "m", "input": "hi", "max_output_tokens": 0}, "max_output_tokens"),
        ({"model": "m", "input": "hi", "text": {"format": {"type": "xml"}}}, "text.format"),
        ({"model": "m", "input": "hi", "tools": [{"name": "x"}]}, "tools[0].type"),
    ],
)
def test_what_is_wrong_is_refused_by_its_path(body: dict[str, JSON], path: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        DIALECT.read(body, {})
    assert (caught.value.failure.kind, caught.value.failure.parameter) == (FailureKind.INVALID, path)


def test_a_reference_to_an_answer_is_refused_with_the_way_out() -> None:
    body = {"model": "sage", "input": [{"type": "item_reference", "id": "rs_1"}]}
    said = check_refused(DIALECT, body, "input[0].type", FailureKind.UNSUPPORTED)
    assert said.endswith("answers are not kept here: send the item itself, as clients do when told store: false")
