"""The dialect chat, read: every form a request may have, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.llm import ToolCall, ToolResult, system, user
from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.dialect import AskedCall
from mud_assistant.llm.dialects.failures import FailureKind
from mud_assistant.llm.messages import Message, Reasoning, Role, Text, tool_results
from mud_assistant.llm.request import CallOptions
from tests.llm.dialects.refusing import check_refused

DIALECT = ChatDialect()
TOOL = {"type": "function", "function": {"name": "say", "description": "Speak.", "parameters": {"type": "object"}}}
INVALID, UNSUPPORTED = FailureKind.INVALID, FailureKind.UNSUPPORTED
HI = {"role": "user", "content": "Hi."}


def called(*ids: str, arguments: str = '{"text":"b"}') -> dict[str, Any]:
    calls = [{"id": name, "type": "function", "function": {"name": "say", "arguments": arguments}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str | None, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "sage", "messages": list(messages or [HI]), **fields}


def read(*messages: dict[str, Any], **fields: Any) -> AskedCall:
    return DIALECT.read(body(*messages, **fields), {})


def test_the_least_request() -> None:
    asked = read()
    assert asked == AskedCall("sage", False, [user("Hi.")], [], None, CallOptions(), body(), counts_usage=False)


def test_the_options() -> None:
    options = read(
        temperature=1.5, top_p=0.9, seed=-4, stop="\n", presence_penalty=-1, frequency_penalty=1, min_p=0.1, top_k=40
    ).options
    assert (options.temperature, options.seed, options.stop) == (1.5, -4, ("\n",))
    carried = {"top_p": 0.9, "presence_penalty": -1.0, "frequency_penalty": 1.0, "min_p": 0.1, "top_k": 40}
    assert options.extra_params == carried
    assert read(stop=["a", "b"]).options.stop == ("a", "b")
    assert read(parallel_tool_calls=False).options.extra_params == {"parallel_tool_calls": False}
    assert read(max_tokens=5).options.max_tokens == read(max_completion_tokens=5).options.max_tokens == 5


def test_usage_is_counted_only_where_it_was_asked_for() -> None:
    assert read(stream=True, stream_options={"include_usage": True}).counts_usage
    assert not read(stream=True, stream_options={"include_usage": False}).counts_usage


def test_system_texts_in_all_forms_and_places() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = read(
        {"role": "developer", "content": "Be brief."}, HI, {"role": "system", "content": parts}, HI
    ).messages
    assert messages == [system("Be brief."), user("Hi."), system("a\nb"), user("Hi.")]


def test_an_assistants_turn_in_all_forms() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]
    assert read(HI, {"role": "assistant", "content": parts}).messages[1].text == "ab"
    assert read(HI, {"role": "assistant", "content": None, "refusal": "No."}).messages[1].text == "No."
    given_back: dict[str, Any] = {
        "role": "assistant",
        "content": "So.",
        "reasoning_content": "Hm.",
        "annotations": [],
        "audio": None,
    }
    asked = read(HI, given_back)
    assert asked.messages[1] == Message(Role.ASSISTANT, (Reasoning("Hm."), Text("So.")))
    assert asked.dropped == ("messages[].annotations",)


def test_calls_and_results_are_joined() -> None:
    parts = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
    asked = read(HI, called("a", "b"), result("b", parts), result("a"), HI)
    assert asked.messages[1].tool_calls == (
        ToolCall("a", "say", {"text": "b"}),
        ToolCall("b", "say", {"text": "b"}),
    )
    assert asked.messages[2] == tool_results([ToolResult("a", "say", "done"), ToolResult("b", "say", "x\ny")])
    assert asked.messages[3] == user("Hi.")


def test_a_result_after_something_else_is_moved_to_its_call() -> None:
    roles = [message.role for message in read(called("a"), HI, result("a"), called("a"), result("a")).messages]
    assert roles == [Role.ASSISTANT, Role.TOOL, Role.USER, Role.ASSISTANT, Role.TOOL]


def test_a_result_without_an_id_answers_the_only_call() -> None:
    assert read(called("a"), result(None)).messages[1].tool_results[0].call_id == "a"


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([HI, called("a", "b"), result("a")], "messages[1]"),
        ([HI, called("a"), called("b"), result("a"), result("b")], "messages[1]"),
        ([HI, result("a")], "messages[1]"),
        ([called("a"), result("a"), result("a")], "messages[2]"),
        ([called("a", "b"), result(None), result(None)], "messages[1]"),
        ([called("a", "a"), result("a")], "messages[0]"),
    ],
)
def test_results_and_calls_that_do_not_belong_together_are_refused(messages: Any, path: str) -> None:
    check_refused(DIALECT, body(*messages), path)


@pytest.mark.parametrize("arguments", ["", "{}", "null"])
def test_a_call_without_arguments(arguments: str) -> None:
    assert read(called("a", arguments=arguments), result("a")).messages[0].tool_calls[0].arguments == {}


@pytest.mark.parametrize(
    ("said", "choice"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("any", "required"),
        ({"type": "function", "function": {"name": "say"}}, "say"),
        ({"type": "function", "name": "say"}, "say"),
        ({"type": "tool", "name": "say"}, "say"),
        ({"type": "any"}, "required"),
    ],
)
def test_which_tool(said: Any, choice: str) -> None:
    assert read(tools=[TOOL], tool_choice=said).tool_choice == choice


@pytest.mark.parametrize("said", ["auto", "none", {"type": "auto"}])
def test_a_choice_of_nothing_without_tools_is_none(said: Any) -> None:
    assert read(tools=[], tool_choice=said).tool_choice is None


def test_a_tool_without_a_schema_takes_any_object() -> None:
    [tool] = read(tools=[{"type": "function", "function": {"name": "look"}}]).tools
    assert (tool.name, tool.description, tool.parameters["type"]) == ("look", "", "object")


@pytest.mark.parametrize(
    ("fields", "think"),
    [
        ({}, None),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "high"}, True),
        ({"thinking": {"type": "enabled"}}, True),
        ({"thinking": {"type": "disabled"}}, False),
    ],
)
def test_thinking(fields: Any, *, think: bool | None) -> None:
    assert read(**fields).options.think is think


def test_the_form_of_the_answer() -> None:
    schema = {"type": "object"}
    form = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": schema}}
    asked = read(response_format=form)
    assert (asked.options.schema, asked.options.json_object) == (schema, False)
    assert asked.dropped == ("response_format.json_schema.strict",)
    assert read(response_format={"type": "json_object"}).options.json_object
    assert read(response_format={"type": "text"}).options == CallOptions()


def test_the_cache_mark_of_a_call_is_dropped_and_named() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    turn = called("c1")
    turn["tool_calls"][0] |= mark
    asked = read(HI, turn, {**result("c1"), **mark})
    assert asked.messages[1] == read(HI, called("c1"), result("c1")).messages[1]
    assert set(asked.dropped) == {"messages[].tool_calls[].cache_control", "messages[].cache_control"}


def test_hints_are_dropped_and_named() -> None:
    asked = read({**HI, "name": "Ada"}, user="u", metadata={}, store=True, service_tier="auto", reasoning_effort="low")
    assert set(asked.dropped) == {"messages[].name", "user", "metadata", "store", "service_tier", "reasoning_effort"}


def test_fields_that_ask_for_nothing_are_accepted() -> None:
    nothing = {"n": 1, "logprobs": False, "logit_bias": {}, "modalities": ["text"], "audio": None, "functions": []}
    assert read(**nothing).dropped == ()


@pytest.mark.parametrize(
    ("fields", "parameter", "kind"),
    [
        ({"model": None}, "model", INVALID),
        ({"messages": []}, "messages", INVALID),
        ({"messages": [{"role": "user"}]}, "messages[0].content", INVALID),
        ({"messages": [{"role": "bard", "content": ""}]}, "messages[0].role", INVALID),
        ({"messages": [{"role": "function", "content": ""}]}, "messages[0].role", UNSUPPORTED),
        ({"messages": [{**HI, "x": 1}]}, "messages[0].x", UNSUPPORTED),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "max_tokens", INVALID),
        ({"n": 2}, "n", UNSUPPORTED),
        ({"best_of": 2}, "best_of", UNSUPPORTED),
        ({"logprobs": True}, "logprobs", UNSUPPORTED),
        ({"top_logprobs": 3}, "top_logprobs", UNSUPPORTED),
        ({"logit_bias": {"5": 1}}, "logit_bias", UNSUPPORTED),
        ({"audio": {"voice": "x"}}, "audio", UNSUPPORTED),
        ({"modalities": ["text", "audio"]}, "modalities", UNSUPPORTED),
        ({"web_search_options": {}}, "web_search_options", UNSUPPORTED),
        ({"functions": [{"name": "say"}]}, "functions", UNSUPPORTED),
        ({"grammar": "x"}, "grammar", UNSUPPORTED),
        ({"temperature": 3}, "temperature", INVALID),
        ({"temperature": float("nan")}, "temperature", INVALID),
        ({"seed": 0.5}, "seed", INVALID),
        ({"stop": [5]}, "stop", INVALID),
        ({"stop": 5}, "stop", INVALID),
        ({"stream_options": True}, "stream_options", INVALID),
        ({"tools": {}}, "tools", INVALID),
        ({"tools": [TOOL, TOOL]}, "tools", INVALID),
        ({"tools": [{"type": "custom"}]}, "tools[0].type", UNSUPPORTED),
        ({"tools": [{"type": "function"}]}, "tools[0].function", INVALID),
        ({"tools": [{"function": {"name": ""}}]}, "tools[0].function.name", INVALID),
        ({"tool_choice": "required"}, "tool_choice", INVALID),
        ({"reasoning_effort": "huge"}, "reasoning_effort", INVALID),
        ({"response_format": {"type": "grammar"}}, "response_format.type", UNSUPPORTED),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema", INVALID),
    ],
)
def test_what_is_wrong_or_cannot_be_carried_is_refused_by_name(
    fields: dict[str, Any], parameter: str, kind: FailureKind
) -> None:
    check_refused(DIALECT, {**body(), **fields}, parameter, kind)


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "file"])
def test_what_is_no_text_is_refused(kind: str) -> None:
    turn = {"role": "user", "content": [{"type": kind, kind: {"url": "https://a.example/b.png"}}]}
    path = "messages[0].content[0]." + ("image_url.url" if kind == "image_url" else "type")
    said = check_refused(DIALECT, body(turn), path, UNSUPPORTED)
    assert ("no address is fetched" in said) is (kind == "image_url")
