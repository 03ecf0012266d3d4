"""The dialect messages, read: every form a request may have, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mud_assistant.llm import ToolCall, ToolResult, get_provider, system, user
from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.messages import (
    Message,
    RawTurn,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    tool_results,
)
from mud_assistant.llm.request import CallOptions
from tests.llm.dialects.refusing import check_refused

DIALECT = MessagesDialect()
TOOL = {"name": "say", "description": "Speak.", "input_schema": {"type": "object"}}
USE = {"type": "tool_use", "id": "a", "name": "say", "input": {"text": "b"}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
NEW = {"anthropic-version": "2026-10-21"}
UNSUPPORTED = FailureKind.UNSUPPORTED


def body(*messages: tuple[str, Any], **fields: Any) -> dict[str, Any]:
    said = [{"role": role, "content": content} for role, content in messages or [("user", "Hi.")]]
    return {"model": "sage", "max_tokens": 9, "messages": said, **fields}


def read(*messages: tuple[str, Any], headers: Mapping[str, str] | None = None, **fields: Any) -> AskedCall:
    return DIALECT.read(body(*messages, **fields), headers or {})


def test_the_least_request() -> None:
    asked = read()
    assert asked == AskedCall("sage", False, [user("Hi.")], [], None, CallOptions(max_tokens=9), body())


def test_the_options() -> None:
    options = read(temperature=0.5, top_p=0.9, top_k=40, stop_sequences=["\n"], stream=True).options
    assert (options.temperature, options.stop) == (0.5, ("\n",))
    assert options.extra_params == {"top_p": 0.9, "top_k": 40}
    assert read(stream=True).streams


@pytest.mark.parametrize(
    "said", ["Be brief.\nBe kind.", [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]]
)
def test_system_text_in_both_forms(said: Any) -> None:
    assert read(system=said).messages == [system("Be brief.\nBe kind."), user("Hi.")]


def test_system_text_in_the_middle_stays_there() -> None:
    messages = read(("user", "Hi."), ("system", "Be brief."), ("user", "So?")).messages
    assert messages == [user("Hi."), system("Be brief."), user("So?")]


def test_empty_texts_are_left_out() -> None:
    assert read(
        ("user", [{"type": "text", "text": ""}, {"type": "text", "text": "Hi."}]), ("assistant", "")
    ).messages == [user("Hi.")]
    check_refused(DIALECT, body(("user", "")), "messages")


def test_turns_of_one_role_and_a_beginning_by_the_assistant_are_read_as_they_are() -> None:
    messages = read(("assistant", "Well?"), ("user", "a"), ("user", "b"), ("assistant", "So I")).messages
    assert [message.role for message in messages] == [Role.ASSISTANT, Role.USER, Role.USER, Role.ASSISTANT]
    assert messages[-1].text == "So I"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("done", "done"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
    ],
)
def test_tool_results_in_all_forms(content: Any, text: str) -> None:
    result = {**RESULT, "content": content, "is_error": True}
    called, answered = read(("assistant", [USE]), ("user", [result])).messages
    assert called.tool_calls == (ToolCall("a", "say", {"text": "b"}),)
    assert answered == tool_results([ToolResult("a", "say", text, failed=True)])


def test_results_come_first_whatever_stands_before_them_and_in_the_order_of_the_calls() -> None:
    other = {**USE, "id": "b"}
    said = [{"type": "text", "text": "Now?"}, {**RESULT, "tool_use_id": "b"}, RESULT]
    _, results, question = read(("assistant", [USE, other]), ("user", said)).messages
    assert [result.call_id for result in results.tool_results] == ["a", "b"]
    assert question == user("Now?")


def test_results_in_two_turns_are_one_message() -> None:
    other = {**USE, "id": "b"}
    later = {**RESULT, "tool_use_id": "b"}
    messages = read(("assistant", [USE, other]), ("user", [RESULT]), ("user", "Hm."), ("user", [later])).messages
    assert [message.role for message in messages] == [Role.ASSISTANT, Role.TOOL, Role.USER]
    assert len(messages[1].tool_results) == 2


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([("assistant", [USE])], "messages[0]"),
        ([("assistant", [USE]), ("user", "Hm.")], "messages[0]"),
        ([("assistant", [USE]), ("user", "Hm."), ("assistant", "So."), ("user", [RESULT])], "messages[0]"),
        ([("user", [RESULT])], "messages[0]"),
        ([("assistant", [USE]), ("user", [RESULT, RESULT])], "messages[1]"),
        ([("assistant", [USE]), ("user", [{**RESULT, "tool_use_id": "z"}])], "messages[1]"),
        ([("assistant", [USE, USE]), ("user", [RESULT])], "messages[0]"),
    ],
)
def test_results_and_calls_that_do_not_belong_together_are_refused(messages: Any, path: str) -> None:
    check_refused(DIALECT, body(*messages), path)


def test_a_result_without_an_id_answers_the_only_call() -> None:
    result = {"type": "tool_result", "content": "done"}
    assert read(("assistant", [USE]), ("user", [result])).messages[1].tool_results[0].call_id == "a"
    other = {**USE, "id": "b"}
    check_refused(DIALECT, body(("assistant", [USE, other]), ("user", [result])), "messages[1]")


SEALED: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Hm.", "signature": "seal"},
    {"type": "redacted_thinking", "data": "xyz"},
    {"type": "text", "text": "Well."},
    USE,
]


def test_sealed_thoughts_go_back_to_anthropic_as_they_came() -> None:
    marked = [*SEALED[:3], {**USE, "cache_control": {"type": "ephemeral"}}]
    asked = read(("user", "Hi."), ("assistant", marked), ("user", [RESULT]), tools=[TOOL])
    turn = asked.messages[1]
    assert turn.raw == RawTurn("anthropic", tuple(SEALED))
    assert turn.blocks == (Reasoning("Hm.", "seal"), Text("Well."), ToolCall("a", "say", {"text": "b"}))
    provider = get_provider("anthropic", "http://127.0.0.1:1", "m")
    [wire] = provider.encode_message(turn)
    assert wire["content"] == SEALED
    assert asked.dropped == ("messages[].content[].cache_control",)


@pytest.mark.parametrize("seal", [{}, {"signature": ""}, {"signature": None}])
def test_thoughts_without_a_seal_are_not_sent_to_anthropic(seal: dict[str, Any]) -> None:
    turn = read(
        ("assistant", [{"type": "thinking", "thinking": "Hm.", **seal}, {"type": "text", "text": "So."}])
    ).messages[0]
    assert turn == Message(Role.ASSISTANT, (Reasoning("Hm."), Text("So.")))
    assert turn.raw is None


def test_steps_of_server_tools_are_kept_in_neutral_form() -> None:
    used = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "wells"}}
    page = {"type": "web_search_result", "title": "Wells", "url": "https://w.example", "encrypted_content": "x"}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [page]}
    failed = {**found, "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"}}
    said = {"type": "text", "text": "So.", "citations": [{"encrypted_index": "x"}]}
    turn = read(("assistant", [SEALED[0], used, found, used, failed, said])).messages[0]
    assert turn.blocks[1:] == (
        ServerToolCall("s", "web_search", {"query": "wells"}),
        ServerToolResult("s", "web_search", "Wells https://w.example"),
        ServerToolCall("s", "web_search", {"query": "wells"}),
        ServerToolResult("s", "web_search", "unavailable", failed=True),
        Text("So."),
    )
    assert turn.raw == RawTurn("anthropic", (SEALED[0], {"type": "text", "text": "So."}))


@pytest.mark.parametrize(
    ("said", "choice", "parallel"),
    [
        ({"type": "auto"}, "auto", True),
        ({"type": "any"}, "required", True),
        ({"type": "none"}, "none", True),
        ({"type": "tool", "name": "say"}, "say", True),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ("required", "required", True),
        ({"type": "function", "name": "say"}, "say", True),
        (None, None, True),
    ],
)
def test_which_tool(said: Any, choice: str | None, *, parallel: bool) -> None:
    asked = read(tools=[TOOL], tool_choice=said)
    assert asked.tool_choice == choice
    assert asked.options.extra_params == ({} if parallel else {"parallel_tool_calls": False})


@pytest.mark.parametrize(
    ("thinking", "think"),
    [
        (None, None),
        ({"type": "enabled", "budget_tokens": 1024}, True),
        ({"type": "adaptive", "display": "omitted"}, True),
        ({"type": "disabled"}, False),
    ],
)
def test_thinking(thinking: Any, think: bool | None) -> None:
    asked = read(thinking=thinking)
    assert asked.options.think is think
    hints = {name for name in thinking or () if name != "type"}
    assert set(asked.dropped) == {f"thinking.{name}" for name in hints}


@pytest.mark.parametrize(
    "place", [lambda form: {"output_config": {"format": form}}, lambda form: {"output_format": form}]
)
def test_the_schema_of_the_answer(place: Any) -> None:
    schema = {"type": "object"}
    assert read(**place({"type": "json_schema", "schema": schema})).options.schema == schema
    with pytest.raises(RequestRefused):
        read(**place({"type": "json_schema"}))


def test_hints_are_dropped_and_named() -> None:
    tool = {**TOOL, "cache_control": {"type": "ephemeral"}, "strict": True}
    said = [{"type": "text", "text": "a", "cache_control": {}}, {"type": "text", "text": "b", "cache_control": {}}]
    asked = read(
        ("user", said),
        tools=[tool],
        system=[said[0]],
        metadata={"user_id": "u"},
        service_tier="auto",
        output_config={"effort": "low"},
        headers={"anthropic-beta": "x"},
    )
    assert set(asked.dropped) == {
        "metadata",
        "service_tier",
        "anthropic-beta",
        "system[].cache_control",
        "messages[].content[].cache_control",
        "tools[].cache_control",
        "tools[].strict",
        "output_config.effort",
    }
    assert len(set(asked.dropped)) == len(asked.dropped)


@pytest.mark.parametrize(
    ("fields", "parameter", "kind"),
    [
        ({"model": None}, "model", FailureKind.INVALID),
        ({"model": " "}, "model", FailureKind.INVALID),
        ({"max_tokens": None}, "max_tokens", FailureKind.INVALID),
        ({"max_tokens": 0}, "max_tokens", FailureKind.INVALID),
        ({"max_tokens": True}, "max_tokens", FailureKind.INVALID),
        ({"messages": None}, "messages", FailureKind.INVALID),
        ({"messages": "Hi."}, "messages", FailureKind.INVALID),
        ({"messages": ["Hi."]}, "messages[0]", FailureKind.INVALID),
        ({"messages": [{"role": "tool", "content": ""}]}, "messages[0].role", FailureKind.INVALID),
        ({"messages": [{"role": "user"}]}, "messages[0].content", FailureKind.INVALID),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", FailureKind.INVALID),
        ({"messages": [{"role": "user", "content": "a", "x": 1}]}, "messages[0].x", UNSUPPORTED),
        ({"temperature": 1.5}, "temperature", FailureKind.INVALID),
        ({"stream": "yes"}, "stream", FailureKind.INVALID),
        ({"stop_sequences": [1]}, "stop_sequences", FailureKind.INVALID),
        ({"system": 5}, "system", FailureKind.INVALID),
        ({"tools": [{"name": "say"}]}, "tools[0].input_schema", FailureKind.INVALID),
        ({"tools": [TOOL, TOOL]}, "tools", FailureKind.INVALID),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0].type", UNSUPPORTED),
        ({"tool_choice": {"type": "any"}}, "tool_choice", FailureKind.INVALID),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "tool_choice", FailureKind.INVALID),
        ({"tools": [TOOL], "tool_choice": "perhaps"}, "tool_choice", FailureKind.INVALID),
        ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, "tool_choice.type", UNSUPPORTED),
        ({"thinking": {"type": "much"}}, "thinking.type", FailureKind.INVALID),
        ({"mcp_servers": []}, "mcp_servers", UNSUPPORTED),
        ({"context_management": {}}, "context_management", UNSUPPORTED),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type", UNSUPPORTED),
    ],
)
def test_what_is_wrong_or_cannot_be_carried_is_refused_by_name(
    fields: dict[str, Any], parameter: str, kind: FailureKind
) -> None:
    check_refused(DIALECT, {**body(), **fields}, parameter, kind)


@pytest.mark.parametrize("kind", ["image", "document", "search_result"])
def test_what_is_no_text_is_refused(kind: str) -> None:
    block = {"type": kind, "source": {"type": "url", "url": "https://a.example"}}
    path = "messages[0].content[0]." + ("source.type" if kind == "image" else "type")
    said = check_refused(DIALECT, body(("user", [block])), path, UNSUPPORTED)
    assert ("is not fetched" in said) is (kind == "image")
    result = {**RESULT, "content": [block]}
    path = "messages[1].content[0].content[0].type"
    check_refused(DIALECT, body(("assistant", [USE]), ("user", [result])), path, UNSUPPORTED)


def test_versions() -> None:
    assert read(headers={"anthropic-version": "2023-06-01"}, temperature=1).options.temperature == 1
    assert read(headers=NEW).model == "sage"
    for name in ("temperature", "top_p", "top_k"):
        check_refused(DIALECT, body(**{name: 1}), name, headers=NEW)
    check_refused(DIALECT, body(), "anthropic-version", headers={"anthropic-version": "2027-01-01"})


def test_counting_needs_no_bound() -> None:
    asked = DIALECT.read_prompt({"model": "sage", "messages": [{"role": "user", "content": "Hi."}]}, {})
    assert asked.options.max_tokens is None
