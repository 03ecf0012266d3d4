"""The fake Ollama passes for a real one with the official client, and says the other things Ollama says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import orjson
import pytest
from ollama import Client, ResponseError
from twisted.internet.threads import deferToThread

from mud_assistant.llm.testing import Call, ErrorInStream, FakeOllama, HttpError, OllamaModel, Reply, serve

T = TypeVar("T")
QUESTION = [{"role": "user", "content": "Where is the well?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "say",
        "description": "Say something.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}
TWO_CALLS = Reply("Two.", calls=(Call("say", {"text": "a"}, "call_x"), Call("say", {"text": "b"})), usage=(12, 34))


async def ask(fake: FakeOllama, question: Callable[[Client], T], key: str = "") -> T:
    """What the official client, in a thread, gets from the fake."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def run(url: str) -> T:
        with Client(host=url, trust_env=False, headers=headers) as client:
            return question(client)

    async with serve(fake, fake.clock) as url:
        return await deferToThread(run, url)


def chat(**options: Any) -> Callable[[Client], Any]:
    return lambda client: client.chat(**{"model": "sage", "messages": QUESTION, **options})


def streamed(**options: Any) -> Callable[[Client], list[Any]]:
    return lambda client: list(client.chat(**{"model": "sage", "messages": QUESTION, "stream": True, **options}))


async def test_list(reactor: Any) -> None:
    fake = FakeOllama(reactor, [], {"sage": OllamaModel(size=5), "fool:7b": OllamaModel(family="fool")})
    listed = (await ask(fake, Client.list)).models
    assert [model.model for model in listed] == ["sage:latest", "fool:7b"]
    assert int(listed[0].size or 0) == 5
    assert listed[1].details is not None
    assert listed[1].details.family == "fool"


async def test_show(reactor: Any) -> None:
    model = OllamaModel(("completion", "thinking"), 4096, "fool")
    shown = await ask(FakeOllama(reactor, [], {"sage": model}), lambda client: client.show("sage"))
    assert shown.capabilities == ["completion", "thinking"]
    assert shown.modelinfo == {"general.architecture": "fool", "fool.context_length": 4096}


async def test_chat(reactor: Any) -> None:
    fake = FakeOllama(reactor, [Reply("By the <mill>.", reasoning="Hm.", usage=(12, 34))])
    response = await ask(fake, chat())
    assert (response.message.role, response.message.content) == ("assistant", "By the <mill>.")
    assert response.message.thinking == "Hm."
    assert (response.done, response.done_reason, response.model) == (True, "stop", "sage")
    assert (response.prompt_eval_count, response.eval_count) == (12, 34)
    assert response.total_duration == response.load_duration + response.prompt_eval_duration + response.eval_duration
    assert fake.chats[0].body["stream"] is False


async def test_chat_stream(reactor: Any) -> None:
    parts = await ask(FakeOllama(reactor, [Reply("By the mill.", reasoning="Hm.")]), streamed())
    assert [part.message.thinking for part in parts if part.message.thinking] == ["Hm."]
    assert [part.message.content for part in parts if part.message.content] == ["By", " the", " mill."]
    assert [part.done for part in parts] == [False] * 4 + [True]
    assert parts[-1].prompt_eval_count > 0


async def test_chat_with_tools(reactor: Any) -> None:
    response = await ask(FakeOllama(reactor, [TWO_CALLS]), chat(tools=[TOOL]))
    calls = [(call.function.name, dict(call.function.arguments)) for call in response.message.tool_calls]
    assert calls == [("say", {"text": "a"}), ("say", {"text": "b"})]
    assert response.message.content == "Two."


async def test_chat_stream_with_tools(reactor: Any) -> None:
    parts = await ask(FakeOllama(reactor, [TWO_CALLS]), streamed(tools=[TOOL]))
    calling = [part for part in parts if part.message.tool_calls]
    assert [dict(part.message.tool_calls[0].function.arguments) for part in calling] == [{"text": "a"}, {"text": "b"}]
    assert not any(part.done for part in calling)
    assert parts[-1].done_reason == "stop"


async def test_chat_with_a_format(reactor: Any) -> None:
    schema = {"type": "object", "properties": {"far": {"type": "boolean"}}}
    fake = FakeOllama(reactor, [Reply('{"far": true}')])
    response = await ask(fake, chat(format=schema))
    assert orjson.loads(response.message.content) == {"far": True}
    assert fake.chats[0].body["format"] == schema


