"""Answers that are odd, or none at all, in every dialect: in one piece and byte by byte, streamed and whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.llm import FinishReason, LLMError, LLMProvider, ProtocolError, StreamBroken, get_provider
from mud_assistant.llm.answer import AnswerSink
from mud_assistant.llm.messages import Message, ToolResult, tool_results
from mud_assistant.llm.testing import Raw, Reply
from mud_assistant.llm.wire.error_bodies import read_error
from mud_assistant.resilience import RetryConfig
from tests.assistant.living import living
from tests.llm.calling import ASKED, desk

SSE, NDJSON, JSON_TYPE = "text/event-stream", "application/x-ndjson", "application/json"
SPLITS = (0, 1, 7)
EMPTY_CALL = {"name": "", "arguments": ""}


def provider_of(name: str) -> LLMProvider:
    return get_provider(name, "http://127.0.0.1:1", "m")


def begun(name: str, kind: str = SSE, clock: Clock | None = None) -> AnswerSink:
    sink = AnswerSink(provider_of(name), ["look", "say"], iter("xyz").__next__, None, clock=clock or Clock())
    sink.head(200, Headers({"content-type": [kind]}))
    return sink


async def read(name: str, body: bytes, size: int = 0, kind: str = SSE) -> tuple[Message, FinishReason]:
    """The message in a body that comes in pieces of `size` bytes, in one piece for 0."""
    sink = begun(name, kind)
    for at in range(0, len(body), size or len(body)):
        sink.data(body[at : at + (size or len(body))])
    return (await sink.result()).message()


def sse(*records: object, done: bool = True) -> bytes:
    body = b"".join(b"data: " + orjson.dumps(record) + b"\n\n" for record in records)
    return body + b"data: [DONE]\n\n" if done else body


def deltas(*pieces: Mapping[str, Any], finish: str | None = "stop") -> bytes:
    """A stream of Chat Completions with these deltas."""
    last = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    return sse(*({"choices": [{"index": 0, "delta": piece}]} for piece in pieces), *last)


def document(message: Mapping[str, Any], finish: str = "stop") -> bytes:
    return orjson.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


def events(*records: Mapping[str, Any]) -> bytes:
    """Anthropic's named events."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (str(r["type"]).encode(), orjson.dumps(r)) for r in records)


def blocks(*starts: Mapping[str, Any]) -> bytes:
    opened = [
        record
        for index, start in enumerate(starts)
        for record in (
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_stop", "index": index},
        )
    ]
    start = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 3}}}
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    return events(start, *opened, stop, {"type": "message_stop"})


