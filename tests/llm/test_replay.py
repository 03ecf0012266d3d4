"""A conversation that changes its provider on the way, both ways: what is replayed, and what is left behind."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from mud_assistant.llm import (
    CallOptions,
    Citation,
    LLMProvider,
    Message,
    RawTurn,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    get_provider,
    system,
    tool_results,
    user,
)
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.paused import without_unpaired
from mud_assistant.llm.testing.anthropic import wrong_messages

RAW = RawTurn(
    "anthropic",
    (
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "well"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srv",
            "content": [{"type": "web_search_result", "url": "https://w", "title": "W", "encrypted_content": "E"}],
        },
        {"type": "text", "text": "Let me say so.", "citations": [{"type": "x", "encrypted_index": "I"}]},
        {"type": "oracle", "new": [1, 2]},
        {"type": "tool_use", "id": "toolu_1", "name": "say", "input": {"text": "x"}, "caller": {"type": "direct"}},
    ),
)
BLOCKS = (
    Reasoning("hm", "s"),
    ServerToolCall("srv", "web_search", {"query": "well"}),
    ServerToolResult("srv", "web_search", "W https://w"),
    Text("Let me say so."),
    Citation("w", "https://w", "W"),
    ToolCall("toolu_1", "say", {"text": "x"}),
)
TURN = Message(Role.ASSISTANT, BLOCKS, RAW)
RESULT = tool_results([ToolResult("toolu_1", "say", "said")])
FOREIGN = (assistant(Reasoning("deep"), Text("Well."), ToolCall("functions.say:0", "say", {"text": "y"})),)
FOREIGN_RESULT = tool_results([ToolResult("functions.say:0", "say", "said too")])
HISTORY = (system("a"), user("b"), TURN, RESULT, *FOREIGN, FOREIGN_RESULT)
SEARCH = ({"type": "web_search_20260318", "name": "web_search"},)


def sent(provider: LLMProvider, *messages: Message, **options: Any) -> dict[str, Any]:
    asked = CallOptions(**{"prompt_cache": False, **options})
    body: dict[str, Any] = orjson.loads(provider.build_request(messages, (), None, asked))
    return body


def claude() -> LLMProvider:
    return get_provider("anthropic", model="m")


def test_72_a_turn_goes_back_verbatim_to_the_provider_that_made_it() -> None:
    turn = sent(claude(), *HISTORY, server_tools=SEARCH)["messages"][1]
    assert turn == {"role": "assistant", "content": list(RAW.blocks)}


def test_without_the_servers_tool_its_blocks_stay_behind() -> None:
    turn = sent(claude(), *HISTORY)["messages"][1]["content"]
    assert [block["type"] for block in turn] == ["thinking", "text", "oracle", "tool_use"]
    assert "citations" not in turn[1]
    other = sent(claude(), *HISTORY, server_tools=({"type": "web_fetch_20260318", "name": "web_fetch"},))
    assert "server_tool_use" not in [block["type"] for block in other["messages"][1]["content"]]


def test_sources_in_the_callers_own_documents_stay() -> None:
    own: JSONObject = {"type": "char_location", "cited_text": "x", "document_index": 0}
    raw = RawTurn("anthropic", ({"type": "text", "text": "x", "citations": [own, {"encrypted_index": "I"}]},))
    history = (user("a"), Message(Role.ASSISTANT, (Text("x"),), raw), user("b"))
    assert sent(claude(), *history)["messages"][1]["content"][0]["citations"] == [own]
    assert len(sent(claude(), *history, server_tools=SEARCH)["messages"][1]["content"][0]["citations"]) == 2


def test_code_that_a_search_runs_goes_with_the_search() -> None:
    raw = RawTurn(
        "anthropic",
        (
            {"type": "server_tool_use", "id": "c", "name": "bash_code_execution", "input": {}},
            {"type": "bash_code_execution_tool_result", "tool_use_id": "c", "content": {}},
            {"type": "mcp_tool_use", "id": "m", "server_name": "wiki", "name": "look", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "m", "content": []},
            {"type": "text", "text": "x"},
        ),
    )
    history = (user("a"), Message(Role.ASSISTANT, (Text("x"),), raw), user("b"))

    def kinds(*tools: dict[str, str]) -> list[str]:
        turn = sent(claude(), *history, server_tools=tools)["messages"][1]["content"]
        return [block["type"] for block in turn]

    code = ["server_tool_use", "bash_code_execution_tool_result"]
    assert kinds() == ["text"]
    assert kinds(*SEARCH) == [*code, "text"]
    mcp = {"type": "mcp_toolset", "mcp_server_name": "wiki"}
    assert kinds(mcp) == [*code, "mcp_tool_use", "mcp_tool_result", "text"]


def mcp_history(name: str = "look", server: str = "wiki") -> tuple[Message, ...]:
    raw = RawTurn(
        "anthropic",
        (
            {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "w", "content": []},
            {"type": "server_tool_use", "id": "c", "name": "bash_code_execution", "input": {}},
            {"type": "bash_code_execution_tool_result", "tool_use_id": "c", "content": {}},
            {"type": "mcp_tool_use", "id": "m", "server_name": server, "name": name, "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "m", "content": []},
            {"type": "text", "text": "x", "citations": [{"encrypted_index": "I"}]},
        ),
    )
    return (user("a"), Message(Role.ASSISTANT, (Text("x"),), raw), user("b"))


def with_servers(history: tuple[Message, ...], *names: str) -> list[JSONObject]:
    servers = [{"type": "url", "url": "https://x.example", "name": name} for name in names]
    content: list[JSONObject] = sent(claude(), *history, extra_params={"mcp_servers": servers})["messages"][1][
        "content"
    ]
    return content


def test_mcp_blocks_go_back_with_their_server_alone_in_the_request() -> None:
    content = with_servers(mcp_history(), "wiki")
    assert [block["type"] for block in content] == ["mcp_tool_use", "mcp_tool_result", "text"]
    assert "citations" not in content[-1]


@pytest.mark.parametrize("server", ["atlas", "web_search"])
def test_an_mcp_server_brings_no_blocks_but_its_own(server: str) -> None:
    assert [block["type"] for block in with_servers(mcp_history(), server)] == ["text"]


def test_an_mcp_result_without_its_call_goes_with_any_mcp_server() -> None:
    raw = RawTurn(
        "anthropic",
        (
            {"type": "mcp_tool_result", "tool_use_id": "m", "content": []},
            {"type": "web_search_tool_result", "tool_use_id": "w", "content": []},
            {"type": "text", "text": "x"},
        ),
    )
    history = (user("a"), Message(Role.ASSISTANT, (Text("x"),), raw), user("b"))
    assert [block["type"] for block in with_servers(history, "wiki")] == ["mcp_tool_result", "text"]
    assert [block["type"] for block in with_servers(history)] == ["text"]


@pytest.mark.parametrize("name", ["local", "ollama"])
def test_another_provider_gets_the_neutral_blocks_and_none_of_the_servers(name: str) -> None:
    body = sent(get_provider(name, "http://127.0.0.1:1", "m"), *HISTORY, server_tools=SEARCH)
    turn, result = body["messages"][2:4]
    assert turn["content"] == "Let me say so."
    assert [call["function"]["name"] for call in turn["tool_calls"]] == ["say"]
    assert result["tool_call_id"] == turn["tool_calls"][0]["id"] == "toolu_1"
    flat = orjson.dumps(body)
    for left in (b"srv", b"encrypted", b"signature", b"oracle", b"https://w", b"web_search"):
        assert left not in flat


def test_anthropic_gets_another_providers_turn_without_its_thoughts_and_with_fit_ids() -> None:
    messages = sent(claude(), *HISTORY)["messages"]
    said, call = messages[3]["content"]
    assert said == {"type": "text", "text": "Well."}
    assert (call["name"], call["input"]) == ("say", {"text": "y"})
    assert messages[4]["content"][0]["tool_use_id"] == call["id"]
    assert wrong_messages(messages) == ""


def test_there_and_back_again() -> None:
    """One history, sent in turn to three providers: what one of them was sent changes nothing for the others."""
    first = sent(claude(), *HISTORY, server_tools=SEARCH)
    sent(get_provider("local", "http://127.0.0.1:1", "m"), *HISTORY)
    sent(get_provider("ollama", "http://127.0.0.1:1", "m"), *HISTORY)
    assert sent(claude(), *HISTORY, server_tools=SEARCH) == first
    assert sent(claude(), *HISTORY) != first


def test_a_raw_turn_whose_calls_have_other_ids_is_not_replayed() -> None:
    """An id that came twice was made anew (edge case 13): results would answer nothing in the raw turn."""
    changed = Message(Role.ASSISTANT, (ToolCall("made", "say", {}),), RAW)
    turn = sent(claude(), user("a"), changed, tool_results([ToolResult("made", "say", "x")]))["messages"][1]
    assert turn["content"] == [{"type": "tool_use", "id": "made", "name": "say", "input": {}}]


def test_thoughts_that_nothing_follows_are_not_replayed() -> None:
    raw = RawTurn("anthropic", ({"type": "thinking", "thinking": "x", "signature": "s"},))
    only = Message(Role.ASSISTANT, (Reasoning("x", "s"),), raw)
    assert [turn["role"] for turn in sent(claude(), user("a"), only, user("b"))["messages"]] == ["user"]


def test_the_raw_turn_is_part_of_a_messages_value() -> None:
    assert Message(Role.ASSISTANT, BLOCKS, RAW) == TURN
    assert Message(Role.ASSISTANT, BLOCKS) != TURN
    assert hash(user("x")) == hash(user("x"))
    assert TURN.raw_of("openai") == ()


def test_calls_without_a_result_are_found_over_all_messages() -> None:
    lonely: JSONObject = {"type": "server_tool_use", "id": "other", "name": "web_search", "input": {}}
    asked = Message(
        Role.ASSISTANT,
        (Text("x"), ServerToolCall("other", "web_search", {})),
        RawTurn("anthropic", ({"type": "text", "text": "x"}, lonely)),
    )
    late = RawTurn("anthropic", ({"type": "web_search_tool_result", "tool_use_id": "other", "content": []},))
    assert without_unpaired([TURN, asked, Message(Role.ASSISTANT, (), late)])[1] == asked
    cleaned = without_unpaired([TURN, asked])
    assert cleaned[0] == TURN
    assert cleaned[1] == Message(Role.ASSISTANT, (Text("x"),), RawTurn("anthropic", ({"type": "text", "text": "x"},)))
