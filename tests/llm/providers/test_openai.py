"""OpenAI: what newer models refuse is learned from the 400, resent once, and remembered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from mud_assistant.llm import (
    Capabilities,
    ContextOverflow,
    RateLimited,
    Rejected,
    ToolSpec,
    Unavailable,
    UnifiedLLMClient,
    get_provider,
    user,
)
from mud_assistant.llm.providers.openai import OpenAIProvider
from mud_assistant.llm.response import Prices
from mud_assistant.llm.testing import (
    Call,
    ErrorInStream,
    FakeChat,
    HttpError,
    Raw,
    RecordedRequest,
    Reply,
    Script,
    Step,
    serve,
)
from mud_assistant.resilience import HttpExchange, Limits
from tests.llm.test_client import ONCE

reactor: Any = _reactor
LOOK = ToolSpec("look", "Look round.", {"type": "object", "properties": {}})
OK = Reply("fine", usage=(1000, 500))


@asynccontextmanager
async def client_of(script: Script, name: str = "openai", **more: Any) -> AsyncIterator[tuple[Any, FakeChat]]:
    fake = FakeChat(reactor, script)
    exchange = HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        provider = get_provider(name, f"{url}/v1", "m")
        try:
            yield UnifiedLLMClient(provider, exchange, reactor, capabilities=Capabilities(), retry=ONCE, **more), fake
        finally:
            await exchange.close()


def refusal(message: str, param: str | None = None) -> HttpError:
    said = {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}
    return HttpError(400, orjson.dumps({"error": said}))


def newer_model(request: RecordedRequest) -> Step:
    """A model with every refusal of the newer ones."""
    body = request.body
    if "max_tokens" in body:
        return refusal(
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'.", "max_tokens"
        )
    if "temperature" in body:
        return refusal("Unsupported value: 'temperature' does not support 0.5 with this model.", "temperature")
    if "seed" in body:
        return refusal("Unsupported parameter: 'seed'.")
    if body.get("tools") and body.get("reasoning_effort") != "none":
        said = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions."
        return refusal(f"{said} Please use /v1/responses instead.", "reasoning_effort")
    return OK


def test_its_place_and_its_headers() -> None:
    provider = OpenAIProvider(model="m", key="k", organization="org", project="proj")
    assert provider.get_api_url() == "https://api.openai.com/v1/chat/completions"
    headers = provider.build_headers()
    assert headers.getRawHeaders("OpenAI-Organization") == ["org"]
    assert headers.getRawHeaders("OpenAI-Project") == ["proj"]
    assert headers.getRawHeaders("Authorization") == ["Bearer k"]
    assert not OpenAIProvider().build_headers().hasHeader("OpenAI-Project")


async def test_the_limit_goes_by_its_new_name() -> None:
    async with client_of([OK]) as (client, fake):
        await client.chat_completion([user("x")], max_tokens=7)
        assert fake.chats[0].body["max_completion_tokens"] == 7
        assert "max_tokens" not in fake.chats[0].body


async def test_83_and_84_each_refusal_costs_one_request_and_is_remembered() -> None:
    options = {"temperature": 0.5, "seed": 3, "max_tokens": 7}
    async with client_of(newer_model, "local") as (client, fake):
        answer = await client.chat_completion([user("x")], [LOOK], **options)
        assert answer.content == "fine"
        assert len(fake.chats) == 5
        await client.chat_completion([user("x")], [LOOK], **options)
        assert len(fake.chats) == 6
        sent = fake.chats[-1].body
        assert sent["max_completion_tokens"] == 7
        assert sent["reasoning_effort"] == "none"
        assert not {"temperature", "seed", "max_tokens"} & set(sent)
        await client.chat_completion([user("x")])
        assert "reasoning_effort" not in fake.chats[-1].body
        assert len(client.record.overrides) == 4


async def test_84_an_older_server_wants_the_old_name() -> None:
    script: list[Step] = [refusal("Unrecognized request argument supplied: max_completion_tokens"), OK]
    async with client_of(script) as (client, fake):
        await client.chat_completion([user("x")], max_tokens=7)
        assert fake.chats[1].body["max_tokens"] == 7


async def test_a_server_that_refuses_both_names_is_asked_twice_only() -> None:
    both: list[Step] = [
        refusal("Unsupported parameter: 'max_completion_tokens'"),
        refusal("Unsupported parameter: 'max_tokens'"),
    ]
    async with client_of([*both, OK]) as (client, fake):
        with pytest.raises(Rejected):
            await client.chat_completion([user("x")], max_tokens=7)
        assert len(fake.chats) == 2


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("max_tokens is too large: 100000. This model supports at most 4096 completion tokens", "max_tokens"),
        ("Invalid type for 'messages[0]'", "messages"),
        ("Unsupported parameter: 'model'", "model"),
        ("temperature is not supported", "temperature"),
    ],
)
async def test_a_refusal_that_teaches_nothing_or_the_same_again_is_told(message: str, param: str) -> None:
    async with client_of(lambda _request: refusal(message, param)) as (client, fake):
        with pytest.raises(Rejected) as caught:
            await client.chat_completion([user("x")], max_tokens=7, temperature=0.5)
        assert caught.value.parameter == param
        assert len(fake.chats) <= 2


async def test_82_a_context_length_is_remembered() -> None:
    script = [refusal("This model's maximum context length is 8192 tokens.")]
    async with client_of(script) as (client, _):
        with pytest.raises(ContextOverflow):
            await client.chat_completion([user("x")])
        assert client.record.context_tokens == 8192


async def test_39_a_call_the_server_could_not_read_is_read_here() -> None:
    written = '{"name": "look", "arguments": {}}'
    said = {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": written}
    async with client_of([HttpError(400, orjson.dumps({"error": said}))]) as (client, fake):
        answer = await client.chat_completion([user("x")], [LOOK])
        assert [call.name for call in answer.tool_calls] == ["look"]
        assert answer.from_fallback
        assert len(fake.chats) == 1


async def test_a_limit_tells_when_and_whether_to_come_back() -> None:
    headers = {"Retry-After": "7", "x-should-retry": "false"}
    async with client_of([HttpError(429, "slow down", headers)]) as (client, _):
        before = reactor.seconds()
        with pytest.raises(RateLimited) as caught:
            await client.chat_completion([user("x")])
        assert caught.value.retry_at == pytest.approx(before + 7, abs=2)
        assert caught.value.should_retry is False


async def test_usage_costs_what_configured_prices_say() -> None:
    async with client_of([OK], prices=Prices(2.0, 8.0)) as (client, _):
        answer = await client.chat_completion([user("x")])
        assert answer.usage.cost == pytest.approx(0.006)


async def test_calls_are_native() -> None:
    async with client_of([Reply(calls=(Call("look"),))]) as (client, _):
        answer = await client.chat_completion([user("x")], [LOOK])
        assert answer.has_tool_calls
        assert not answer.from_fallback


async def test_not_to_think_is_an_effort_of_none_until_it_is_refused() -> None:
    script: list[Step] = [refusal("Unrecognized request argument supplied: reasoning_effort"), OK]
    async with client_of(script) as (client, fake):
        await client.chat_completion([user("x")], think=False)
        assert fake.chats[0].body["reasoning_effort"] == "none"
        assert "reasoning_effort" not in fake.chats[1].body


async def test_35_what_came_before_an_error_in_the_stream_is_kept_apart() -> None:
    async with client_of([ErrorInStream(after=3, reply=Reply("one two three four"))]) as (client, _):
        with pytest.raises(Unavailable) as caught:
            await client.chat_completion([user("x")])
        assert caught.value.partial.startswith("one")


async def test_78_a_wish_on_an_error_inside_a_200_is_not_heeded() -> None:
    body = b'{"error":{"message":"slow","code":429}}'
    async with client_of([Raw(200, {"Retry-After": "7", "Content-Type": "application/json"}, [body])]) as (client, _):
        with pytest.raises(RateLimited) as caught:
            await client.chat_completion([user("x")])
        assert caught.value.retry_at is None


async def test_limits_come_with_a_good_answer() -> None:
    body = orjson.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})
    headers = {"Content-Type": "application/json", "x-ratelimit-remaining-requests": "0", "Retry-After": "7"}
    async with client_of([Raw(200, headers, [body])]) as (client, _):
        answer = await client.chat_completion([user("x")])
        assert answer.rate_limit_info is not None
        assert answer.rate_limit_info.remaining_requests == 0
