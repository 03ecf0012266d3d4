"""The client and the Responses API over loopback, and how a client of Chat Completions gets there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from twisted.internet.threads import deferToThread
from twisted.logger import capturedLogs

from mud_assistant.llm import (
    Capabilities,
    Citation,
    FinishReason,
    LLMProvider,
    RateLimited,
    Reasoning,
    ServerToolCall,
    Text,
    ToolResult,
    ToolSpec,
    Unavailable,
    UnifiedLLMClient,
    UnreadableReasoning,
    get_provider,
    system,
    tool_results,
    user,
)
from mud_assistant.llm.providers.openai import OpenAIProvider
from mud_assistant.llm.providers.responses.provider import ResponsesProvider
from mud_assistant.llm.testing import (
    Call,
    EndEarly,
    ErrorInStream,
    FakeChat,
    FakeResponses,
    HttpError,
    RecordedRequest,
    Reply,
    ResponsesReply,
    Script,
    Step,
    serve,
)
from mud_assistant.resilience import HttpExchange, Limits
from tests.llm.test_client import ONCE, reactor

NAME = "openai-responses"
LOOK = ToolSpec("look", "Look round.", {"type": "object", "properties": {}})
ASKED = [system("You are Sage."), user("Look!")]
LOOKS = Reply(reasoning="Hm.", calls=(Call("look", {"at": "well"}),))
DEEP = Reply("It is deep.")


@asynccontextmanager
async def server_of(script: Script, **more: Any) -> AsyncIterator[tuple[str, FakeResponses, HttpExchange]]:
    fake, exchange = FakeResponses(reactor, script, "k", **more), HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        try:
            yield f"{url}/v1", fake, exchange
        finally:
            await exchange.close()


def client(provider: LLMProvider, exchange: HttpExchange, known: Capabilities | None = None) -> UnifiedLLMClient:
    return UnifiedLLMClient(provider, exchange, reactor, capabilities=known or Capabilities(), retry=ONCE)


def provider_at(url: str, name: str = NAME) -> LLMProvider:
    return get_provider(name, url, "sage", key="k")


@pytest.mark.parametrize("late", [False, True])
async def test_a_turn_with_a_call_and_its_result(late: bool) -> None:
    async with server_of([LOOKS, DEEP], late_arguments=late) as (url, fake, exchange):
        asking = client(provider_at(url), exchange)
        first = await asking.chat_completion(ASKED, [LOOK], max_tokens=100)
        [call] = first.tool_calls
        assert (call.name, call.arguments, first.reasoning) == ("look", {"at": "well"}, "Hm.")
        assert first.finish_reason is FinishReason.TOOL_CALLS
        result = tool_results([ToolResult(call.id, "look", "a well")])
        second = await asking.chat_completion([*ASKED, first.message, result], [LOOK])
        assert (second.content, second.provider) == ("It is deep.", NAME)
        sent: Any = fake.chats[1].body["input"]
        assert [item.get("type", item.get("role")) for item in sent] == [
            *("user", "reasoning", "function_call", "function_call_output"),
        ]
        assert sent[1]["encrypted_content"] == "sealed:1"
        assert not any("id" in item for item in sent)


async def test_a_web_search_with_its_sources_is_told_and_goes_back() -> None:
    searched = ResponsesReply("Rain.", searches=("weather",), sources=(("Weather", "https://w.example"),))
    async with server_of([searched, DEEP]) as (url, fake, exchange):
        asking = client(provider_at(url), exchange)
        tools = (ResponsesProvider.server_tools["web_search"],)
        first = await asking.chat_completion(ASKED, server_tools=tools)
        assert isinstance(first.message.blocks[0], ServerToolCall)
        assert first.message.blocks[-2:] == (Text("Rain."), Citation("Rain.", "https://w.example", "Weather"))
        await asking.chat_completion([*ASKED, first.message, user("And now?")], server_tools=tools)
        sent: Any = fake.chats[1].body["input"]
        assert [item.get("type") for item in sent] == [None, "web_search_call", "message", None]


async def test_193_reasoning_that_cannot_be_opened_is_dropped_and_asked_once_more() -> None:
    async with server_of([LOOKS, DEEP, DEEP]) as (url, fake, exchange):
        asking = client(provider_at(url), exchange)
        first = await asking.chat_completion(ASKED, [LOOK])
        result = tool_results([ToolResult(first.tool_calls[0].id, "look", "a well")])
        fake.seal = "another"  # as after a change of the key, the organization or the model
        answer = await asking.chat_completion([*ASKED, first.message, result], [LOOK])
        assert answer.content == "It is deep."
        kinds = [[item.get("type") for item in chat.body["input"]] for chat in fake.chats]
        assert kinds[1:] == [
            [None, "reasoning", "function_call", "function_call_output"],
            [None, "function_call", "function_call_output"],
        ]


async def test_a_server_that_goes_on_refusing_is_asked_twice_only() -> None:
    said = {"error": {"message": "The encrypted content gAAA could not be verified.", "code": None}}
    async with server_of([HttpError(400, orjson.dumps(said))] * 3) as (url, fake, exchange):
        with pytest.raises(UnreadableReasoning):
            await client(provider_at(url), exchange).chat_completion(ASKED)
        assert len(fake.chats) == 2


async def test_commentary_is_kept_apart_and_goes_back_with_its_phase() -> None:
    reply = ResponsesReply("It is deep.", commentary="Let me look.")
    async with server_of([reply, DEEP]) as (url, fake, exchange):
        asking = client(provider_at(url), exchange)
        first = await asking.chat_completion(ASKED)
        assert (first.content, first.message.blocks[0]) == ("It is deep.", Reasoning("Let me look."))
        await asking.chat_completion([*ASKED, first.message, user("And now?")])
        sent: Any = fake.chats[1].body["input"]
        assert [item.get("phase") for item in sent] == [None, "commentary", "final_answer", None]


async def test_a_refusal_a_cut_answer_and_a_failure() -> None:
    script: list[Step] = [ResponsesReply(refusal="I will not."), Reply("It is", finish="length")]
    failing: list[Step] = [Reply("x", finish="failed"), ErrorInStream(), EndEarly()]
    async with server_of([*script, *failing]) as (url, _, exchange):
        asking = client(provider_at(url), exchange)
        refused = await asking.chat_completion(ASKED)
        assert (refused.content, refused.finish_reason) == ("I will not.", FinishReason.FILTERED)
        assert (await asking.chat_completion(ASKED)).finish_reason is FinishReason.LENGTH
        for _ in failing:
            with pytest.raises(Unavailable):
                await asking.chat_completion(ASKED)


async def test_a_field_that_the_model_refuses_is_left_out_and_remembered() -> None:
    def older(request: RecordedRequest) -> Step:
        if "include" in request.body:
            said = {"message": "Encrypted content is not supported with this model.", "param": "include"}
            return HttpError(400, orjson.dumps({"error": said}))
        return DEEP

    async with server_of(older) as (url, fake, exchange):
        asking = client(provider_at(url), exchange)
        for _ in range(2):
            assert (await asking.chat_completion(ASKED)).content == "It is deep."
        assert len(fake.chats) == 3


def moved(logs: Sequence[Any]) -> list[Any]:
    return [entry for entry in logs if entry.get("log_event") == "moved"]


async def test_194_a_model_that_refuses_tools_on_chat_is_asked_by_responses_from_then_on_by_every_client() -> None:
    known = Capabilities()
    async with server_of(lambda _: LOOKS, tools_here_only=True) as (url, fake, exchange):
        first = OpenAIProvider(url, "sage", "k", organization="org")
        asking = client(first, exchange, known)
        with capturedLogs() as logs:
            answer = await asking.chat_completion(ASKED, [LOOK], max_tokens=100)
            other = client(provider_at(url, "openai"), exchange, known)
            await other.chat_completion(ASKED, [LOOK])
            await asking.chat_completion(ASKED, [LOOK])
        assert len(moved(logs)) == 1
        assert answer.tool_calls[0].name == "look"
        paths = ["/v1/chat/completions", *["/v1/responses"] * 3]
        assert [chat.path for chat in fake.chats] == paths
        assert {chat.authorization for chat in fake.chats} == {"Bearer k"}
        assert fake.chats[1].headers["openai-organization"] == "org"
        assert fake.chats[1].body["max_output_tokens"] == 100 + 2048
        assert asking.provider.counted_as == "openai"
        assert asking.provider.credential == first.credential
        assert asking.provider.tokens is first.tokens


async def test_a_server_without_the_other_api_is_asked_as_before() -> None:
    def newer(request: RecordedRequest) -> Step:
        if request.tools and request.body.get("reasoning_effort") != "none":
            said = "Function tools with reasoning_effort are not supported for m. Please use /v1/responses instead."
            return HttpError(400, orjson.dumps({"error": {"message": said, "param": "reasoning_effort"}}))
        return DEEP

    fake, exchange, known = FakeChat(reactor, newer), HttpExchange(reactor, Limits(2, 5, 5)), Capabilities()
    async with serve(fake, reactor) as url:
        for _ in range(2):
            asking = client(get_provider("openai", f"{url}/v1", "m", key="k"), exchange, known)
            for _ in range(2):
                assert (await asking.chat_completion(ASKED, [LOOK])).content == "It is deep."
        await exchange.close()
    assert [request.path for request in fake.requests].count("/v1/responses") == 1
    assert len(fake.chats) == 6  # refused twice, then four answers


@pytest.mark.parametrize("name", ["local", "openai", "openrouter"])
async def test_a_model_that_chat_does_not_have_is_asked_by_responses(name: str) -> None:
    said = "This model is only supported in v1/responses and not in v1/chat/completions."

    def elsewhere(request: RecordedRequest) -> Step:
        return DEEP if request.path.endswith("/responses") else HttpError(404, said)

    async with server_of(elsewhere) as (url, fake, exchange):
        asking = client(provider_at(url, name), exchange)
        assert (await asking.chat_completion(ASKED)).content == "It is deep."
        assert len(fake.chats) == 2


async def test_a_provider_that_was_chosen_by_name_stays() -> None:
    async with server_of([HttpError(404, "Please use /v1/chat/completions."), DEEP]) as (url, fake, exchange):
        asking = client(provider_at(url), exchange)
        with pytest.raises(Exception, match="Please use"):
            await asking.chat_completion(ASKED)
        assert asking.provider.name == NAME
        assert {chat.path for chat in fake.chats} == {"/v1/responses"}


async def test_a_new_key_is_used_after_the_move() -> None:
    async with server_of(lambda _: LOOKS, tools_here_only=True) as (url, fake, exchange):
        asking = client(provider_at(url, "openai"), exchange)
        await asking.chat_completion(ASKED, [LOOK])
        assert asking.provider.give_key("k2")
        fake._key = "k2"
        await asking.chat_completion(ASKED, [LOOK])
        assert fake.chats[-1].authorization == "Bearer k2"


async def test_a_rate_limit_tells_when_to_come_back() -> None:
    async with server_of([HttpError(429, "Slow down.", {"Retry-After": "7"})]) as (url, _, exchange):
        with pytest.raises(RateLimited) as caught:
            await client(provider_at(url), exchange).chat_completion(ASKED)
        assert caught.value.retry_at is not None


@pytest.mark.parametrize("streams", [True, False])
async def test_the_official_client_reads_the_fake_as_we_do(streams: bool) -> None:
    import openai  # noqa: PLC0415  (slow to import)

    reply = ResponsesReply("It is deep.", reasoning="Hm.", calls=LOOKS.calls, commentary="Let me look.", chunk_size=3)

    def ask(url: str) -> Any:
        with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as official:
            if not streams:
                return official.responses.create(model="sage", input="Look!")
            with official.responses.stream(model="sage", input="Look!") as stream:
                return stream.get_final_response()

    async with server_of([reply, reply]) as (url, _, exchange):
        theirs = await deferToThread(ask, url)
        ours = await client(provider_at(url), exchange).chat_completion(ASKED, [LOOK])
    assert theirs.output_text == "Let me look." + ours.content
    [call] = [item for item in theirs.output if item.type == "function_call"]
    assert orjson.loads(call.arguments) == ours.tool_calls[0].arguments
    assert [item.type for item in theirs.output] == [item["type"] for item in ours.message.raw_of(NAME)]
