"""Servers that answer in another form than was asked for: a stream for a whole answer, or the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openai
import orjson
import pytest
import pytest_twisted

from mud_assistant.llm.testing import Raw, Step
from tests.assistant.gateway.asking import PATHS, ask, body_of, events
from tests.assistant.gateway.standing import CLIENTS, Standing, ask_chat, standing
from tests.llm.dialects.responses.judge import events_of, judge
from tests.llm.providers.responses.answers import call_item, done, event, sse, text_item

_STREAM = {"content-type": "text/event-stream"}
_JSON = {"content-type": "application/json"}
_CALL = '{"place":"mill"}'


def chat_stream(*deltas: dict[str, Any]) -> bytes:
    records: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    records += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
                {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}]  # fmt: skip
    return b"".join(b"data: %s\n\n" % orjson.dumps({"id": "1", "model": "sage", **one}) for one in records)


def call_of(arguments: str | dict[str, str], **more: Any) -> list[dict[str, Any]]:
    return [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": arguments}, **more}
    ]


def messages_event(kind: str, **more: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), orjson.dumps({"type": kind, **more}))


def block(index: int, start: dict[str, str | dict[str, str]], delta: dict[str, str]) -> bytes:
    began = messages_event("content_block_start", index=index, content_block=start)
    grown = messages_event("content_block_delta", index=index, delta=delta)
    return began + grown + messages_event("content_block_stop", index=index)


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "sage", "content": []}
#: The same answer, a text and a call, as a stream and whole, by dialect: "North." and look(mill), 7 tokens in, 3 out.
SENT: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "chat": (
        "local",
        chat_stream({"content": "No"}, {"content": "rth."}, {"tool_calls": call_of(_CALL)}) + b"data: [DONE]\n\n",
        {
            "id": "1",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "North.", "tool_calls": call_of(_CALL)},
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        },
    ),
    "responses": (
        "openai-responses",
        sse(
            event("output_item.added", item={**text_item("North."), "content": []}),
            event("output_text.delta", item_id="msg_1", content_index=0, delta="North."),
            event("output_item.done", item=text_item("North.")),
            event("output_item.done", 1, item=call_item(_CALL)),
            done(text_item("North."), call_item(_CALL), usage={"input_tokens": 7, "output_tokens": 3}),
        ),
        {
            "status": "completed",
            "output": [text_item("North."), call_item(_CALL)],
            "usage": {"input_tokens": 7, "output_tokens": 3},
        },
    ),
    "messages": (
        "anthropic",
        messages_event("message_start", message={**MESSAGE, "usage": {"input_tokens": 7, "output_tokens": 1}})
        + block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "North."})
        + block(
            1,
            {"type": "tool_use", "id": "call_1", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": _CALL},
        )
        + messages_event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 3})
        + messages_event("message_stop"),
        {
            **MESSAGE,
            "content": [
                {"type": "text", "text": "North."},
                {"type": "tool_use", "id": "call_1", "name": "look", "input": {"place": "mill"}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 7, "output_tokens": 3},
        },
    ),
    "ollama": (
        "ollama",
        (
            b'{"model":"sage","message":{"role":"assistant","content":"Nor"},"done":false}\n'
            b'{"model":"sage","message":{"role":"assistant","content":"th."},"done":false}\n'
            b'{"model":"sage","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments"'
            b':{"place":"mill"}}}]},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}\n'
        ),
        {
            "model": "sage",
            "message": {
                "role": "assistant",
                "content": "North.",
                "tool_calls": [{"function": {"name": "look", "arguments": {"place": "mill"}}}],
            },
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 7,
            "eval_count": 3,
        },
    ),
}


@pytest.mark.parametrize("kind", ["as a stream", "as JSON"])
@pytest.mark.parametrize("dialect", SENT)
@pytest_twisted.ensureDeferred
async def test_a_stream_nobody_asked_for_is_read(tmp_path: Path, dialect: str, kind: str) -> None:
    """Under the name of a stream, and under that of the document that was asked for."""
    provider, stream, _ = SENT[dialect]
    headers = (
        _JSON if kind == "as JSON" else {"content-type": "application/x-ndjson"} if dialect == "ollama" else _STREAM
    )
    pieces = [stream[at : at + 50] for at in range(0, len(stream), 50)]
    async with standing(tmp_path, [Raw(200, headers, pieces)], provider=provider) as gateway:
        got = await gateway.in_thread(lambda: CLIENTS[dialect](gateway, streams=False, tools=True))
        assert (got.text, got.calls, got.usage) == ("North.", (("look", {"place": "mill"}),), (7, 3))
        assert gateway.service.parts.ledger.spent("key:anyone").tokens == 10


@pytest.mark.parametrize("form", ["in a line", "in many lines"])
@pytest.mark.parametrize("dialect", SENT)
@pytest_twisted.ensureDeferred
async def test_a_whole_answer_is_streamed_to_a_client_that_asked_for_that(
    tmp_path: Path, dialect: str, form: str
) -> None:
    provider, _, answer = SENT[dialect]
    body = orjson.dumps(answer, option=orjson.OPT_INDENT_2 if form == "in many lines" else 0)
    async with standing(tmp_path, [Raw(200, _JSON, [body])] * 2, provider=provider) as gateway:
        got = await gateway.in_thread(lambda: CLIENTS[dialect](gateway, streams=True, tools=True))
        assert (got.text, got.calls, got.usage) == ("North.", (("look", {"place": "mill"}),), (7, 3))
        told = await ask(gateway, PATHS[dialect], body_of(dialect))
        assert told.headers["content-type"].partition(";")[0] in {"text/event-stream", "application/x-ndjson"}
        if dialect == "responses":
            judge(events_of(told.body))
        if dialect == "chat":
            assert "usage" not in told.text, "it was not asked for"
            assert all(one["choices"] for one in events(told))


@pytest.mark.parametrize("sent", [[b'data: {"id":"1","cho'], [chat_stream({"content": "North."})[:70]]])
@pytest_twisted.ensureDeferred
async def test_half_of_a_stream_is_the_servers_failure(tmp_path: Path, sent: Sequence[bytes]) -> None:
    async with standing(tmp_path, [Raw(200, _STREAM, sent)]) as gateway:
        error = await gateway.in_thread(lambda: _refused(gateway))
    assert error.status_code == 502
    assert error.body is not None


def _refused(gateway: Standing) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as raised:
        ask_chat(gateway, streams=False)
    return raised.value


@pytest.mark.parametrize("streams", [True, False])
@pytest_twisted.ensureDeferred
async def test_the_provider_s_key_is_left_out_of_what_is_rendered_anew(tmp_path: Path, *, streams: bool) -> None:
    said = {"content": "Your key: sk-planted-0123456789abcdef."}
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", **said}, "finish_reason": "stop"}]}
    step: Step = Raw(200, _JSON, [orjson.dumps(whole)]) if streams else Raw(200, _STREAM, [chat_stream(said)])
    async with standing(tmp_path, [step], key="sk-planted-0123456789abcdef") as gateway:
        got = await ask(gateway, PATHS["chat"], body_of("chat", streams=streams))
        assert (got.status, "planted" in got.text) == (200, False)