def ollama(*messages: Mapping[str, Any]) -> bytes:
    lines = [{"message": {"role": "assistant", **message}, "done": False} for message in messages]
    lines.append({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"})
    return b"\n".join(map(orjson.dumps, lines)) + b"\n"


TOOL_ENTRY = {"index": 0, "id": "", "type": "function", "function": EMPTY_CALL}
ANTHROPIC_EMPTY = {"type": "tool_use", "id": "toolu_1", "name": "", "input": {}}
PHANTOMS = {
    "legacy": ("local", deltas({"content": "Hello."}, {"function_call": EMPTY_CALL}), SSE),
    "legacy with every piece": (
        "local",
        deltas(*({"content": piece, "function_call": EMPTY_CALL} for piece in ("Hel", "lo."))),
        SSE,
    ),
    "nulls": ("local", deltas({"content": "Hello.", "function_call": {"name": None, "arguments": None}}), SSE),
    "entry": ("local", deltas({"content": "Hello.", "tool_calls": [TOOL_ENTRY]}), SSE),
    "entry with an id": ("local", deltas({"content": "Hello.", "tool_calls": [{**TOOL_ENTRY, "id": "call_1"}]}), SSE),
    "entry without an index": (
        "local",
        deltas({"content": "Hello.", "tool_calls": [{"id": "call_1", "function": EMPTY_CALL}]}),
        SSE,
    ),
    "empty object with every piece": (
        "openrouter",
        deltas(
            *(
                {"content": piece, "tool_calls": [{"index": 0, "function": {"name": "", "arguments": "{}"}}]}
                for piece in ("Hel", "lo.")
            )
        ),
        SSE,
    ),
    "finish says calls": (
        "openai",
        deltas({"content": "Hello.", "tool_calls": [{**TOOL_ENTRY, "id": "call_1"}]}, finish="tool_calls"),
        SSE,
    ),
    "whole legacy": ("local", document({"content": "Hello.", "function_call": EMPTY_CALL}), JSON_TYPE),
    "whole entry": ("local", document({"content": "Hello.", "tool_calls": [TOOL_ENTRY]}, "tool_calls"), JSON_TYPE),
    "cut off": (
        "local",
        deltas({"content": "Hello.", "tool_calls": [{**TOOL_ENTRY, "id": "call_1"}]}, finish="length"),
        SSE,
    ),
    "ollama": (
        "ollama",
        ollama({"content": "Hello.", "tool_calls": [{"function": {"name": "", "arguments": {}}}]}),
        NDJSON,
    ),
    "anthropic": ("anthropic", blocks({"type": "text", "text": "Hello."}, ANTHROPIC_EMPTY), SSE),
    "whole anthropic": (
        "anthropic",
        orjson.dumps({"content": [{"type": "text", "text": "Hello."}, ANTHROPIC_EMPTY], "stop_reason": "tool_use"}),
        JSON_TYPE,
    ),
}


@pytest.mark.parametrize("size", SPLITS)
@pytest.mark.parametrize("given", PHANTOMS.values(), ids=PHANTOMS)
async def test_a_call_without_name_and_arguments_is_none(given: tuple[str, bytes, str], size: int) -> None:
    name, body, kind = given
    message, finish = await read(name, body, size, kind)
    assert (message.text, message.tool_calls) == ("Hello.", ())
    assert finish in {FinishReason.STOP, FinishReason.LENGTH}
    assert b"tool_use" not in orjson.dumps(provider_of("anthropic").encode_message(message))


SAY_HI = '{"text":"hi"}'


REAL = {
    "null and empty names after the first": deltas(
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "say", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "id": None, "function": {"name": None, "arguments": '{"text"'}}]},
        {"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": ':"hi"}'}}]},
    ),
    "without an index": deltas(
        {"tool_calls": [{"id": "a", "function": {"name": "say", "arguments": ""}}]},
        {"tool_calls": [{"function": {"name": None, "arguments": '{"text"'}}]},
        {"tool_calls": [{"function": {"name": "", "arguments": ':"hi"}'}}]},
    ),
    "an empty legacy call beside it": deltas(
        {"tool_calls": [{"id": "a", "function": {"name": "say", "arguments": ""}}], "function_call": EMPTY_CALL},
        {"tool_calls": [{"function": {"arguments": SAY_HI}}], "function_call": EMPTY_CALL},
    ),
    "an empty entry behind it": deltas(
        {"tool_calls": [{"id": "a", "function": {"name": "say", "arguments": ""}}]},
        {"tool_calls": [{"id": "b", "function": EMPTY_CALL}]},
        {"tool_calls": [{"function": {"arguments": SAY_HI}}]},
    ),
    "id before the name": deltas(
        {"tool_calls": [{"id": "a", "function": {"name": "", "arguments": ""}}]},
        {"tool_calls": [{"function": {"name": "say", "arguments": SAY_HI}}]},
    ),
    "both forms": deltas(
        {
            "tool_calls": [{"index": 0, "id": "a", "function": {"name": "say", "arguments": SAY_HI}}],
            "function_call": {"name": "say", "arguments": SAY_HI},
        }
    ),
    "the old form first": deltas(
        {"function_call": {"name": "say", "arguments": SAY_HI}},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "say", "arguments": SAY_HI}}]},
    ),
    "the old form alone": deltas(
        {"function_call": {"name": "say", "arguments": '{"text"'}}, {"function_call": {"arguments": ':"hi"}'}}
    ),
}


