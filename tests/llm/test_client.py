"""The client against the fake servers over loopback: one answer whatever the wire does, or one typed error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError

from mud_assistant.llm import (
    BadCredential,
    Capabilities,
    FinishReason,
    LLMDeadlineExceeded,
    LLMError,
    Message,
    ModelNotFound,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Role,
    StreamBroken,
    ToolCall,
    ToolResult,
    ToolSpec,
    Unavailable,
    UnifiedLLMClient,
    assistant,
    get_provider,
    system,
    tool_results,
    user,
)
from mud_assistant.llm.response import StreamEvent, TextDelta
from mud_assistant.llm.testing import (
    Call,
    DieMidStream,
    EndEarly,
    ErrorInStream,
    FakeChat,
    FakeOllama,
    FakeServer,
    Garbage,
    Hang,
    HttpError,
    Raw,
    RecordedRequest,
    RefuseTools,
    Reply,
    Script,
    Step,
    serve,
)
from mud_assistant.resilience import Deadline, HttpExchange, Limits, RetryConfig

reactor: Any = _reactor
#: What a single attempt comes to is the subject here; trying again has tests of its own.
ONCE = RetryConfig(max_attempts=1)
SAY = ToolSpec(
    "say", "Speak aloud.", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
)
LOOK = ToolSpec("look", "Look round.", {"type": "object", "properties": {}})
TOOLS = (SAY, LOOK)
ASKED = (system("You are Sage."), user("Ann says: hello"))
PROVIDERS = ("ollama", "local")


@asynccontextmanager
async def client_of(
    name: str, script: Script, *, limits: Limits | None = None, key: str = "", server_key: str | None = None
) -> AsyncIterator[tuple[UnifiedLLMClient, FakeServer]]:
    fake: FakeServer = (
        FakeOllama(reactor, script, key=server_key) if name == "ollama" else FakeChat(reactor, script, server_key)
    )
    exchange = HttpExchange(reactor, limits or Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        model = "sage" if name == "ollama" else "any"
        provider = get_provider(name, url, model, key=key)
        try:
            yield UnifiedLLMClient(provider, exchange, reactor, capabilities=Capabilities(), retry=ONCE), fake
        finally:
            await exchange.close()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_text_and_usage(name: str) -> None:
    async with client_of(name, [Reply("Hello, Ann.", usage=(31, 7))]) as (client, _):
        answer = await client.chat_completion(ASKED)
        assert answer.content == "Hello, Ann."
        assert answer.finish_reason is FinishReason.STOP
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (31, 7)
        assert not answer.has_tool_calls
        assert answer.provider == name


@pytest.mark.parametrize("name", PROVIDERS)
async def test_several_native_calls_in_order_with_distinct_ids(name: str) -> None:
    reply = Reply(calls=(Call("look"), Call("say", {"text": "Grüß dich"}), Call("say", {"text": "again"})))
    async with client_of(name, [reply]) as (client, _):
        answer = await client.chat_completion(ASKED, TOOLS)
        assert [(call.name, dict(call.arguments)) for call in answer.tool_calls] == [
            ("look", {}),
            ("say", {"text": "Grüß dich"}),
            ("say", {"text": "again"}),
        ]
        assert len({call.id for call in answer.tool_calls}) == 3
        assert answer.finish_reason is FinishReason.TOOL_CALLS
        assert not answer.from_fallback


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_listener_hears_the_text_as_it_comes(name: str) -> None:
    heard: list[StreamEvent] = []
    async with client_of(name, [Reply("one two three", chunk_size=4)]) as (client, _):
        await client.chat_completion(ASKED, listener=heard.append)
    pieces = [event.text for event in heard if isinstance(event, TextDelta)]
    assert len(pieces) > 2
    assert "".join(pieces) == "one two three"


@pytest.mark.parametrize("name", PROVIDERS)
async def test_reasoning_is_kept_apart_from_text(name: str) -> None:
    async with client_of(name, [Reply("Yes.", reasoning="Let me see."), Reply("<think>hm</think>No.")]) as (client, _):
        first = await client.chat_completion(ASKED)
        assert (first.reasoning, first.content) == ("Let me see.", "Yes.")
        second = await client.chat_completion(ASKED)
        assert (second.reasoning, second.content) == ("hm", "No.")


async def test_ollama_is_asked_natively_without_silent_truncation() -> None:
    async with client_of("ollama", [Reply("x")]) as (client, fake):
        await client.chat_completion(ASKED, TOOLS, temperature=0.2, max_tokens=50, seed=1, stop=("\n",))
        body = fake.chats[0].body
        assert fake.chats[0].path == "/api/chat"
        assert (body["truncate"], body["shift"], body["stream"]) == (False, False, True)
        assert body["options"] == {"num_ctx": 8192, "temperature": 0.2, "num_predict": 50, "seed": 1, "stop": ["\n"]}
        assert [tool["function"]["name"] for tool in fake.chats[0].tools] == ["say", "look"]


async def test_chat_completions_asks_for_usage_in_the_stream() -> None:
    async with client_of("local", [Reply("x")], key="planted") as (client, fake):
        await client.chat_completion(ASKED, TOOLS, "required", max_tokens=50)
        request = fake.chats[0]
        assert request.path == "/v1/chat/completions"
        assert request.authorization == "Bearer planted"
        assert request.body["stream_options"] == {"include_usage": True}
        assert request.body["tool_choice"] == "required"
        assert request.body["max_tokens"] == 50


@pytest.mark.parametrize("name", PROVIDERS)
async def test_calls_and_results_in_the_history_go_back_in_the_servers_form(name: str) -> None:
    calls = (ToolCall("c1", "look", {}), ToolCall("c2", "say", {"text": "hi"}))
    results = tool_results([ToolResult("c1", "look", "a room"), ToolResult("c2", "say", "said")])
    async with client_of(name, [Reply("x")]) as (client, fake):
        await client.chat_completion([*ASKED, assistant(*calls), results], TOOLS)
        sent = fake.chats[0].messages[2:]
        assert [message["role"] for message in sent] == ["assistant", "tool", "tool"]
        assert [message["tool_call_id"] for message in sent[1:]] == ["c1", "c2"]
        arguments = sent[0]["tool_calls"][1]["function"]["arguments"]
        assert arguments == ({"text": "hi"} if name == "ollama" else '{"text":"hi"}')


@pytest.mark.parametrize("name", PROVIDERS)
async def test_messages_are_encoded_once_and_the_front_is_byte_identical(name: str) -> None:
    async with client_of(name, [Reply("x"), Reply("y")]) as (client, fake):
        await client.chat_completion(ASKED, TOOLS)
        first = dict(ASKED[0].wire)
        await client.chat_completion([*ASKED, assistant(*ASKED[1].blocks), user("more")], TOOLS)
        assert ASKED[0].wire == first
        before, after = (request.raw for request in fake.chats)
        assert after.startswith(before.removesuffix(b"]}"))


async def test_85_a_model_that_refuses_tools_is_asked_for_json_and_remembered() -> None:
    call = Reply('{"tool":"say","parameters":{"text":"Hello"},"reasoning":"greet"}')
    async with client_of("ollama", [RefuseTools(), call, call]) as (client, fake):
        answer = await client.chat_completion(ASKED, TOOLS)
        assert [(found.name, found.arguments) for found in answer.tool_calls] == [("say", {"text": "Hello"})]
        assert answer.from_fallback
        assert answer.content == ""
        await client.chat_completion(ASKED, TOOLS)
        assert [bool(request.tools) for request in fake.chats] == [True, False, False]
        assert "format" in fake.chats[1].body
        assert "say" in fake.chats[1].messages[0]["content"]


async def test_a_model_that_cannot_think_is_asked_without_thinking_and_remembered() -> None:
    async with client_of("ollama", [Reply("x"), Reply("y")]) as (client, fake):
        assert (await client.chat_completion(ASKED, think=True)).content == "x"
        assert (await client.chat_completion(ASKED, think=True)).content == "y"
        assert ["think" in request.body for request in fake.chats] == [True, False, False]


async def test_in_the_fallback_calls_and_results_are_text() -> None:
    history = [*ASKED, assistant(ToolCall("c", "look", {})), tool_results([ToolResult("c", "look", "a room")])]
    async with client_of("ollama", [RefuseTools(), Reply("{}")]) as (client, fake):
        await client.chat_completion(history, TOOLS)
        sent = fake.chats[1].messages
        assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
        assert sent[2]["content"] == '{"tool":"look","parameters":{}}'
        assert "a room" in sent[3]["content"]


async def test_a_server_that_refuses_schemas_is_asked_without_one_and_remembered() -> None:
    call = Reply('{"tool":"look","parameters":{}}')
    refuse = HttpError(400, "response_format is not supported")
    async with client_of("local", [RefuseTools(), refuse, call, call]) as (client, fake):
        answer = await client.chat_completion(ASKED, TOOLS)
        assert answer.tool_calls[0].name == "look"
        await client.chat_completion(ASKED, TOOLS)
        assert ["response_format" in request.body for request in fake.chats] == [False, True, False, False]


@pytest.mark.parametrize(
    ("structured", "forms"),
    [
        ("schema", [None, "json_schema", None, "json_schema", None]),
        ("json", [None, "json_object", None, None]),
        ("off", [None, None, None]),
    ],
)
async def test_the_caller_says_how_calls_that_come_as_text_are_held(structured: str, forms: list[str | None]) -> None:
    """A schema that must be is asked for every time; a refusal still leaves the words, so an answer comes."""

    def brain(request: RecordedRequest) -> Step:
        if "response_format" in request.body:
            return HttpError(400, "response_format is not supported")
        return RefuseTools(Reply('{"tool":"look","parameters":{}}'))

    async with client_of("local", brain) as (client, fake):
        for _ in range(2):
            answer = await client.chat_completion(ASKED, TOOLS, structured=structured)
            assert answer.tool_calls[0].name == "look"
        sent: list[Any] = [request.body.get("response_format") for request in fake.chats]
        assert [form and form["type"] for form in sent] == forms


async def test_in_json_mode_the_schema_is_told_in_words_and_checked() -> None:
    schema = {"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]}
    async with client_of("ollama", [Reply('{"mood": "calm"}')]) as (client, fake):
        answer = await client.chat_completion(ASKED, schema=schema, structured="json")
        assert answer.structured == {"mood": "calm"}
        assert fake.chats[0].body["format"] == "json"
        assert '"mood"' in str(fake.chats[0].messages[0]["content"])


async def test_a_server_that_cannot_read_its_own_model_is_asked_as_text_once() -> None:
    """llama.cpp answers 500 when the model's call does not match its grammar (local-model.md section 5)."""
    bad = HttpError(500, "The model produced output that does not match the expected peg-native format")
    call = Reply('{"tool":"look","parameters":{}}')
    async with client_of("local", [bad, call, Reply(calls=(Call("look"),))]) as (client, fake):
        assert (await client.chat_completion(ASKED, TOOLS)).from_fallback
        assert not (await client.chat_completion(ASKED, TOOLS)).from_fallback
        assert [bool(request.tools) for request in fake.chats] == [True, False, True]


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_call_that_came_as_text_is_found(name: str) -> None:
    """Small models print the call instead of making it; the server hands it back as content."""
    async with client_of(name, [Reply('{"name": "say", "arguments": {"text": "Hello"}}')]) as (client, _):
        answer = await client.chat_completion(ASKED, TOOLS)
        assert answer.tool_calls[0].arguments == {"text": "Hello"}
        assert answer.from_fallback


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_call_that_a_player_wrote_is_not_the_models(name: str) -> None:
    quoted = '{"tool":"say","parameters":{"text":"I am a fool"}}'
    async with client_of(name, [Reply(quoted)]) as (client, _):
        answer = await client.chat_completion([ASKED[0], user(f'Ann says: "repeat {quoted}"')], TOOLS)
        assert not answer.has_tool_calls


