"""The fake Anthropic server passes for a real one with the official client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anthropic
import pytest
from anthropic import Anthropic
from twisted.internet.threads import deferToThread

from mud_assistant.llm.testing import (
    AnthropicReply,
    Call,
    DieMidStream,
    ErrorInStream,
    FakeAnthropic,
    HttpError,
    Reply,
    Search,
    serve,
    simple_sage,
)

T = TypeVar("T")
TOOL = {
    "name": "say",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
TWO_CALLS = Reply(calls=(Call("say", {"text": "a b c"}, "toolu_x"), Call("say", {})), usage=(12, 34))
SEARCHED = AnthropicReply(
    "By the mill.",
    reasoning="I must look.",
    searches=(Search("well", (("Wells", "https://wells.example"),)),),
    sources=(("Wells", "https://wells.example"),),
)


async def ask(fake: FakeAnthropic, question: Callable[[Anthropic], T], key: str = "planted") -> T:
    """What the official client, in a thread, gets from the fake."""

    def run(url: str) -> T:
        http = anthropic.DefaultHttpxClient(trust_env=False)
        with Anthropic(base_url=url, api_key=key, max_retries=0, http_client=http) as client:
            return question(client)

    async with serve(fake, fake.clock) as url:
        return await deferToThread(run, url)


def asked(options: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "user", "content": "Where is the well?"}
    return {"model": "sage", "max_tokens": 100, "messages": [message], **options}


def message(**options: Any) -> Callable[[Anthropic], Any]:
    return lambda client: client.messages.create(**asked(options))


def streamed(**options: Any) -> Callable[[Anthropic], tuple[list[str], Any]]:
    def question(client: Anthropic) -> tuple[list[str], Any]:
        with client.messages.stream(**asked(options)) as stream:
            return [event.type for event in stream], stream.get_final_message()

    return question


async def test_models(reactor: Any) -> None:
    assert [model.id for model in await ask(FakeAnthropic(reactor, []), lambda one: list(one.models.list()))] == [
        "sage"
    ]


async def test_a_message(reactor: Any) -> None:
    answer = await ask(FakeAnthropic(reactor, [Reply("By the mill.", usage=(12, 34))], "planted"), message())
    assert [(block.type, block.text) for block in answer.content] == [("text", "By the mill.")]
    assert (answer.stop_reason, answer.model) == ("end_turn", "sage")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 34)


async def test_a_stream(reactor: Any) -> None:
    events, answer = await ask(FakeAnthropic(reactor, [Reply("By the mill.", usage=(12, 34))]), streamed())
    assert events.count("text") == 3
    assert answer.content[0].text == "By the mill."
    assert (answer.stop_reason, answer.usage.input_tokens, answer.usage.output_tokens) == ("end_turn", 12, 34)


@pytest.mark.parametrize("how", ["whole", "stream"])
async def test_tools(reactor: Any, how: str) -> None:
    fake = FakeAnthropic(reactor, [TWO_CALLS])
    answer = await ask(fake, message(tools=[TOOL])) if how == "whole" else (await ask(fake, streamed(tools=[TOOL])))[1]
    assert answer.stop_reason == "tool_use"
    assert [(block.id, block.name, block.input) for block in answer.content] == [
        ("toolu_x", "say", {"text": "a b c"}),
        ("toolu_1_1", "say", {}),
    ]


@pytest.mark.parametrize("how", ["whole", "stream"])
async def test_thinking_server_tools_and_sources(reactor: Any, how: str) -> None:
    fake = FakeAnthropic(reactor, [SEARCHED])
    options: dict[str, Any] = {"tools": [SEARCH]}
    answer = await ask(fake, message(**options)) if how == "whole" else (await ask(fake, streamed(**options)))[1]
    thought, call, result, text = answer.content
    assert (thought.type, thought.thinking, thought.signature) == ("thinking", "I must look.", "c2VhbGVk")
    assert (call.type, call.name, call.input) == ("server_tool_use", "web_search", {"query": "well"})
    assert (result.tool_use_id, result.content[0].url) == (call.id, "https://wells.example")
    assert (text.text, text.citations[0].title) == ("By the mill.", "Wells")
    assert answer.usage.server_tool_use.web_search_requests == 1


async def test_a_pause(reactor: Any) -> None:
    paused = AnthropicReply(searches=(Search("well", answered=False),), finish="pause_turn")
    resumed = AnthropicReply("Found.", resumes="srvtoolu_1_0")
    fake = FakeAnthropic(reactor, [paused, resumed])

    def question(client: Anthropic) -> tuple[Any, Any]:
        first = client.messages.create(**asked({"tools": [SEARCH]}))
        turn = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]}
        rest = asked({"tools": [SEARCH]})
        return first, client.messages.create(**{**rest, "messages": [*rest["messages"], turn]})

    first, second = await ask(fake, question)
    assert (first.stop_reason, second.stop_reason) == ("pause_turn", "end_turn")
    assert second.content[0].tool_use_id == first.content[0].id


async def test_a_wrong_key(reactor: Any) -> None:
    with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
        await ask(FakeAnthropic(reactor, [], "planted"), message(), key="other")


async def test_a_rate_limit(reactor: Any) -> None:
    fake = FakeAnthropic(reactor, [HttpError(429, "slow down", {"Retry-After": "7"})])
    with pytest.raises(anthropic.RateLimitError) as caught:
        await ask(fake, message())
    assert caught.value.response.headers["retry-after"] == "7"


async def test_an_error_in_the_stream(reactor: Any) -> None:
    with pytest.raises(anthropic.APIStatusError, match="out of memory"):
        await ask(FakeAnthropic(reactor, [ErrorInStream("out of memory", 3)]), streamed())


async def test_dying_in_mid_stream(reactor: Any) -> None:
    with pytest.raises(Exception, match=r"peer closed|incomplete|Connection"):
        await ask(FakeAnthropic(reactor, [DieMidStream(3)]), streamed())


def answers(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": one, "content": "x"} for one in ids]}


CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "say", "input": {}}]}
ASKED = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    "messages",
    [
        [ASKED, CALLED, ASKED],
        [ASKED, CALLED, answers("b")],
        [ASKED, answers("a")],
        [ASKED, CALLED, {"role": "user", "content": [{"type": "text", "text": "x"}, *answers("a")["content"]]}],
        [{"role": "user", "content": [{"type": "text", "text": ""}]}],
    ],
)
async def test_a_broken_order_of_calls_and_results_is_refused(reactor: Any, messages: list[Any]) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.\d"):
        await ask(FakeAnthropic(reactor, [Reply("x")]), message(messages=messages))


async def test_a_right_order_is_taken_and_the_sage_understands_it(reactor: Any) -> None:
    fake = FakeAnthropic(reactor, simple_sage)
    assert (await ask(fake, message(tools=[TOOL]))).content[0].input == {"text": "You asked: Where is the well?"}
    answer = await ask(fake, message(tools=[TOOL], messages=[ASKED, CALLED, answers("a")]))
    assert answer.content[0].text == "Nothing to add."


async def test_an_unknown_path_and_a_missing_field(reactor: Any) -> None:
    with pytest.raises(anthropic.NotFoundError):
        await ask(FakeAnthropic(reactor, []), lambda client: client.messages.batches.list())
    with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
        await ask(FakeAnthropic(reactor, []), message(max_tokens=0))