@pytest.mark.parametrize("size", SPLITS)
@pytest.mark.parametrize("body", REAL.values(), ids=REAL)
async def test_a_real_call_stays_one_whatever_stands_beside_it(body: bytes, size: int) -> None:
    message, finish = await read("local", body, size)
    [call] = message.tool_calls
    assert (call.name, call.arguments, call.problem) == ("say", {"text": "hi"}, "")
    assert finish is FinishReason.TOOL_CALLS


NAMELESS = {
    "chat": ("local", deltas({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "", "arguments": SAY_HI}}]})),
    "legacy": ("local", deltas({"function_call": {"name": None, "arguments": SAY_HI}})),
    "unreadable": ("local", deltas({"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "hi"}}]})),
    "ollama": ("ollama", ollama({"tool_calls": [{"function": {"name": "", "arguments": {"text": "hi"}}}]})),
    "anthropic": ("anthropic", blocks({"type": "tool_use", "id": "a", "name": "", "input": {"text": "hi"}})),
}


@pytest.mark.parametrize("size", SPLITS)
@pytest.mark.parametrize("given", NAMELESS.values(), ids=NAMELESS)
async def test_a_nameless_call_with_arguments_has_a_problem_and_goes_back_with_a_name(
    given: tuple[str, bytes], size: int
) -> None:
    name, body = given
    message, _ = await read(name, body, size, NDJSON if name == "ollama" else SSE)
    [call] = message.tool_calls
    assert call.problem
    for other in ("openai", "anthropic", "ollama"):
        result = tool_results([ToolResult(call.id, "", "no")])
        wire = orjson.dumps([provider_of(other).encode_message(each) for each in (message, result)])
        assert b'"name":""' not in wire


async def test_an_answer_with_an_empty_call_is_spoken_and_paid_once() -> None:
    body = deltas(*({"content": f"{word} ", "function_call": EMPTY_CALL} for word in ("The", "well", "is", "there.")))
    async with living([Raw(200, {"Content-Type": SSE}, [body])] * 3, provider="local") as life:
        await life.say("Sage, where is the well?")
        assert life.witness.heard[-1] == "Sage: The well is there."
        assert len(life.fake.chats) == 1


PADDING = [b" " * 300, b"\n" * 3000, b"\r\n \t" * 5000, b"\xef\xbb\xbf" + b"\n" * 400, b" " * 299, b""]


@pytest.mark.parametrize("kind", [JSON_TYPE, SSE, ""])
@pytest.mark.parametrize("size", [0, 1, 300])
@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("name", ["local", "openai", "openrouter", "anthropic", "ollama"])
async def test_json_behind_blanks_is_json(name: str, padding: bytes, size: int, kind: str) -> None:
    bodies = {
        "anthropic": orjson.dumps({"content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"}),
        "ollama": orjson.dumps({"message": {"content": "Hello."}, "done": True, "done_reason": "stop"}),
    }
    body = padding + bodies.get(name, document({"content": "Hello."}))
    message, _ = await read(name, body, size, kind)
    assert message.text == "Hello."


@pytest.mark.parametrize("padding", PADDING)
async def test_a_stream_behind_blanks_is_a_stream(padding: bytes) -> None:
    for size in (0, 1):
        message, _ = await read("local", padding + deltas({"content": "Hello."}), size)
        assert message.text == "Hello."


async def test_blanks_keep_a_line_alive_but_not_for_ever() -> None:
    clock = Clock()
    sink = begun("openrouter", JSON_TYPE, clock)
    for _ in range(5):
        clock.advance(60)
        assert sink.data(b" \n") is False
    clock.advance(1)
    with pytest.raises(StreamBroken, match="signs of life"):
        sink.data(b"\n")


async def test_a_body_of_blanks_alone_is_an_answer_that_broke_off() -> None:
    with pytest.raises(StreamBroken):
        await read("openrouter", b"\n" * 2000, kind=JSON_TYPE)


@pytest.mark.parametrize(
    "told",
    [
        {"metadata": {"headers": {"Retry-After": "20"}}},
        {"metadata": {"retry_after_seconds": 20}},
        {"retry_after": "20"},
        {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "20s"}]},
        {"message": "Rate limit reached. Please try again in 20s."},
        {"message": "Please retry after 20 seconds."},
    ],
)
async def test_an_error_behind_blanks_is_that_error_with_its_own_wish(told: Mapping[str, Any]) -> None:
    error = {"code": 429, "message": "slow down", **told}
    body = b"\n" * 400 + orjson.dumps({"error": error})
    async with desk([Raw(200, {"Content-Type": JSON_TYPE}, [body])], retry=RetryConfig(max_attempts=1)) as here:
        before = here.pipeline.clock.seconds()
        with pytest.raises(LLMError) as caught:
            await here.client().chat_completion(ASKED)
        assert caught.value.status == 429
        assert caught.value.retry_at is not None
        assert 19 < caught.value.retry_at - before < 30
        assert len(here.fake.chats) == 1


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("try again in 7m12s", "432"), ("Try again in 1 hour 2 minutes", "3720"), ("try again in 350ms", "0.35")],
)
def test_a_wish_in_a_sentence_is_read(said: str, seconds: str) -> None:
    assert read_error({"error": {"message": said}}).wishes == {"retry-after": seconds}


