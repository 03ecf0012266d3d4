"""The client against the fake Anthropic server over loopback: server tools, pauses, thinking, refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mud_assistant.llm import (
    BadCredential,
    Capabilities,
    FinishReason,
    LLMError,
    QuotaExhausted,
    RateLimited,
    ServerToolCall,
    ServerToolResult,
    StreamBroken,
    ToolResult,
    ToolSpec,
    Unavailable,
    UnifiedLLMClient,
    UnpairedServerTool,
    Usage,
    get_provider,
    system,
    tool_results,
    user,
)
from mud_assistant.llm.discover import offered_models
from mud_assistant.llm.paused import MAX_CONTINUATIONS
from mud_assistant.llm.response import FinishSeen, StreamEvent
from mud_assistant.llm.testing import (
    AnthropicReply,
    Call,
    DieMidStream,
    EndEarly,
    ErrorInStream,
    FakeAnthropic,
    HttpError,
    RefuseTools,
    Reply,
    Script,
    Search,
    serve,
)
from mud_assistant.resilience import Deadline, HttpExchange, Limits
from tests.llm.test_client import ONCE

SAY = ToolSpec("say", "Speak.", {"type": "object", "properties": {"text": {"type": "string"}}})
ASKED = (system("You are Sage."), user("Ann says: hello"))
SEARCH = ({"type": "web_search_20260318", "name": "web_search"},)
WELLS = (("Wells", "https://wells.example"),)
UNPAIRED = HttpError(
    400,
    "messages.1: `web_search` tool use with id `srvtoolu_1_0` was found without a corresponding"
    " `web_search_tool_result` block",
)


def paused(number: int = 1) -> AnthropicReply:
    return AnthropicReply(
        f"part {number} ", searches=(Search("well", answered=False),), finish="pause_turn", usage=(10, 2)
    )


@asynccontextmanager
async def client_of(
    reactor: Any, script: Script, key: str = "planted", **options: Any
) -> AsyncIterator[tuple[UnifiedLLMClient, FakeAnthropic]]:
    fake = FakeAnthropic(reactor, script, "planted")
    exchange = HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        provider = get_provider("anthropic", url, "sage", key=key, **options)
        try:
            yield UnifiedLLMClient(provider, exchange, reactor, capabilities=Capabilities(), retry=ONCE), fake
        finally:
            await exchange.close()


async def test_text_calls_thoughts_and_usage(reactor: Any) -> None:
    reply = AnthropicReply("Hello.", reasoning="Hm.", calls=(Call("say", {"text": "x"}),), usage=(31, 7))
    async with client_of(reactor, [reply]) as (client, fake):
        answer = await client.chat_completion(ASKED, [SAY], think=True)
    assert (answer.content, answer.reasoning, answer.finish_reason) == ("Hello.", "Hm.", FinishReason.TOOL_CALLS)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [("say", {"text": "x"})]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (31, 7)
    assert fake.chats[0].headers["accept-encoding"] == "identity"
    assert "authorization" not in fake.chats[0].headers


async def test_its_models_are_listed(reactor: Any) -> None:
    async with client_of(reactor, []) as (client, fake):
        exchange = HttpExchange(reactor, Limits(2, 5, 5))
        try:
            listed = await offered_models(client.provider, exchange, Deadline.after(reactor, 5))
        finally:
            await exchange.close()
    assert [model.name for model in listed] == ["sage"]
    assert fake.requests[0].headers["x-api-key"] == "planted"


async def test_a_tool_loop_replays_the_thought_before_its_call(reactor: Any) -> None:
    first = AnthropicReply(reasoning="Hm.", calls=(Call("say", {"text": "x"}), Call("say", {})))
    async with client_of(reactor, [first, Reply("Done.")]) as (client, fake):
        answer = await client.chat_completion(ASKED, [SAY], think=True)
        results = [ToolResult(call.id, call.name, "said") for call in answer.tool_calls]
        history = [*ASKED, answer.message, tool_results(results)]
        assert (await client.chat_completion(history, [SAY], think=True)).content == "Done."
    turn = fake.chats[1].messages[1]["content"]
    assert turn[0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2VhbGVk"}
    assert [block["type"] for block in turn] == ["thinking", "tool_use", "tool_use"]
    assert "thinking" in fake.chats[1].body


async def test_a_search_by_the_server_is_told_and_no_call(reactor: Any) -> None:
    reply = AnthropicReply("By the mill.", searches=(Search("well", WELLS),), sources=WELLS)
    async with client_of(reactor, [reply], betas=("one",)) as (client, fake):
        answer = await client.chat_completion(ASKED, [SAY], server_tools=SEARCH)
    assert [type(block).__name__ for block in answer.message.blocks] == [
        "ServerToolCall",
        "ServerToolResult",
        "Text",
        "Citation",
    ]
    assert (answer.has_tool_calls, answer.finish_reason) == (False, FinishReason.STOP)
    assert answer.usage.server_tools == {"web_search": 1, "web_fetch": 0}
    assert [tool["name"] for tool in fake.chats[0].tools] == ["say", "web_search"]
    assert fake.chats[0].headers["anthropic-beta"] == "one"


async def test_76_a_pause_is_gone_on_with_and_comes_back_as_one_answer(reactor: Any) -> None:
    rest = AnthropicReply("Found.", resumes="srvtoolu_1_0", usage=(20, 3))
    heard: list[StreamEvent] = []
    async with client_of(reactor, [paused(), rest]) as (client, fake):
        answer = await client.chat_completion(ASKED, [SAY], server_tools=SEARCH, listener=heard.append)
    first, second = fake.chats
    assert second.messages[:-1][0]["role"] == "user"
    assert len(second.messages) == len(first.messages) + 1
    assert second.messages[-1] == {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1_0", "name": "web_search", "input": {"query": "well"}},
            {"type": "text", "text": "part 1 "},
        ],
    }
    assert second.tools == first.tools
    assert (answer.content, answer.finish_reason) == ("part 1 Found.", FinishReason.STOP)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (30, 5)
    assert [block["type"] for block in answer.message.raw_of("anthropic")] == [
        "server_tool_use",
        "text",
        "web_search_tool_result",
        "text",
    ]
    finishes = [event.reason for event in heard if isinstance(event, FinishSeen)]
    assert finishes == [FinishReason.PAUSED, FinishReason.STOP]


async def test_76_a_turn_that_never_ends_is_given_as_it_is_after_eight_more(reactor: Any) -> None:
    async with client_of(reactor, lambda _request: paused()) as (client, fake):
        answer = await client.chat_completion(ASKED, server_tools=SEARCH)
    assert len(fake.chats) == 1 + MAX_CONTINUATIONS == 9
    assert answer.finish_reason is FinishReason.PAUSED
    assert answer.usage == Usage(90, 18, 0, cache_write_tokens=0, server_tools={"web_search": 9})


async def test_a_mixed_turn_answers_the_clients_call_only(reactor: Any) -> None:
    mixed = AnthropicReply(searches=(Search("well", answered=False),), calls=(Call("say", {"text": "x"}),))
    rest = AnthropicReply("Done.", resumes="srvtoolu_1_0")
    async with client_of(reactor, [mixed, rest]) as (client, fake):
        answer = await client.chat_completion(ASKED, [SAY], server_tools=SEARCH)
        assert [call.name for call in answer.tool_calls] == ["say"]
        results = tool_results([ToolResult(answer.tool_calls[0].id, "say", "said")])
        end = await client.chat_completion([*ASKED, answer.message, results], [SAY], server_tools=SEARCH)
    asked, answered = fake.chats[1].messages[1:]
    assert [block["type"] for block in asked["content"]] == ["server_tool_use", "tool_use"]
    assert [block["type"] for block in answered["content"]] == ["tool_result"]
    assert end.content == "Done."


async def test_77_a_failed_search_is_a_note(reactor: Any) -> None:
    reply = AnthropicReply("Sorry.", searches=(Search("well", error="max_uses_exceeded"),))
    async with client_of(reactor, [reply]) as (client, _):
        answer = await client.chat_completion(ASKED, server_tools=SEARCH)
    assert answer.message.blocks[1] == ServerToolResult("srvtoolu_1_0", "web_search", "max_uses_exceeded", failed=True)
    assert answer.content == "Sorry."


async def test_an_unpaired_call_is_dropped_once_when_it_is_refused(reactor: Any) -> None:
    async with client_of(reactor, [paused(), UNPAIRED, Reply("Anew.")]) as (client, fake):
        answer = await client.chat_completion(ASKED, server_tools=SEARCH)
    assert [block["type"] for block in fake.chats[2].messages[-1]["content"]] == ["text"]
    assert answer.content == "part 1 Anew."
    assert not any(isinstance(block, ServerToolCall) for block in answer.message.blocks)


async def test_an_unpaired_call_in_the_history_is_dropped_once_too(reactor: Any) -> None:
    async with client_of(reactor, [paused(), *[UNPAIRED] * 2]) as (client, fake):
        with pytest.raises(UnpairedServerTool):
            await client.chat_completion(ASKED, server_tools=SEARCH)
    assert len(fake.chats) == 3


async def test_a_schema_is_held_to_the_whole_of_a_paused_turn(reactor: Any) -> None:
    half = AnthropicReply('{"far":', searches=(Search("well", answered=False),), finish="pause_turn")
    rest = AnthropicReply(" true}", resumes="srvtoolu_1_0")
    schema = {"type": "object", "properties": {"far": {"type": "boolean"}}, "required": ["far"]}
    async with client_of(reactor, [half, rest]) as (client, _):
        answer = await client.chat_completion(ASKED, server_tools=SEARCH, schema=schema)
    assert answer.structured == {"far": True}


async def test_a_model_without_tools_is_asked_for_json(reactor: Any) -> None:
    call = Reply('{"tool":"say","parameters":{"text":"Hello"}}')
    async with client_of(reactor, [RefuseTools(), call]) as (client, fake):
        answer = await client.chat_completion(ASKED, [SAY])
    assert (answer.from_fallback, answer.tool_calls[0].arguments) == (True, {"text": "Hello"})
    instructed = fake.chats[1].raw.partition(b'"messages"')[0]
    assert b"- say: Speak." in instructed
    assert not fake.chats[1].tools


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (DieMidStream(4, Reply("one two three four")), StreamBroken),
        (EndEarly(4, Reply("one two three four")), StreamBroken),
        (ErrorInStream("Overloaded", 4), Unavailable),
        (HttpError(529, "Overloaded"), Unavailable),
        (HttpError(500), Unavailable),
        (HttpError(429, "slow down", {"Retry-After": "9"}), RateLimited),
        (HttpError(400, "You have reached your specified API usage limits."), QuotaExhausted),
        (HttpError(403, "not yours"), BadCredential),
    ],
)
async def test_every_fault_is_one_typed_error(reactor: Any, fault: Any, error: type[LLMError]) -> None:
    async with client_of(reactor, [fault] * 9) as (client, _):
        with pytest.raises(error) as caught:
            await client.chat_completion(ASKED)
    assert type(caught.value) is error
    assert caught.value.provider == "anthropic"
    if isinstance(caught.value, StreamBroken):
        assert caught.value.partial.startswith("one")
    elif error is Unavailable:
        assert caught.value.status in {500, 529}


async def test_95_a_wrong_key_shows_nowhere(reactor: Any) -> None:
    async with client_of(reactor, [Reply("x")], key="other-key") as (client, _):
        with pytest.raises(BadCredential) as caught:
            await client.chat_completion(ASKED)
        assert "other-key" not in f"{caught.value} {caught.value!r} {client.provider!r}"
