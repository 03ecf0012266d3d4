"""An answer is the same however its bytes are split, with a listener and without: in every dialect."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import LLMError, get_provider
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.request import acting
from mud_assistant.llm.response import StreamEvent

CHAT: list[dict[str, Any]] = [
    {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Grüße "}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {"content": "🌍 <thi"}}]},
    {"model": "m", "usage": None, "choices": [{"index": 0, "delta": {"content": "nk>hm"}, "finish_reason": None}]},
    {"model": "m", "choices": [{"delta": {"content": "</think>yes", "reasoning_content": "so"}}]},
    {"choices": [{"delta": {"content": ""}}]},
    {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
    {"model": "n", "choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look"}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"at":'}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"x"}'}}]}}]},
    {"choices": [{"delta": {"refusal": "no"}}]},
    {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    {"error": {"message": "over", "code": 502}},
    {"choices": [{"delta": None, "error": {"message": "over", "code": 502}}]},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße 🌍"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "ping"},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "look"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"at":'}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"x"}'}},
    {"type": "content_block_delta", "index": [], "delta": 7},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
    {"type": "error", "error": {"type": "overloaded_error", "message": "over"}},
]
OLLAMA: list[dict[str, Any]] = [
    {"model": "m", "message": {"role": "assistant", "content": "Grüße "}, "done": False},
    {"model": "m", "message": {"content": "🌍", "thinking": "hm"}},
    {"message": {"tool_calls": [{"function": {"name": "look", "arguments": {"at": "x"}}}]}},
    {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 2},
    {"message": {"content": "x"}, "done": False, "done_reason": {}},
    {"error": "over"},
]
#: What stands between usual records: comments, other line ends, fields of all kinds, no JSON, no UTF-8.
ODD = [
    b": still here\n\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\xef\xbb\xbf",
    b"data:",
    b"data: \n\n",
    b"data: [DONE]\n\n",
    b"data: no JSON\n\n",
    b"data: {}\n\n",
    b'data: {"choices":[{"delta":{"content":"\xff\xc3"}}]}\n\n',
    b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n',
    b'data: {"choices":\ndata: [{"delta":{"content":"two lines"}}]}\n\n',
    b'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"nameless"}}\n\n',
    b"event: error\n",
    b"event: x\nevent: y\n\n",
    b"id: 7\nretry: 3\n",
    b'error: {"message":"bare"}\n',
    b'{"message":{"content":"\xff"}}\n',
    b"\xe2\x80",
]


def sse(record: object) -> bytes:
    return b"data: " + orjson.dumps(record) + b"\n\n"


def named(record: dict[str, Any]) -> bytes:
    return b"event: " + str(record["type"]).encode() + b"\n" + sse(record)


def line(record: object) -> bytes:
    return orjson.dumps(record) + b"\n"


RESPONSES: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"model": "m", "status": "in_progress"}},
    {"type": "response.output_text.delta", "output_index": 1, "item_id": "m1", "delta": "Grüße 🌍"},
    {"type": "response.output_text.delta", "output_index": 1, "item_id": "m1", "delta": " und\n\nmehr"},
    {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "hm"},
    {
        "type": "response.output_item.added",
        "output_index": 2,
        "item": {"type": "function_call", "id": "f1", "call_id": "a", "name": "look"},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "f1", "delta": '{"at":'},
    {"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "f1", "delta": '"x"}'},
    {"type": "response.function_call_arguments.done", "output_index": 2, "item_id": "f1", "arguments": '{"at":"x"}'},
    {"type": "error", "code": "server_error", "message": "over"},
    {"type": "response.completed", "response": {"status": "completed", "output": [], "usage": {"input_tokens": 3}}},
]

KINDS = {
    "local": "text/event-stream",
    "anthropic": "text/event-stream",
    "ollama": "application/x-ndjson",
    "openai-responses": "text/event-stream",
}
RECORDS = {
    "local": [*map(sse, CHAT)],
    "anthropic": [*map(named, ANTHROPIC)],
    "ollama": [*map(line, OLLAMA)],
    "openai-responses": [*map(named, RESPONSES)],
}
USUAL_ENDS = {"local": [10, 11], "anthropic": [9, 10], "ollama": [3], "openai-responses": [9]}


def outcome(name: str, pieces: list[bytes], heard: list[StreamEvent] | None = None) -> object:
    """What comes of a body: the answer, or its error with the text so far."""
    numbers = iter(map(str, range(99)))
    provider, listener = get_provider(name, "http://127.0.0.1:1", "m"), None if heard is None else heard.append
    sink = AnswerSink(provider, ["look"], numbers.__next__, acting(listener), clock=Clock())
    sink.head(200, Headers({"content-type": [KINDS[name]]}))
    try:
        for piece in pieces:
            if sink.data(piece):
                break
        sink.result().send(None)
    except StopIteration as done:
        answer = done.value
        return answer.message(), answer.message()[0].raw, answer.usage, answer.model
    except LLMError as error:
        said = error.message.partition(":")[0]  # what follows may show the beginning of the first piece
        return type(error), said, error.partial
    raise AssertionError


def cut(body: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(place, len(body)) for place in cuts})
    return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]


@st.composite
def bodies(draw: st.DrawFn, name: str) -> bytes:
    """Records of one dialect in any order, with something odd among some of them, most with the usual end."""
    usual = st.sampled_from(RECORDS[name])
    part = st.one_of(usual, usual, usual, st.sampled_from(ODD)) if draw(st.booleans()) else usual
    parts = draw(st.lists(part, min_size=1, max_size=12))
    if draw(st.booleans()):
        parts += [RECORDS[name][at] for at in USUAL_ENDS[name]]
    return b"".join(parts)


@given(name=st.sampled_from(sorted(RECORDS)), data=st.data())
def test_21_any_split_gives_the_same_answer_with_and_without_a_listener(name: str, data: st.DataObject) -> None:
    body = data.draw(bodies(name))
    pieces = cut(body, data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    whole = outcome(name, [body])
    assert outcome(name, pieces) == whole
    told: list[StreamEvent] = []
    heard: list[StreamEvent] = []
    assert outcome(name, [body], told) == whole
    assert outcome(name, pieces, heard) == whole
    assert heard == told
    assert outcome(name, [bytes([byte]) for byte in body]) == whole


@pytest.mark.parametrize("name", RECORDS)
def test_a_usual_stream_is_read_as_its_records_one_by_one(name: str) -> None:
    records = [record for record in RECORDS[name] if b"over" not in record and b'"done_reason":{}' not in record]
    whole = outcome(name, [b"".join(records)])
    assert outcome(name, records) == whole
    assert isinstance(whole, tuple)
    message, _ = whole[0]
    assert message.text.startswith("Grüße 🌍") or name == "local"
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("look", {"at": "x"})]
