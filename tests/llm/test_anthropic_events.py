"""Any stream in Anthropic's form, checked by its own rules and by Anthropic's own SDK."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import anthropic
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.threads import deferToThread
from twisted.web.resource import Resource
from twisted.web.server import Request

from llm import BadCredential, FinishReason, LLMError, RateLimited, Unavailable, Usage
from llm.messages import JSONObject
from llm.stream import CallDelta, FinishSeen, ReasoningDelta, StreamEvent, TextDelta, UsageSeen
from llm.testing import serve
from llm.wire.accumulate import Accumulator
from llm.wire.anthropic_events import AnthropicEvents, sse
from tests.llm.test_client import reactor

KNOWN = ("look", "say", "get_weather")


def renderer() -> AnthropicEvents:
    numbers = count(1)
    return AnthropicEvents("msg_1", "m", KNOWN, lambda: f"made_{next(numbers)}")


def render(*events: StreamEvent) -> list[Any]:
    rendering = renderer()
    return [made for event in events for made in rendering.feed(event)] + rendering.end()


def shape(events: Sequence[Any]) -> list[str]:
    """The events in short: their type, the index, and what they carry."""
    told = []
    for event in events:
        kind = event["type"].removeprefix("content_block_").removeprefix("message_")
        if kind == "start" and "content_block" in event:
            told.append(f"open {event['index']} {event['content_block']['type']}")
        elif kind == "delta" and "index" in event:
            delta = event["delta"]
            text = next(delta[key] for key in ("text", "thinking", "partial_json") if key in delta)
            told.append(f"{event['index']} {text}")
        elif kind == "stop" and "index" in event:
            told.append(f"close {event['index']}")
        else:
            told.append(event["delta"]["stop_reason"] if kind == "delta" else event["type"])
    return told


def test_text_then_two_calls_is_the_documented_sequence() -> None:
    events = render(
        TextDelta("Let me "),
        TextDelta("see."),
        CallDelta(0, "toolu_a", "look", ""),
        CallDelta(0, arguments="{}"),
        CallDelta(1, "toolu_b", "say", '{"text":'),
        CallDelta(1, arguments='"x"}'),
        UsageSeen(Usage(20, 5, 8)),
        FinishSeen(FinishReason.TOOL_CALLS),
    )
    assert shape(events) == [
        "message_start",
        "open 0 text",
        "0 Let me ",
        "0 see.",
        "close 0",
        "open 1 tool_use",
        "1 {}",
        "close 1",
        "open 2 tool_use",
        '2 {"text":',
        '2 "x"}',
        "close 2",
        "tool_use",
        "message_stop",
    ]
    assert events[-2]["usage"] == {"input_tokens": 12, "cache_read_input_tokens": 8, "output_tokens": 5}


def test_two_calls_in_one_delta_are_two_blocks() -> None:
    """litellm's adapter made one block with both arguments joined (its issue 26636)."""
    events = render(CallDelta(0, "a", "look", "{}"), CallDelta(1, "b", "say", '{"text":"x"}'))
    assert shape(events)[1:-2] == ["open 0 tool_use", "0 {}", "close 0", "open 1 tool_use", '1 {"text":"x"}', "close 1"]


def test_interleaved_calls_are_untangled() -> None:
    events = render(
        CallDelta(0, "a", "say", '{"te'),
        CallDelta(1, "b", "say", '{"text":'),
        CallDelta(0, arguments='xt":"one"}'),
        CallDelta(1, arguments='"two"}'),
    )
    assert shape(events)[1:-2] == [
        "open 0 tool_use",
        '0 {"te',
        '0 xt":"one"}',
        "close 0",
        "open 1 tool_use",
        '1 {"text":',
        '1 "two"}',
        "close 1",
    ]


def test_text_after_an_open_call_waits_for_it() -> None:
    events = render(CallDelta(0, "a", "say", '{"text":'), TextDelta("aside"), CallDelta(0, arguments='"x"}'))
    assert shape(events)[1:-2] == [
        "open 0 tool_use",
        '0 {"text":',
        '0 "x"}',
        "close 0",
        "open 1 text",
        "1 aside",
        "close 1",
    ]


def test_thoughts_and_text_never_share_a_block() -> None:
    events = render(ReasoningDelta("hm"), TextDelta("so"), ReasoningDelta("wait"))
    assert shape(events)[1:-2] == [
        "open 0 thinking",
        "0 hm",
        "close 0",
        "open 1 text",
        "1 so",
        "close 1",
        "open 2 thinking",
        "2 wait",
        "close 2",
    ]


def test_there_is_no_empty_block_and_an_answer_of_nothing_is_whole() -> None:
    assert shape(render(TextDelta(""), FinishSeen(FinishReason.STOP))) == ["message_start", "end_turn", "message_stop"]


def test_a_name_on_every_fragment_opens_one_block() -> None:
    events = render(CallDelta(0, "a", "say", '{"text":'), CallDelta(0, "a", "say", '"x"}'))
    assert [line for line in shape(events) if line.startswith("open")] == ["open 0 tool_use"]


def test_arguments_that_are_an_object_come_in_one_piece_and_two_values_as_the_first() -> None:
    whole = render(CallDelta(None, None, "say", {"text": "x"}))
    assert '0 {"text":"x"}' in shape(whole)
    twice = render(CallDelta(0, "a", "say", '{"text":"x"}{"text":"y"}'))
    assert "".join(line[2:] for line in shape(twice) if line.startswith("0 ")) == '{"text":"x"}'


