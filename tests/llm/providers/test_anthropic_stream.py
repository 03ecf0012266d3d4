"""What Anthropic answers, on bytes: the edge cases by their numbers."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm import (
    ContextOverflow,
    FinishReason,
    LLMError,
    ProtocolError,
    RateLimited,
    Reasoning,
    StreamBroken,
    Text,
    ToolCall,
    Unavailable,
    Usage,
)
from mud_assistant.llm.response import TextDelta
from tests.llm.providers.anthropic_stream import (
    PROVIDER,
    SOURCE,
    START,
    STOP,
    call,
    closed,
    collected,
    event,
    fed,
    finish,
    opened,
    piece,
    read,
    text,
    thought,
)
from tests.llm.streamed import EventParser


def test_text_model_and_usage() -> None:
    answer = collected(fed([START, text(0, "Hi ", "you"), finish(output_tokens=5)]))
    message, reason = answer.message()
    assert (message.blocks, reason, answer.model) == ((Text("Hi you"),), FinishReason.STOP, "claude")
    assert answer.usage == Usage(3, 5)
    assert message.raw_of("anthropic") == ({"type": "text", "text": "Hi you"},)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("refusal", FinishReason.FILTERED),
        ("pause_turn", FinishReason.PAUSED),
        ("something_new", FinishReason.STOP),
    ],
)
def test_the_finish_in_our_words(word: str, reason: FinishReason) -> None:
    assert read(START, text(0, "x"), finish(word))[1] is reason


def test_cached_tokens_are_part_of_the_whole_and_later_counts_replace_key_by_key() -> None:
    told = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 1}
    start = event("message_start", message={"usage": told})
    ended = finish(
        output_tokens=7,
        cache_read_input_tokens=None,
        output_tokens_details={"thinking_tokens": 4},
        server_tool_use={"web_search_requests": 2},
    )
    usage = collected(fed([start, ended])).usage
    assert usage == Usage(60, 7, 30, 4, cache_write_tokens=20, server_tools={"web_search": 2})


def test_1_and_2_calls_are_told_apart_by_the_index_of_their_block() -> None:
    message, reason = read(
        START,
        opened(1, type="tool_use", id="a", name="say", input={}),
        opened(2, type="tool_use", id="b", name="look", input={}),
        piece(2, "input_json_delta", partial_json='{"at":'),
        piece(1, "input_json_delta", partial_json='{"text":"x"}'),
        piece(2, "input_json_delta", partial_json='"well"}'),
        closed(1),
        closed(2),
        finish("tool_use"),
    )
    assert message.tool_calls == (ToolCall("a", "say", {"text": "x"}), ToolCall("b", "look", {"at": "well"}))
    assert reason is FinishReason.TOOL_CALLS
    assert [raw["input"] for raw in message.raw_of("anthropic")] == [{"text": "x"}, {"at": "well"}]


@pytest.mark.parametrize("fragments", [(), ("",), ("", "{}")])
def test_15_a_call_without_arguments(fragments: tuple[str, ...]) -> None:
    message, _ = read(START, call(0, *fragments), finish("tool_use"))
    assert message.tool_calls == (ToolCall("toolu_1", "say", {}),)
    assert message.raw_of("anthropic")[0]["input"] == {}


def test_14_a_call_that_starts_with_its_whole_input() -> None:
    message, _ = read(START, opened(0, type="tool_use", id="a", name="say", input={"text": "x"}), closed(0), finish())
    assert message.tool_calls == (ToolCall("a", "say", {"text": "x"}),)


def test_28_pings_unknown_events_and_unknown_deltas_are_passed_over() -> None:
    message, _ = read(
        event("ping"),
        START,
        b"event: weather\ndata: sunny\n\n",
        event("new_thing", index=0),
        opened(0, type="text", text=""),
        piece(0, "glitter_delta", glitter="x"),
        piece(0, "input_json_delta", partial_json="{"),
        piece(7, "text_delta", text="nowhere"),
        piece(0, "text_delta", text="yes"),
        closed(0),
        closed(9),
        finish(),
    )
    assert message.blocks == (Text("yes"),)
    assert message.raw_of("anthropic") == ({"type": "text", "text": "yes"},)


@pytest.mark.parametrize(
    "ending",
    [
        [],
        [opened(1, type="tool_use", id="a", name="say", input={})],
        [event("message_delta", delta={"stop_reason": "end_turn"})],
        [opened(1, type="text", text=""), event("message_delta", delta={"stop_reason": "end_turn"})],
    ],
)
def test_34_an_end_before_message_stop_is_an_error(ending: list[bytes]) -> None:
    with pytest.raises(StreamBroken):
        fed([START, text(0, "x"), *ending])


def test_33_what_comes_after_the_end_mark_does_not_count() -> None:
    assert read(START, text(0, "x"), finish(), text(1, "y"), event("error", error={}))[0].text == "x"


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("overloaded_error", 529, Unavailable),
        ("api_error", 500, Unavailable),
        ("rate_limit_error", 429, RateLimited),
        ("request_too_large", 413, ContextOverflow),
        ("unheard_of", 500, Unavailable),
    ],
)
@pytest.mark.parametrize("before", [[], [START, text(0, "x")]])
def test_37_and_38_an_error_in_the_stream(
    kind: str, status: int, expected: type[LLMError], before: list[bytes]
) -> None:
    error = event("error", error={"type": kind, "message": "no"}, request_id="req_9")
    with pytest.raises(expected) as caught:
        fed([*before, error])
    assert type(caught.value) is expected
    assert (caught.value.status, caught.value.message, caught.value.request_id) == (status, "no", "req_9")


@pytest.mark.parametrize("is_split", [True, False])
def test_what_came_before_an_error_counts_wherever_the_bytes_were_split(is_split: bool) -> None:
    pieces = [
        START,
        text(0, "well, "),
        event("error", error={"type": "overloaded_error", "message": "no"}),
        text(1, "y"),
    ]
    parser = EventParser(PROVIDER)
    events = [one for piece in (pieces if is_split else [b"".join(pieces)]) for one in parser.feed(piece)]
    assert [one.text for one in events if isinstance(one, TextDelta)] == ["well, "]
    assert parser.complete
    with pytest.raises(Unavailable):
        parser.end()


def test_89_half_a_character_is_replaced() -> None:
    half = rb'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}' + b"\n\n"
    assert read(START, opened(0, type="text", text=""), half, closed(0), finish())[0].text == "a\ufffd"


def test_88_a_block_too_deep_to_be_written_again_is_not_replayed() -> None:
    deep = b'{"type":"oracle","x":' + b"[" * 500 + b"]" * 500 + b"}"
    record = b'data: {"type":"content_block_start","index":0,"content_block":%s}\n\n' % deep
    message, _ = read(START, record, closed(0), text(1, "x"), finish())
    assert [raw["type"] for raw in message.raw_of("anthropic")] == ["text"]


def test_62_a_call_cut_off_by_the_length_is_never_run() -> None:
    message, reason = read(START, call(0, '{"text":"x","to":"An'), finish("max_tokens"))
    assert message.tool_calls[0].problem
    assert reason is FinishReason.LENGTH
    assert message.raw_of("anthropic")[0]["input"] == {}


def test_63_an_answer_of_no_blocks_is_empty() -> None:
    message, reason = read(START, finish())
    assert (message.text, message.blocks, reason) == ("", (), FinishReason.STOP)


def test_50_an_answer_that_comes_whole() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
        {"type": "text", "text": "Yes.", "citations": [SOURCE]},
        {"type": "tool_use", "id": "a", "name": "say", "input": {"text": "x"}},
    ]
    body = {"type": "message", "model": "claude", "content": content, "stop_reason": "tool_use", "usage": {}}
    message, reason = collected(PROVIDER.parse_response(orjson.dumps(body))).message()
    assert [type(one).__name__ for one in message.blocks] == [
        "Reasoning",
        "ServerToolCall",
        "Text",
        "Citation",
        "ToolCall",
    ]
    assert message.blocks[0] == Reasoning("hm", "s")
    assert message.raw_of("anthropic") == tuple(content)
    assert reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"content":"x"}', b"nothing"])
def test_46_what_is_no_answer_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        PROVIDER.parse_response(body)


def test_a_whole_error_on_a_200() -> None:
    with pytest.raises(Unavailable):
        PROVIDER.parse_response(b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}')


def test_an_event_that_is_no_json_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        fed([b"event: message_start\ndata: oops\n\n"])


def test_blocks_that_a_lenient_server_leaves_open_end_with_the_answer() -> None:
    message, _ = read(
        START,
        opened(0, type="thinking", thinking="a", signature="s"),
        opened(1, type="text", text="b"),
        opened(1, type="text", text="c"),
        finish(),
    )
    assert (message.reasoning, message.text) == ("a", "bc")
    assert [raw["type"] for raw in message.raw_of("anthropic")] == ["thinking", "text", "text"]


LONG = b"".join(
    [
        START,
        event("ping"),
        thought(0, "hm…", "s"),
        text(1, "Grüß ", "dich 🜁"),
        call(2, "", '{"a":"é\\n', '"}'),
        finish(),
    ]
).replace(b"\n\n", b"   \r\n\r\n")


@given(st.lists(st.integers(0, len(LONG)), max_size=12))
def test_21_and_22_any_cut_gives_the_same(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(LONG)]
    pieces = [LONG[start:end] for start, end in pairwise(edges)]
    assert collected(fed(pieces)).message() == collected(fed([LONG])).message()


KINDS = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "text", "tool_use", "input_json_delta", "{"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "index", "input", "content", "id", "usage", "citations", "citation"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FIELDS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "index": VALUES,
        "content_block": VALUES,
        "delta": VALUES,
        "message": VALUES,
        "usage": VALUES,
        "error": VALUES,
    },
)


@given(st.lists(FIELDS, max_size=8))
def test_whatever_comes_raises_nothing_but_our_own_errors(records: list[dict[str, Any]]) -> None:
    with suppress(LLMError):
        collected(fed([*(b"data: " + orjson.dumps(record) + b"\n\n" for record in records), STOP])).message()