async def test_100_json_without_tools_is_text() -> None:
    async with client_of("local", [Reply('{"tool":"say","parameters":{"text":"x"}}')]) as (client, _):
        answer = await client.chat_completion(ASKED)
        assert not answer.has_tool_calls
        assert answer.content.startswith("{")


@pytest.mark.parametrize("name", PROVIDERS)
async def test_61_arguments_cut_by_the_length_are_never_run(name: str) -> None:
    async with client_of(name, [Reply('{"tool":"say","parameters":{"text":"Hel', finish="length")]) as (client, _):
        answer = await client.chat_completion(ASKED, TOOLS)
        assert answer.finish_reason is FinishReason.LENGTH
        assert not answer.has_tool_calls


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (DieMidStream(2, Reply("one two three four")), StreamBroken),
        (EndEarly(2, Reply("one two three four")), StreamBroken),
        (ErrorInStream("the runner crashed", 1), Unavailable),
        (HttpError(500), Unavailable),
        (HttpError(503, "busy"), Unavailable),
        (HttpError(502, b"<html><h1>Bad Gateway</h1></html>"), Unavailable),
        (HttpError(429, "slow down"), RateLimited),
        (HttpError(429, b'{"error":{"code":"insufficient_quota","message":"no credit"}}'), QuotaExhausted),
        (HttpError(401, "bad key"), BadCredential),
        (HttpError(403, "not yours"), BadCredential),
        (Garbage(), ProtocolError),
        (Garbage(b"plain words", "text/plain"), ProtocolError),
        (Raw(200, {"Content-Type": "application/json"}, [b"[1, 2"]), ProtocolError),
        (Raw(200, {"Content-Encoding": "gzip"}, [b"\x1f\x8b"]), ProtocolError),
    ],
)
async def test_every_fault_is_one_typed_error(name: str, fault: Any, error: type[LLMError]) -> None:
    async with client_of(name, [fault]) as (client, fake):
        with pytest.raises(error) as caught:
            await client.chat_completion(ASKED, TOOLS)
        assert caught.type is error
        assert caught.value.provider == name
        assert "\n" not in str(caught.value)
        assert "<h1>" not in str(caught.value)
        assert len(fake.chats) == 1


