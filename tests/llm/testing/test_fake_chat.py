"""The fake Chat Completions server passes for a real one with the official client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import openai
import orjson
import pytest
from openai import OpenAI
from twisted.internet.threads import deferToThread

from mud_assistant.llm.testing import Call, DieMidStream, ErrorInStream, FakeChat, HttpError, Reply, serve

T = TypeVar("T")
TOOL = {
    "type": "function",
    "function": {
        "name": "say",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}
TWO_CALLS = Reply(calls=(Call("say", {"text": "a b c"}, "call_x"), Call("say", {"text": "b"})), usage=(12, 34))
FORMAT = {"type": "json_object"}


async def ask(fake: FakeChat, question: Callable[[OpenAI], T], key: str = "planted") -> T:
    """What the official client, in a thread, gets from the fake."""

    def run(url: str) -> T:
        http = openai.DefaultHttpxClient(trust_env=False)
        with OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, http_client=http) as client:
            return question(client)

    async with serve(fake, fake.clock) as url:
        return await deferToThread(run, url)


def chat(**options: Any) -> Callable[[OpenAI], Any]:
    """One completion, of a conversation of one message unless told otherwise."""
    asked = {"model": "sage", "messages": [{"role": "user", "content": "Where is the well?"}], **options}
    return lambda client: client.chat.completions.create(**asked)


def streamed(**options: Any) -> Callable[[OpenAI], list[Any]]:
    return lambda client: list(chat(stream=True, **options)(client))


async def test_models(reactor: Any) -> None:
    fake = FakeChat(reactor, [], models=["sage", "fool"])
    assert [model.id for model in await ask(fake, lambda client: list(client.models.list()))] == ["sage", "fool"]


async def test_chat(reactor: Any) -> None:
    fake = FakeChat(reactor, [Reply("By the mill.", reasoning="Hm.", usage=(12, 34))])
    response = await ask(fake, chat())
    [choice] = response.choices
    assert (choice.message.content, choice.message.reasoning_content) == ("By the mill.", "Hm.")
    assert (choice.finish_reason, response.model) == ("stop", "sage")
    assert (response.usage.prompt_tokens, response.usage.completion_tokens, response.usage.total_tokens) == (12, 34, 46)
    assert fake.chats[0].authorization == "Bearer planted"


async def test_chat_stream(reactor: Any) -> None:
    chunks = await ask(FakeChat(reactor, [Reply("By the mill.", finish="length")]), streamed())
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "By", " the", " mill.", None]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 4 + ["length"]
    assert {chunk.usage for chunk in chunks} == {None}


async def test_chat_stream_with_usage_and_comments(reactor: Any) -> None:
    fake = FakeChat(reactor, [Reply("Yes.", usage=(12, 34))], comment="PROCESSING")
    chunks = await ask(fake, streamed(stream_options={"include_usage": True}))
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [46]
    assert chunks[-1].choices == []


async def test_chat_with_tools(reactor: Any) -> None:
    response = await ask(FakeChat(reactor, [TWO_CALLS]), chat(tools=[TOOL]))
    [choice] = response.choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    assert calls == [("call_x", "say", '{"text":"a b c"}'), ("call_1_1", "say", '{"text":"b"}')]


async def test_chat_stream_with_tools(reactor: Any) -> None:
    def question(client: OpenAI) -> Any:
        asked: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "tools": [TOOL]}
        with client.chat.completions.stream(model="sage", **asked) as stream:
            return sum(event.type == "chunk" for event in stream), stream.get_final_completion()

    chunks, completion = await ask(FakeChat(reactor, [TWO_CALLS]), question)
    assert chunks == 1 + (1 + 3) + (1 + 1) + 1
    [choice] = completion.choices
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls]
    assert calls == [("call_x", "say", '{"text":"a b c"}'), ("call_1_1", "say", '{"text":"b"}')]
    assert choice.finish_reason == "tool_calls"


async def test_arguments_that_are_no_json_are_sent_as_they_are(reactor: Any) -> None:
    cut = Reply(calls=(Call("say", '{"text":"ye', ""),), finish="length")
    [choice] = (await ask(FakeChat(reactor, [cut]), chat())).choices
    [call] = choice.message.tool_calls
    assert (call.id, call.function.arguments, choice.finish_reason) == ("", '{"text":"ye', "length")


async def test_a_format(reactor: Any) -> None:
    fake = FakeChat(reactor, [Reply('{"far": true}')])
    [choice] = (await ask(fake, chat(response_format=FORMAT))).choices
    assert orjson.loads(choice.message.content) == {"far": True}
    assert fake.chats[0].body["response_format"] == FORMAT


async def test_a_refused_format(reactor: Any) -> None:
    fake = FakeChat(reactor, [Reply("fine")], formats=False)
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(fake, chat(response_format=FORMAT))
    assert caught.value.param == "response_format"
    assert fake.remaining == 1


async def test_a_wrong_key(reactor: Any) -> None:
    with pytest.raises(openai.AuthenticationError) as caught:
        await ask(FakeChat(reactor, [], "planted"), chat(), key="other")
    assert (caught.value.code, caught.value.type) == ("invalid_api_key", "invalid_request_error")


async def test_an_unknown_model(reactor: Any) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await ask(FakeChat(reactor, [], models=["fool"]), chat())
    assert caught.value.code == "model_not_found"
    assert "`sage` does not exist" in caught.value.message


async def test_a_rate_limit(reactor: Any) -> None:
    fake = FakeChat(reactor, [HttpError(429, "slow down", {"Retry-After": "7"})])
    with pytest.raises(openai.RateLimitError) as caught:
        await ask(fake, chat())
    assert caught.value.response.headers["retry-after"] == "7"


async def test_an_error_in_the_stream(reactor: Any) -> None:
    with pytest.raises(openai.APIError, match="out of memory"):
        await ask(FakeChat(reactor, [ErrorInStream("out of memory")]), streamed())


async def test_dying_in_mid_stream(reactor: Any) -> None:
    with pytest.raises(openai.APIConnectionError):
        await ask(FakeChat(reactor, [DieMidStream()]), streamed())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"!", "We could not parse the JSON body of your request."),
        (b'{"model":"sage"}', "Missing required parameter: 'messages'."),
        (b'{"messages":[{"role":"user"}]}', "Missing required parameter: 'model'."),
    ],
)
async def test_a_bad_body(reactor: Any, body: bytes, said: str) -> None:
    def question(client: OpenAI) -> Any:
        return client.post("/chat/completions", cast_to=object, content=body)

    with pytest.raises(openai.BadRequestError) as caught:
        await ask(FakeChat(reactor, []), question)
    assert said in caught.value.message


async def test_an_unknown_path(reactor: Any) -> None:
    with pytest.raises(openai.NotFoundError, match=r"Invalid URL \(GET /v1/files\)"):
        await ask(FakeChat(reactor, []), lambda client: client.files.list())