@pytest.mark.parametrize("said", ["try again in a while", "try again in 5 steps", "5s", ""])
def test_other_sentences_hold_no_wish(said: str) -> None:
    assert read_error({"error": {"message": said}}).wishes == {}


FILTER = {"choices": [], "model": "", "prompt_filter_results": [{"prompt_index": 0}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}}
NOTHING_SAID = {
    "done": ("local", sse(), SSE),
    "no choices": ("openai", sse({"choices": []}), SSE),
    "usage alone": ("openrouter", sse(USAGE), SSE),
    "a filter's words alone": ("local", sse(FILTER, USAGE), SSE),
    "null delta": ("local", sse({"choices": [{"index": 0, "delta": None, "finish_reason": None}]}), SSE),
    "comments": ("openrouter", b": OPENROUTER PROCESSING\n\n" * 3 + sse(), SSE),
    "whole": ("local", orjson.dumps({"choices": []}), JSON_TYPE),
    "anthropic's end": ("anthropic", events({"type": "message_stop"}), SSE),
    "anthropic's frame": (
        "anthropic",
        events({"type": "message_start", "message": {"model": "m"}}, {"type": "ping"}, {"type": "message_stop"}),
        SSE,
    ),
    "anthropic with another's end": ("anthropic", sse(), SSE),
    "ollama's end": ("ollama", b'{"done":true}\n', NDJSON),
    "ollama only loaded": (
        "ollama",
        b'{"message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}\n',
        NDJSON,
    ),
}


@pytest.mark.parametrize("size", SPLITS)
@pytest.mark.parametrize("given", NOTHING_SAID.values(), ids=NOTHING_SAID)
async def test_a_success_without_an_answer_is_an_error(given: tuple[str, bytes, str], size: int) -> None:
    name, body, kind = given
    with pytest.raises(ProtocolError):
        await read(name, body, size, kind)


@pytest.mark.parametrize("size", SPLITS)
@pytest.mark.parametrize(
    "body",
    [
        sse(FILTER, {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}, USAGE),
        sse({"choices": [{"index": 0, "delta": {"content": "Hello."}}]}, USAGE),
        sse({"choices": []}, {"choices": [{"index": 0, "delta": {"content": "Hello."}}]}),
    ],
)
async def test_frames_without_a_choice_may_stand_round_an_answer(body: bytes, size: int) -> None:
    message, _ = await read("local", body, size)
    assert message.text == "Hello."


async def test_an_answer_that_is_empty_on_purpose_is_one() -> None:
    for body in (deltas(), deltas({"role": "assistant", "content": ""}, finish=None)):
        message, finish = await read("local", body)
        assert (message.text, finish) == ("", FinishReason.STOP)
    assert (await read("anthropic", blocks()))[0].text == ""
    assert (await read("ollama", ollama(), kind=NDJSON))[0].text == ""


async def test_a_success_without_an_answer_is_tried_once_more() -> None:
    async with desk([Raw(200, {"Content-Type": SSE}, [sse(USAGE)]), Reply("Hello.")]) as here:
        assert (await here.client().chat_completion(ASKED)).content == "Hello."
        assert len(here.fake.chats) == 2
