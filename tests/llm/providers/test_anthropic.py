"""What is sent to Anthropic: headers, fields, turns, marks for the cache, as its documents say."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    CallOptions,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant,
    get_provider,
    system,
    tool_results,
    user,
)
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.providers.anthropic.provider import AnthropicProvider

PROVIDER = AnthropicProvider(model="m", key="planted")
SAY = ToolSpec("say", "Speak.", {"type": "object", "properties": {}})
SEARCH: JSONObject = {"type": "web_search_20260318", "name": "web_search", "max_uses": 3}
MARK = {"type": "ephemeral"}
UNMARKED = CallOptions(prompt_cache=False)


def sent(
    *messages: Message,
    tools: tuple[ToolSpec, ...] = (),
    choice: str | None = None,
    options: CallOptions = UNMARKED,
    provider: AnthropicProvider = PROVIDER,
) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(provider.build_request(messages, tools, choice, options))
    return body


def test_headers() -> None:
    headers = PROVIDER.build_headers()
    assert headers.getRawHeaders("x-api-key") == ["planted"]
    assert headers.getRawHeaders("anthropic-version") == ["2023-06-01"]
    assert headers.getRawHeaders("accept-encoding") == ["identity"]
    assert not headers.hasHeader("authorization")
    assert not headers.hasHeader("anthropic-beta")
    assert "planted" not in repr(PROVIDER)


def test_beta_features_are_joined_and_each_is_asked_for_once() -> None:
    provider = AnthropicProvider(model="m", betas=["one", "two"])
    options = CallOptions(
        server_tools=({"type": "web_fetch_20250910", "name": "web_fetch"}, SEARCH),
        extra_params={"betas": ["two", "three"], "mcp_servers": [{"type": "url", "url": "https://x.example"}]},
    )
    [header] = provider.headers_for(options).getRawHeaders("anthropic-beta", [])
    assert header == "one,two,three,web-fetch-2025-09-10,mcp-client-2025-11-20"
    assert "betas" not in sent(user("x"), options=options)


@pytest.mark.parametrize("given", ["https://h", "https://h/", "https://h/v1", "https://h/v1/messages"])
def test_the_base_url_may_be_given_with_or_without_v1(given: str) -> None:
    assert AnthropicProvider(given).get_api_url() == "https://h/v1/messages"


def test_the_usual_place_is_anthropic_itself() -> None:
    assert get_provider("anthropic", model="m").get_api_url() == "https://api.anthropic.com/v1/messages"


def test_system_text_stands_at_the_top_and_neighbours_of_one_role_are_one_turn() -> None:
    body = sent(system("Be brief."), user("one"), user("two"), assistant(Text("three")), system("later"), user("four"))
    assert body["system"] == [{"type": "text", "text": "Be brief."}]
    assert [(turn["role"], [block["text"] for block in turn["content"]]) for turn in body["messages"]] == [
        ("user", ["one", "two"]),
        ("assistant", ["three"]),
        ("user", ["later", "four"]),
    ]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 4096, True)


def test_every_result_of_a_turn_comes_first_in_one_user_message() -> None:
    calls = assistant(Text("Let me see."), ToolCall("a", "say", {"x": 1}), ToolCall("b", "say", {}))
    results = (ToolResult("a", "say", "done"), ToolResult("b", "say", "", failed=True))
    body = sent(user("go"), calls, user("also"), tool_results(results))
    asked, answered = body["messages"][1:]
    assert asked["content"] == [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "a", "name": "say", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "say", "input": {}},
    ]
    assert answered["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "done"},
        {"type": "tool_result", "tool_use_id": "b", "content": "(nothing)", "is_error": True},
        {"type": "text", "text": "also"},
    ]


@pytest.mark.parametrize("foreign", ["functions.say:0", "call/ü", "", "a b"])
def test_foreign_ids_are_made_fit_alike_in_call_and_result(foreign: str) -> None:
    body = sent(user("x"), assistant(ToolCall(foreign, "say", {})), tool_results([ToolResult(foreign, "say", "y")]))
    call, result = body["messages"][1]["content"][0], body["messages"][2]["content"][0]
    assert call["id"] == result["tool_use_id"]
    assert call["id"].replace("_", "").replace("-", "").isalnum()
    assert call["id"].isascii()


def test_different_foreign_ids_stay_different() -> None:
    body = sent(user("x"), assistant(ToolCall("a.b", "say", {}), ToolCall("a:b", "say", {})))
    one, other = body["messages"][1]["content"]
    assert one["id"] != other["id"]


def test_63_empty_turns_are_left_out_and_empty_words_get_a_placeholder() -> None:
    body = sent(user("x"), assistant(), assistant(Text("  ")), user(""))
    assert [block["text"] for turn in body["messages"] for block in turn["content"]] == ["x", "(nothing)"]


@pytest.mark.parametrize("messages", [(), (system("only"),), (assistant(Text("I begin.")),)])
def test_the_first_turn_is_always_the_users(messages: tuple[Message, ...]) -> None:
    assert sent(*messages)["messages"][0]["role"] == "user"


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("say", {"type": "tool", "name": "say"}),
    ],
)
def test_tools_and_the_choice_among_them(choice: str, told: dict[str, str]) -> None:
    body = sent(user("x"), tools=(SAY,), choice=choice)
    assert body["tools"] == [{"name": "say", "description": "Speak.", "input_schema": SAY.parameters}]
    assert body["tool_choice"] == told


def test_one_call_at_a_time_when_asked_for() -> None:
    options = CallOptions(extra_params={"parallel_tool_calls": False})
    assert sent(user("x"), tools=(SAY,), options=options)["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
    forced = sent(user("x"), tools=(SAY,), choice="required", options=options)
    assert forced["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert "tool_choice" not in sent(user("x"), options=options)


def test_server_tools_are_added_to_the_clients() -> None:
    fetch = {"type": "web_fetch_20260318", "name": "web_fetch"}
    options = CallOptions(server_tools=(SEARCH,), extra_params={"tools": [fetch]}, prompt_cache=False)
    body = sent(user("x"), tools=(SAY,), options=options)
    assert [tool["name"] for tool in body["tools"]] == ["say", "web_search", "web_fetch"]
    assert body["tools"][1] == SEARCH
    assert sent(user("x"), options=options)["tools"] == [SEARCH, fetch]


def test_options() -> None:
    schema: JSONObject = {"type": "object", "properties": {}, "additionalProperties": False}
    options = CallOptions(temperature=0.5, max_tokens=9, seed=1, stop=("END", "\n"), schema=schema)
    body = sent(user("x"), options=options)
    assert (body["temperature"], body["max_tokens"], body["stop_sequences"]) == (0.5, 9, ["END"])
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert "seed" not in body


def test_the_newer_version_takes_no_sampling_fields() -> None:
    provider = AnthropicProvider(model="m", version="2026-10-21")
    options = CallOptions(temperature=1.0, extra_params={"top_p": 1, "top_k": 3})
    assert {"temperature", "top_p", "top_k"}.isdisjoint(sent(user("x"), options=options, provider=provider))
    assert provider.build_headers().getRawHeaders("anthropic-version") == ["2026-10-21"]
    assert sent(user("x"), options=options)["top_k"] == 3


def test_thinking_has_room_beside_the_answer_and_no_sampling() -> None:
    body = sent(user("x"), options=CallOptions(think=True, max_tokens=100, temperature=0.1))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert body["max_tokens"] == 2148
    assert "temperature" not in body
    assert sent(user("x"), options=CallOptions(think=False))["thinking"] == {"type": "disabled"}
    assert "thinking" not in sent(user("x"))
    adaptive = AnthropicProvider(model="m", thinking_tokens=None)
    assert sent(user("x"), options=CallOptions(think=True), provider=adaptive)["thinking"] == {"type": "adaptive"}


def test_a_tool_that_must_be_called_leaves_no_room_for_thinking() -> None:
    assert "thinking" not in sent(user("x"), tools=(SAY,), choice="required", options=CallOptions(think=True))


def test_thinking_cannot_begin_in_the_middle_of_a_tool_loop() -> None:
    history = (user("x"), assistant(ToolCall("a", "say", {})), tool_results([ToolResult("a", "say", "y")]))
    assert "thinking" not in sent(*history, options=CallOptions(think=True))


def test_marks_for_the_cache_on_the_last_tool_the_system_text_and_the_last_turn() -> None:
    asked = (system("a"), user("b"), assistant(Text("c")), user("d"), user("e"))
    body = sent(*asked, tools=(SAY, SAY), options=CallOptions())
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert body["system"] == [{"type": "text", "text": "a", "cache_control": MARK}]
    marks = ["cache_control" in block for turn in body["messages"] for block in turn["content"]]
    assert marks == [False, False, False, True]
    assert b"cache_control" not in PROVIDER.build_request(asked, (SAY,), None, UNMARKED)


def test_never_more_than_four_marks() -> None:
    own = tuple({**SEARCH, "cache_control": {"type": "ephemeral", "ttl": "1h"}} for _ in range(3))
    raw = PROVIDER.build_request((system("a"), user("b")), (SAY,), None, CallOptions(server_tools=own))
    assert raw.count(b'"cache_control":') == 4
    assert b'"ttl":"1h"' in raw


def test_a_message_that_speaks_of_marks_has_none() -> None:
    spoken = ToolSpec("say", 'the "cache_control": of it', {"type": "object"})
    raw = PROVIDER.build_request((system("a"), user("b")), (spoken,), None, CallOptions())
    assert raw.count(b'"cache_control":{') == 3


def test_messages_are_encoded_once_and_the_front_is_byte_identical() -> None:
    history = [system("a"), user("b")]
    before = PROVIDER.build_request(history, (SAY,), None, UNMARKED)
    kept = dict(history[1].wire)
    after = PROVIDER.build_request([*history, assistant(Text("c")), user("d")], (SAY,), None, UNMARKED)
    assert after.startswith(before.removesuffix(b"]}"))
    assert history[1].wire == kept
    marked = PROVIDER.build_request(history, (SAY,), None, CallOptions())
    longer = PROVIDER.build_request([*history, assistant(Text("c")), user("d")], (SAY,), None, CallOptions())
    shared = marked[: marked.index(b'"messages"')]
    assert longer.startswith(shared)


def test_a_message_by_itself() -> None:
    assert PROVIDER.encode_message(Message(Role.TOOL, (ToolResult("a", "say", "x"),))) == [
        {"role": "user", "content": [PROVIDER.format_tool_result(ToolResult("a", "say", "x"))]}
    ]
    assert PROVIDER.count_tokens([user("x" * 400)]) > 50


def test_limits_in_headers() -> None:
    headers = Headers(
        {
            "date": ["Wed, 19 Aug 2026 14:34:10 GMT"],
            "anthropic-ratelimit-requests-limit": ["50"],
            "anthropic-ratelimit-requests-remaining": ["49"],
            "anthropic-ratelimit-requests-reset": ["2026-08-19T14:34:20Z"],
            "anthropic-ratelimit-tokens-remaining": ["1000"],
            "anthropic-ratelimit-tokens-reset": ["2026-08-19T14:34:18Z"],
        }
    )
    info = PROVIDER.parse_rate_limit_headers(headers)
    assert info is not None
    assert (info.limit_requests, info.remaining_requests, info.remaining_tokens) == (50, 49, 1000)
    assert (info.reset_requests_at, info.reset_tokens_at) == (10.0, 8.0)
