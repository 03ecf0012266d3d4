"""What the stub sends means the same in every dialect, to the product as to the reader by hand beside it."""

from __future__ import annotations

import json

import pytest

from benchmarks.bare_dialects import DIALECTS, Streamed
from benchmarks.canned import ANSWER, ARGUMENTS, MODEL, TEXT
from benchmarks.stub import answer, is_answered, wish_of
from mud_assistant.llm import get_provider
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.response import CallDelta, StreamEvent, TextDelta
from mud_assistant.llm.wire.accumulate import Accumulator
from tests.llm.streamed import EventParser

NAMES = {"local": "chat", "anthropic": "anthropic", "ollama": "ollama"}
SIZES = (1, 7, 100_000)


def provider(name: str) -> LLMProvider:
    return get_provider(name, "http://127.0.0.1:9/v1", MODEL)


def said(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def called(events: list[StreamEvent]) -> list[object]:
    calls = Accumulator((), lambda: "1")
    for event in events:
        if isinstance(event, CallDelta):
            calls.feed(event)
    return [call.whole or json.loads("".join(call.pieces)) for call in calls.open_calls]


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_answer_says_the_same_to_both(name: str) -> None:
    [body] = answer(NAMES[name], whole=True, calls=False)
    events = provider(name).parse_response(body)
    assert said(events) == ANSWER
    assert DIALECTS[name]().whole(json.loads(body))["content"] == ANSWER


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_a_stream_says_the_same_to_both_however_it_is_cut(name: str, size: int) -> None:
    data = b"".join(answer(NAMES[name], whole=False, calls=True))
    parser, reader = EventParser(provider(name)), DIALECTS[name].streamed()
    events: list[StreamEvent] = []
    for at in range(0, len(data), size):
        events += parser.feed(data[at : at + size])
        reader.feed(data[at : at + size])
    assert said(events) == TEXT
    assert called(events) == [ARGUMENTS]
    message = reader.message()
    assert message["content"] == TEXT
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == ARGUMENTS


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_was_cut_short_counts_for_nothing(name: str) -> None:
    reader: Streamed = DIALECTS[name].streamed()
    reader.feed(b"".join(answer(NAMES[name], whole=False, calls=True)[:-1]))
    with pytest.raises(AssertionError):
        reader.message()


@pytest.mark.parametrize("name", NAMES)
def test_each_is_asked_where_its_provider_asks(name: str) -> None:
    asked = provider(name).get_api_url()
    assert wish_of(asked).dialect == wish_of(f"/v1{DIALECTS[name].path}").dialect == NAMES[name]


def test_the_stub_knows_when_a_tool_has_answered() -> None:
    question = {"role": "user", "content": "Anna says: What is that?"}
    for result in (
        {"role": "tool", "tool_call_id": "1", "content": "A brass astrolabe."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "A brass astrolabe."}]},
    ):
        assert is_answered(json.dumps({"messages": [question, result]}).encode())
    assert not is_answered(json.dumps({"messages": [question]}).encode())
