"""What is sent to the Responses API: fields, items, and what goes back of an earlier answer."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from mud_assistant.assistant.config.known_providers import usual_key
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.journal.records import MESSAGE
from mud_assistant.assistant.models.chosen import call_options, provider_of
from mud_assistant.llm import (
    CallOptions,
    Message,
    RawTurn,
    Rejected,
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
from mud_assistant.llm.modes.mode import FieldOverride, RequestMode
from mud_assistant.llm.packing.pack import pack
from mud_assistant.llm.packing.packed import Joined, Packed, Part
from mud_assistant.llm.paused import without_reasoning
from mud_assistant.llm.providers.responses.provider import ResponsesProvider
from tests.llm.providers.responses.answers import call_item, text_item, thought

NAME = "openai-responses"
LOOK = ToolSpec("look", "Look round.", {"type": "object", "properties": {}})
CLOSED = ToolSpec("say", "Say it.", {"type": "object", "properties": {}, "required": [], "additionalProperties": False})
USUAL = CallOptions()
NATIVE = RequestMode(native=True, as_text=False, schema=True, thinks=True)


def sent(messages: Any, tools: Any = (), choice: str | None = None, **options: Any) -> dict[str, Any]:
    provider = options.pop("provider", None) or ResponsesProvider(model="m")
    body: dict[str, Any] = orjson.loads(provider.build_request(messages, tools, choice, CallOptions(**options)))
    return body


def turn(*items: Any, blocks: Any = None) -> Message:
    """A turn that this provider wrote."""
    calls = [ToolCall(item["call_id"], item["name"], {}) for item in items if item["type"] == "function_call"]
    return Message(Role.ASSISTANT, blocks or tuple(calls) or (Text("x"),), RawTurn(NAME, items))


RESULT = tool_results([ToolResult("call_1", "look", "a well")])


def test_a_request_keeps_nothing_at_the_server_and_asks_for_sealed_reasoning() -> None:
    body = sent([system("You are Sage."), user("Hi"), assistant(Text("Yes?")), system("It rains."), user("Well?")])
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["stream"] is True
    assert body["instructions"] == "You are Sage."
    assert body["input"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "system", "content": "It rains."},
        {"role": "user", "content": "Well?"},
    ]
    state = {"previous_response_id": "resp_1", "conversation": "c", "background": True, "store": True}
    assert not {"previous_response_id", "conversation", "background"} & set(sent([user("x")], extra_params=state))
    assert sent([user("x")], extra_params=state)["store"] is False


def test_a_prompt_of_system_text_alone_has_input() -> None:
    body = sent([system("You are Sage.")])
    assert (body["input"], "instructions" in body) == ([{"role": "system", "content": "You are Sage."}], False)


def test_tools_are_flat_and_say_whether_they_are_strict() -> None:
    body = sent([user("x")], [LOOK, CLOSED], "say", extra_params={"parallel_tool_calls": False})
    assert body["tools"] == [
        {"type": "function", "name": "look", "description": "Look round.", "parameters": LOOK.parameters}
        | {"strict": False},
        {"type": "function", "name": "say", "description": "Say it.", "parameters": CLOSED.parameters}
        | {"strict": True},
    ]
    assert body["tool_choice"] == {"type": "function", "name": "say"}
    assert body["parallel_tool_calls"] is False
    assert sent([user("x")], [LOOK], "required")["tool_choice"] == "required"
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]}
    assert sent([user("x")], [LOOK], "auto", extra_params={"tool_choice": allowed})["tool_choice"] == allowed


def test_a_web_search_asks_for_its_sources() -> None:
    body = sent([user("x")], [LOOK], server_tools=(ResponsesProvider.server_tools["web_search"],))
    assert [tool["type"] for tool in body["tools"]] == ["function", "web_search"]
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]


def test_forms_efforts_and_bounds() -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    body = sent([user("x")], schema=schema, extra_params={"verbosity": "low"})
    form = {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}
    assert body["text"] == {"format": form, "verbosity": "low"}
    assert sent([user("x")], json_object=True)["text"] == {"format": {"type": "json_object"}}
    assert sent([user("x")], think=False, temperature=0.5)["reasoning"] == {"effort": "none"}
    assert sent([user("x")], think=False, temperature=0.5)["temperature"] == 0.5
    thinks = sent([user("x")], think=True, temperature=0.5, max_tokens=300)
    assert thinks["reasoning"] == {"effort": "medium", "summary": "auto"}
    assert "temperature" not in thinks
    assert thinks["max_output_tokens"] == 300 + 2048
    assert sent([user("x")], max_tokens=1)["max_output_tokens"] == 16
    assert sent([user("x")], extra_params={"reasoning_effort": "low"})["reasoning"] == {"effort": "low"}
    assert sent([user("x")], extra_params={"max_tokens": 40})["max_output_tokens"] == 40
    unknown = {"seed", "stop", "stream_options"} & set(sent([user("x")], seed=3, stop=("a",)))
    assert unknown == set()


def test_the_bound_leaves_room_for_reasoning_once_the_model_was_seen_to_reason() -> None:
    provider = ResponsesProvider(model="m", thinking_tokens=500)
    assert sent([user("x")], max_tokens=300, provider=provider)["max_output_tokens"] == 300
    provider.parse_response(orjson.dumps({"status": "completed", "output": [thought(), text_item("Hi.")]}))
    assert sent([user("x")], max_tokens=300, provider=provider)["max_output_tokens"] == 800
    assert sent([user("x")], max_tokens=300, think=False, provider=provider)["max_output_tokens"] == 300


def test_the_cache_key_keeps_the_calls_of_one_assistant_together() -> None:
    assert sent([user("x")], cache_key="sage")["prompt_cache_key"] == "sage"
    assert "prompt_cache_key" not in sent([user("x")], cache_key="sage", prompt_cache=False)
    assert "prompt_cache_key" not in sent([user("x")])


def test_189_reasoning_goes_back_in_place_verbatim_without_ids() -> None:
    first, second = thought("sealed:1", "rs_1"), thought("sealed:2", "rs_2")
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    remark = text_item("Let me look.", "msg_1", phase="commentary")
    items = sent([user("x"), turn(first, search, remark, second, call_item("{}")), RESULT])["input"]
    expected = [{key: value for key, value in item.items() if key != "id"} for item in (first, search, remark, second)]
    assert items[1:5] == expected
    assert items[5] == {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
    assert items[6] == {"type": "function_call_output", "call_id": "call_1", "output": "a well"}


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        ([thought(None), call_item("{}")], ["function_call"]),
        ([thought(""), call_item("{}")], ["function_call"]),
        ([thought(), thought(None), call_item("{}")], ["reasoning", "function_call"]),
        ([call_item("{}"), thought()], ["function_call"]),
        ([thought(), {"type": "custom_tool_call", "call_id": "x"}, call_item("{}")], ["function_call"]),
        ([{"type": "tool_search_call", "execution": "client"}, call_item("{}")], ["function_call"]),
    ],
)
def test_190_reasoning_without_a_seal_or_without_what_it_led_to_is_left_out(items: list[Any], kept: list[str]) -> None:
    sent_items = sent([user("x"), turn(*items), RESULT])["input"][1:-1]
    assert [item["type"] for item in sent_items] == kept


def test_plain_reasoning_goes_back_to_a_server_without_seals() -> None:
    plain = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}], "summary": []}
    assert sent([user("x"), turn(plain, call_item("{}")), RESULT])["input"][1]["content"] == plain["content"]


def test_what_another_provider_wrote_or_what_was_changed_is_built_anew() -> None:
    call = ToolCall("call_1", "look", {"at": "well"})
    other = Message(Role.ASSISTANT, (Text("Let me see."), call), RawTurn("anthropic", ({"type": "thinking"},)))
    changed = turn(thought(), call_item("{}", "call_9"), blocks=(Text("Let me see."), call))
    for message in (other, changed):
        assert sent([user("x"), message, RESULT])["input"][1:3] == [
            {"role": "assistant", "content": "Let me see."},
            {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"at":"well"}'},
        ]


def test_an_id_that_is_too_long_is_the_same_in_the_call_and_its_result() -> None:
    long = "x" * 90
    messages = [assistant(ToolCall(long, "look", {})), tool_results([ToolResult(long, "look", "y")])]
    call, result = sent([user("x"), *messages])["input"][1:]
    assert call["call_id"] == result["call_id"]
    assert len(call["call_id"]) <= 64


def test_a_trimmed_history_loses_reasoning_together_with_what_it_led_to() -> None:
    """A turn is trimmed as a whole; its reasoning is part of it and of nothing else."""
    turns = [turn(thought(f"sealed:{n}"), call_item("{}", f"call_{n}")) for n in range(3)]
    results = [tool_results([ToolResult(f"call_{n}", "look", "x")]) for n in range(3)]
    history = [message for pair in zip(turns, results, strict=True) for message in pair]
    for start in range(0, 6, 2):
        kinds = [item.get("type") for item in sent([user("x"), *history[start:]])["input"][1:]]
        assert kinds == ["reasoning", "function_call", "function_call_output"] * (3 - start // 2)


def test_a_packed_history_is_sent_as_it_was() -> None:
    provider = ResponsesProvider(model="m")
    history = [user("x"), turn(thought(), call_item("{}")), RESULT, assistant(Text("It is deep.")), user("y")]
    before = sent([system("s"), *history], provider=provider)
    parts: list[Part] = []
    pack([[message] for message in history], parts, MESSAGE)
    assert list(Joined(parts)) == history
    assert [len(part) for part in parts if isinstance(part, Packed)] == [len(history)]
    assert sent(Joined((system("s"), *parts)), provider=provider) == before


def test_reasoning_is_dropped_from_all_turns_and_nothing_else() -> None:
    kept = [user("x"), RESULT]
    cleaned = without_reasoning([*kept, turn(thought(), call_item("{}"))])
    assert cleaned[:2] == kept
    assert cleaned[2].raw == RawTurn(NAME, (call_item("{}"),))


@pytest.mark.parametrize(
    ("message", "parameter", "field"),
    [
        ("Encrypted content is not supported with this model.", "include", "include"),
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature", "temperature"),
        ("Unsupported value: 'none' is not supported with the 'gpt-5' model.", "reasoning.effort", "reasoning"),
        ("Your organization must be verified to generate reasoning summaries.", "reasoning.summary", "reasoning"),
        ("Unrecognized key: 'prompt_cache_key'", "", "prompt_cache_key"),
        ("Invalid type for 'input[0]'.", "input[0]", None),
        ("Unsupported parameter: 'text.format'.", "text.format", None),
    ],
)
def test_191_a_refused_field_is_left_out(message: str, parameter: str, field: str | None) -> None:
    better = ResponsesProvider(model="m").adapt(Rejected(message, parameter=parameter), NATIVE)
    assert (better and better.overrides) == (field and (FieldOverride(field),))
    if better is not None:
        assert ResponsesProvider(model="m").adapt(Rejected(message, parameter=parameter), better) is None


def test_changes_learned_of_another_api_are_not_made() -> None:
    none = FieldOverride("reasoning_effort", value="none", with_tools=True)
    overrides = (none, FieldOverride("max_tokens", rename="max_completion_tokens"), FieldOverride("temperature"))
    provider = ResponsesProvider(model="m")
    body = provider.build_request([user("x")], [LOOK], None, replace(USUAL, temperature=0.5), overrides=overrides)
    assert not {"reasoning_effort", "temperature", "max_completion_tokens"} & set(orjson.loads(body))


def test_its_addresses_and_headers() -> None:
    provider = get_provider(NAME, model="m", key="k", organization="org", project="proj")
    assert provider.get_api_url() == "https://api.openai.com/v1/responses"
    assert provider.get_models_url() == "https://api.openai.com/v1/models"
    headers = provider.build_headers()
    assert headers.getRawHeaders("Authorization") == ["Bearer k"]
    assert headers.getRawHeaders("OpenAI-Organization") == ["org"]
    assert get_provider(NAME, "http://127.0.0.1:1234", "m").get_api_url() == "http://127.0.0.1:1234/v1/responses"
    assert get_provider(NAME, "http://h/api/v1/responses/", "m").get_api_url() == "http://h/api/v1/responses"


def test_azure_has_the_version_in_its_address_the_deployment_in_its_path_and_a_header_of_its_own() -> None:
    version = "2025-04-01-preview"
    azure = get_provider(NAME, "https://r.openai.azure.com", "dep", key="k", api_version=version)
    host = "https://r.openai.azure.com/openai"
    assert azure.get_api_url() == f"{host}/deployments/dep/responses?api-version={version}"
    assert azure.get_models_url() == f"{host}/models?api-version={version}"
    assert azure.build_headers().getRawHeaders("api-key") == ["k"]
    assert not azure.build_headers().hasHeader("Authorization")
    newer = get_provider(NAME, f"{host}/v1", "dep", key="k", api_version="preview")
    assert newer.get_api_url() == f"{host}/v1/responses?api-version=preview"
    plain = get_provider(NAME, f"{host}/v1", "dep", key="k")
    assert plain.build_headers().getRawHeaders("Authorization") == ["Bearer k"]


def test_the_settings_reach_it() -> None:
    config = ModelConfig(
        provider=NAME,
        url="https://r.openai.azure.com",
        model="dep",
        api_version="2025-04-01-preview",
        thinking_tokens=700,
        server_tools=("web_search",),
    )
    provider = provider_of(config, "k")
    assert provider.get_api_url().endswith("/openai/deployments/dep/responses?api-version=2025-04-01-preview")
    body = sent([user("x")], provider=provider, **{**call_options(config), "think": True, "max_tokens": 100})
    assert body["max_output_tokens"] == 800
    assert body["tools"] == [{"type": "web_search"}]
    assert usual_key(NAME) == "env:OPENAI_API_KEY"