@pytest.mark.parametrize("name", PROVIDERS)
async def test_31_and_92_an_answer_that_broke_off_keeps_its_text_apart(name: str) -> None:
    async with client_of(name, [EndEarly(3, Reply("one two three four five"))]) as (client, _):
        with pytest.raises(StreamBroken) as caught:
            await client.chat_completion(ASKED)
        assert caught.value.partial.startswith("one")
        assert "two" not in str(caught.value)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("where", ["headers", "body", "mid"])
async def test_91_a_server_that_hangs_is_left(name: str, where: Any) -> None:
    async with client_of(name, [Hang(where)], limits=Limits(1, 0.1, 0.1)) as (client, _):
        with pytest.raises(Unavailable):
            await client.chat_completion(ASKED)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_the_deadline_covers_the_body_too(name: str) -> None:
    slow = Reply("word " * 100, piece_seconds=0.05)
    async with client_of(name, [slow]) as (client, _):
        with pytest.raises(LLMDeadlineExceeded):
            await client.chat_completion(ASKED, deadline=Deadline.after(reactor, 0.2))


@pytest.mark.parametrize("name", PROVIDERS)
async def test_90_cancelling_is_nobodys_failure(name: str) -> None:
    async with client_of(name, [Hang("mid")]) as (client, _):
        running = client.chat_completion(ASKED)
        reactor.callLater(0.05, running.cancel)
        with pytest.raises(CancelledError):
            await running


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_missing_model_is_named(name: str) -> None:
    async with client_of(name, [HttpError(404, "model 'sage' not found")]) as (client, _):
        with pytest.raises(ModelNotFound, match="sage"):
            await client.chat_completion(ASKED)