def test_ids_are_kept_made_and_made_fit() -> None:
    events = render(
        CallDelta(0, "toolu_1", "look", "{}"), CallDelta(1, None, "look", "{}"), CallDelta(2, "x:y.z", "look", "{}")
    )
    ids = [event["content_block"]["id"] for event in events if event["type"] == "content_block_start"]
    assert ids == ["toolu_1", "made_1", "x_y_z"]


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        (FinishReason.STOP, "end_turn"),
        (FinishReason.LENGTH, "max_tokens"),
        (FinishReason.FILTERED, "refusal"),
        (FinishReason.PAUSED, "pause_turn"),
        (FinishReason.TOOL_CALLS, "end_turn"),
    ],
)
def test_the_finish_without_calls(reason: FinishReason, word: str) -> None:
    assert shape(render(TextDelta("x"), FinishSeen(reason)))[-2] == word


def test_a_finish_of_stop_with_calls_is_tool_use() -> None:
    assert shape(render(CallDelta(0, "a", "look", "{}"), FinishSeen(FinishReason.STOP)))[-2] == "tool_use"


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (Unavailable("over", status=529), "overloaded_error"),
        (Unavailable("down"), "api_error"),
        (BadCredential("no"), "authentication_error"),
        (RateLimited("slow"), "rate_limit_error"),
    ],
)
def test_a_failure_is_an_error_event_and_never_a_clean_end(error: LLMError, word: str) -> None:
    rendering = renderer()
    rendering.feed(TextDelta("half"))
    (event,) = rendering.fail(error)
    assert event["type"] == "error"
    assert orjson.loads(orjson.dumps(event))["error"]["type"] == word
    assert rendering.fail(error) == []


PIECES = st.one_of(
    st.builds(TextDelta, st.text(max_size=4)),
    st.builds(ReasoningDelta, st.text(max_size=4)),
    st.builds(
        CallDelta,
        st.one_of(st.none(), st.integers(0, 3)),
        st.one_of(st.none(), st.sampled_from(["a", "b", "c:d"])),
        st.one_of(st.none(), st.sampled_from(KNOWN)),
        st.one_of(st.none(), st.sampled_from(["", "{", '{"text":', '"x"', "}", "{}", '\\"'])),
    ),
    st.builds(FinishSeen, st.sampled_from(FinishReason)),
    st.builds(UsageSeen, st.builds(Usage, st.integers(0, 9), st.integers(0, 9))),
)


@given(st.lists(PIECES, max_size=25))
def test_whatever_comes_the_sequence_is_well_formed(pieces: list[StreamEvent]) -> None:
    events = render(*pieces)
    assert [event["type"] for event in events].count("message_start") == 1
    assert events[0]["type"] == "message_start"
    assert [event["type"] for event in events[-2:]] == ["message_delta", "message_stop"]
    open_index: int | None = None
    seen: list[int] = []
    filled = True
    for event in events[1:-2]:
        match event["type"]:
            case "content_block_start":
                assert open_index is None
                open_index = event["index"]
                seen.append(event["index"])
                filled = event["content_block"]["type"] == "tool_use"
            case "content_block_delta":
                assert event["index"] == open_index
                filled = True
            case "content_block_stop":
                assert event["index"] == open_index
                assert filled
                open_index = None
    assert open_index is None
    assert seen == list(range(len(seen)))


class Sent(Resource):
    """Answers every request with the same server-sent events."""

    isLeaf = True

    def __init__(self, body: bytes) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Resource has no types
        self._body = body

    def render_POST(self, request: Request) -> bytes:
        request.setHeader("content-type", "text/event-stream")
        return self._body


CALLS = (
    TextDelta("Let me see."),
    CallDelta(0, "a", "say", '{"te'),
    CallDelta(1, "b", "get_weather", '{"city":'),
    CallDelta(0, arguments='xt":"Grüße \\u00e9"}'),
    CallDelta(1, arguments='"Ulm"}'),
    CallDelta(2, None, "look", None),
    CallDelta(3, "a", "say", {"text": "whole"}),
    UsageSeen(Usage(20, 5)),
    FinishSeen(FinishReason.STOP),
)


async def test_the_official_sdk_rebuilds_every_call() -> None:
    accumulator = Accumulator(KNOWN, lambda: "x")
    for event in CALLS:
        accumulator.feed(event)
    ours = [(call.name, dict(call.arguments)) for call in accumulator.message()[0].tool_calls]
    events: list[JSONObject] = render(*CALLS)

    def ask(url: str) -> Any:
        with (
            anthropic.Anthropic(api_key="made-up", base_url=url, max_retries=0) as client,
            client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream,
        ):
            return stream.get_final_message()

    async with serve(Sent(sse(events)), reactor) as url:
        message = await deferToThread(ask, url)
    theirs = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert theirs == ours
    assert len({block.id for block in message.content if block.type == "tool_use"}) == 4
    assert message.content[0].text == "Let me see."
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (20, 5)


async def test_the_official_sdk_sees_a_failure_as_one() -> None:
    rendering = renderer()
    events = [*rendering.feed(TextDelta("half")), *rendering.fail(Unavailable("overloaded", status=529))]

    def ask(url: str) -> str:
        try:
            with (
                anthropic.Anthropic(api_key="made-up", base_url=url, max_retries=0) as client,
                client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream,
            ):
                stream.get_final_message()
        except anthropic.APIError as error:
            return str(error)
        return "a clean end"

    async with serve(Sent(sse(events)), reactor) as url:
        assert "overloaded" in await deferToThread(ask, url)