@pytest.mark.parametrize("question", [chat(model="nobody"), lambda client: client.show("nobody")])
async def test_a_missing_model(reactor: Any, question: Callable[[Client], Any]) -> None:
    with pytest.raises(ResponseError) as caught:
        await ask(FakeOllama(reactor, []), question)
    assert (caught.value.status_code, caught.value.error) == (404, "model 'nobody' not found")


async def test_an_error_line_in_the_stream(reactor: Any) -> None:
    with pytest.raises(ResponseError, match="out of memory"):
        await ask(FakeOllama(reactor, [ErrorInStream("out of memory", 1)]), streamed())


async def test_an_http_error(reactor: Any) -> None:
    with pytest.raises(ResponseError) as caught:
        await ask(FakeOllama(reactor, [HttpError(503, "server busy")]), chat())
    assert (caught.value.status_code, caught.value.error) == (503, "server busy")


async def test_a_model_without_tools_refuses_them_and_keeps_the_script(reactor: Any) -> None:
    fake = FakeOllama(reactor, [Reply("fine")], {"sage": OllamaModel(("completion",))})
    with pytest.raises(ResponseError) as caught:
        await ask(fake, chat(tools=[TOOL]))
    assert caught.value.status_code == 400
    assert caught.value.error == "registry.ollama.ai/library/sage:latest does not support tools"
    assert fake.remaining == 1


async def test_thinking_is_refused_by_a_model_that_cannot(reactor: Any) -> None:
    with pytest.raises(ResponseError, match='"sage" does not support thinking'):
        await ask(FakeOllama(reactor, []), chat(think=True))


async def test_thinking_can_be_forbidden(reactor: Any) -> None:
    model = OllamaModel(("completion", "thinking"))
    response = await ask(FakeOllama(reactor, [Reply("Yes.", "Hm.")], {"sage": model}), chat(think=False))
    assert (response.message.content, response.message.thinking) == ("Yes.", None)


async def test_no_messages_load_the_model(reactor: Any) -> None:
    fake = FakeOllama(reactor, [])

    def load(client: Client) -> Any:
        loaded = client.chat(model="sage", messages=[], options={"num_ctx": 512})
        return loaded, client.ps().models

    loaded, [running] = await ask(fake, load)
    assert (loaded.done, loaded.done_reason) == (True, "load")
    assert (running.model, running.context_length) == ("sage:latest", 512)


def long_question(client: Client, truncate: object) -> Any:
    """The client has no `truncate`, so the request is its own."""
    body = {"model": "sage", "stream": False, "options": {"num_ctx": 64}, "truncate": truncate}
    messages = [{"role": "user", "content": "word " * 100}]
    request: Callable[..., Any] = client._request_raw
    return request("POST", "/api/chat", json={**body, "messages": messages}).json()


async def test_a_long_prompt_is_refused_only_without_truncation(reactor: Any) -> None:
    fake = FakeOllama(reactor, [Reply("fine")])
    with pytest.raises(ResponseError, match="the prompt is longer than the context length") as caught:
        await ask(fake, lambda client: long_question(client, truncate=False))
    assert caught.value.status_code == 400
    assert (await ask(fake, lambda client: long_question(client, truncate=None)))["prompt_eval_count"] == 64


async def test_a_key_opens(reactor: Any) -> None:
    fake = FakeOllama(reactor, [Reply("fine")], key="planted")
    with pytest.raises(ResponseError) as caught:
        await ask(fake, chat(), key="other")
    assert caught.value.status_code == 401
    assert (await ask(fake, chat(), key="planted")).message.content == "fine"


def raw(method: str, path: str, body: bytes = b"") -> Callable[[Client], tuple[int, bytes]]:
    def question(client: Client) -> tuple[int, bytes]:
        response = client._client.request(method, path, content=body)
        return response.status_code, response.content

    return question


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/", (200, b"Ollama is running")),
        ("/api/version", (200, b'{"version":"0.13.5"}')),
        ("/api/nothing", (404, b"404 page not found")),
    ],
)
async def test_what_is_got(reactor: Any, path: str, answer: tuple[int, bytes]) -> None:
    assert await ask(FakeOllama(reactor, []), raw("GET", path)) == answer


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", b"missing request body"),
        (b"{}", b"model is required"),
        (b"!", b"invalid character '!' looking for beginning of value"),
        (b"[]", b"json: cannot unmarshal array into Go value of type api.ChatRequest"),
    ],
)
async def test_a_bad_body(reactor: Any, body: bytes, said: bytes) -> None:
    answer = await ask(FakeOllama(reactor, []), raw("POST", "/api/chat", body))
    assert answer == (400, b'{"error":"' + said + b'"}')