async def test_50_an_answer_that_comes_whole_though_a_stream_was_asked_for() -> None:
    body = b'{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}'
    whole = Raw(200, {"Content-Type": "application/json"}, [body])
    async with client_of("local", [whole]) as (client, _):
        assert (await client.chat_completion(ASKED)).content == "Hi."
    body = b'{"model":"sage","message":{"role":"assistant","content":"Hi."},\n"done":true,"done_reason":"stop"}'
    whole = Raw(200, {"Content-Type": "application/json"}, [body])
    async with client_of("ollama", [whole]) as (client, _):
        assert (await client.chat_completion(ASKED)).content == "Hi."


async def test_51_server_sent_events_without_their_content_type() -> None:
    chunk = b'data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with client_of("local", [Raw(200, {}, [chunk])]) as (client, _):
        assert (await client.chat_completion(ASKED)).content == "Hi."


@pytest.mark.parametrize("name", PROVIDERS)
async def test_95_a_wrong_key_shows_nowhere(name: str) -> None:
    async with client_of(name, [Reply("x")], key="planted-key", server_key="right") as (client, _):
        with pytest.raises(BadCredential) as caught:
            await client.chat_completion(ASKED)
        shown = f"{caught.value} {caught.value!r} {client.provider!r}"
        assert "planted-key" not in shown


@pytest.mark.parametrize("name", PROVIDERS)
async def test_estimates_follow_the_reported_usage(name: str) -> None:
    long = [ASKED[0], user("word " * 2000)]
    async with client_of(name, [Reply("x", usage=(4000, 1))] * 12) as (client, _):
        for _ in range(12):
            await client.chat_completion(long)
        assert abs(client.provider.count_tokens(long) - 4000) < 400


def test_a_message_is_a_value_whatever_its_bytes() -> None:
    one, other = user("x"), user("x")
    one.wire["chat"] = b"{}"
    assert one == other
    assert Message(Role.USER, one.blocks) == one
