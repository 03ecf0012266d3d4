"""The Chat Completions dialect on bytes: the edge cases by their numbers."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    BadCredential,
    ContextOverflow,
    FinishReason,
    LLMError,
    ModelNotFound,
    ProtocolError,
    QuotaExhausted,
    Rejected,
    StreamBroken,
    ToolCall,
    ToolsUnsupported,
    Unavailable,
    Usage,
    assistant,
)
from mud_assistant.llm.providers.chat import LocalProvider
from mud_assistant.llm.response import CallDelta, FinishSeen, ReasoningDelta, StreamEvent, TextDelta, UsageSeen
from tests.llm.streamed import EventParser

PROVIDER = LocalProvider("http://127.0.0.1:1/v1", "m")


def chunk(**choice: object) -> bytes:
    return b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\n"


def read(*pieces: bytes) -> list[StreamEvent]:
    parser = EventParser(PROVIDER)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.end()


STOP = chunk(delta={}, finish_reason="stop")
DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("https://h/some/api", "https://h/some/api/chat/completions"),
    ],
)
def test_the_base_url_may_be_given_with_or_without_v1(given: str, used: str) -> None:
    assert LocalProvider(given).get_api_url() == used


def test_30_done_may_be_missing_when_a_finish_was_seen() -> None:
    assert read(chunk(delta={"content": "x"}), STOP)[0] == TextDelta("x")


def test_31_neither_is_a_broken_answer() -> None:
    with pytest.raises(StreamBroken):
        read(chunk(delta={"content": "x"}))


def test_done_without_a_finish_is_an_end_mark_too() -> None:
    assert read(chunk(delta={"content": "x"}), DONE) == [TextDelta("x")]


def test_33_nothing_after_done_counts() -> None:
    assert TextDelta("late") not in read(STOP, DONE, chunk(delta={"content": "late"}))


@pytest.mark.parametrize(
    "error",
    [
        b'data: {"error":{"message":"over","code":502}}\n\n',
        b'error: {"code":500,"message":"over","type":"server_error"}\n\n',
        b'event: error\ndata: {"error":{"message":"over"}}\n\n',
        b'data: {"object":"error","message":"over","code":503}\n\n',
        b'data: {"choices":[{"delta":{},"finish_reason":"error","error":{"message":"over","code":502}}]}\n\n',
    ],
)
def test_35_to_41_an_error_in_the_stream_is_an_error(error: bytes) -> None:
    with pytest.raises(Unavailable, match="over"):
        read(chunk(delta={"content": "x"}), error, DONE)


@pytest.mark.parametrize("body", [b'{"choices":null}', b'{"choices":[]}', b"{}"])
def test_44_a_200_without_an_answer_is_an_error(body: bytes) -> None:
    with pytest.raises(LLMError):
        PROVIDER.parse_response(body)


def test_43_an_error_in_a_200_document() -> None:
    with pytest.raises(Rejected):
        PROVIDER.parse_response(b'{"error":{"message":"filtered","code":400}}')


def test_53_and_55_usage_may_come_alone_or_after_the_finish() -> None:
    alone = b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n'
    late = b'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n'
    for usage in (alone, late):
        assert UsageSeen(Usage(5, 2)) in read(STOP, usage, DONE)


def test_56_usage_that_is_null_or_has_nulls_is_unknown_and_not_zero() -> None:
    null = b'data: {"choices":[],"usage":null}\n\n'
    nulls = b'data: {"choices":[],"usage":{"prompt_tokens":null,"completion_tokens":2}}\n\n'
    assert read(STOP, null)[-1] == FinishSeen(FinishReason.STOP)
    assert UsageSeen(Usage(None, 2)) in read(STOP, nulls)


def test_58_an_empty_finish_reason_is_none() -> None:
    with pytest.raises(StreamBroken):
        read(chunk(delta={"content": "x"}, finish_reason=""))


def test_66_content_as_a_list_of_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "x"}]
    assert read(chunk(delta={"content": parts}), STOP)[:2] == [ReasoningDelta("hm"), TextDelta("x")]


def test_a_whole_message_beside_its_deltas_is_not_read_twice() -> None:
    """Perplexity repeats the answer so far in each chunk."""
    last = chunk(message={"content": "xy"}, delta={}, finish_reason="stop")
    events = read(chunk(message={"content": "x"}, delta={"content": "x"}), chunk(delta={"content": "y"}), last)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["x", "y"]
    assert TextDelta("x") in read(chunk(message={"content": "x"}, finish_reason="stop"))


@pytest.mark.parametrize("reason", ["", None])
def test_59_a_document_needs_no_finish_reason(reason: object) -> None:
    call = {"id": "a", "function": {"name": "look", "arguments": "{}"}}
    body = orjson.dumps({"choices": [{"message": {"tool_calls": [call]}, "finish_reason": reason}]})
    assert CallDelta(None, "a", "look", "{}") in PROVIDER.parse_response(body)


def test_65_a_refusal_is_filtered() -> None:
    events = read(chunk(delta={"refusal": "I must "}), chunk(delta={"refusal": "not."}), STOP)
    assert events == [TextDelta("I must "), TextDelta("not."), FinishSeen(FinishReason.FILTERED)]
    assert FinishSeen(FinishReason.FILTERED) in read(chunk(delta={}, finish_reason="content_filter"))


def test_the_events_before_an_error_count_wherever_the_bytes_are_split() -> None:
    body = chunk(delta={"content": "half"}) + b'data: {"error":{"message":"over","code":502}}\n\n'
    for size in (1, 7, len(body)):
        parser = EventParser(PROVIDER)
        events = [event for at in range(0, len(body), size) for event in parser.feed(body[at : at + size])]
        assert events == [TextDelta("half")]
        with pytest.raises(Unavailable, match="over"):
            parser.end()


def test_67_empty_choices_and_null_deltas_are_skipped() -> None:
    assert read(b'data: {"choices":[],"model":""}\n\n', chunk(delta=None), STOP) == [FinishSeen(FinishReason.STOP)]


def test_69_only_the_first_choice_counts() -> None:
    assert TextDelta("b") not in read(chunk(index=1, delta={"content": "b"}), STOP)


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_70_reasoning_has_several_names(key: str) -> None:
    assert read(chunk(delta={key: "hm"}), STOP)[0] == ReasoningDelta("hm")


@pytest.mark.parametrize(("index", "read_as"), [(None, None), ("2", 2), (2, 2), ("x", None)])
def test_7_an_index_may_be_null_or_a_string(index: object, read_as: int | None) -> None:
    call = {"index": index, "id": "a", "function": {"name": "look", "arguments": "{}"}}
    assert read(chunk(delta={"tool_calls": [call]}), STOP)[0] == CallDelta(read_as, "a", "look", "{}")


@pytest.mark.parametrize("odd", [[None], [{}], [{"function": None}], "x", [7]])
def test_odd_tool_calls_do_not_break_it(odd: object) -> None:
    assert FinishSeen(FinishReason.STOP) in read(chunk(delta={"tool_calls": odd}), STOP)


def test_46_a_page_instead_of_an_answer_is_shown_without_its_markup() -> None:
    with pytest.raises(ProtocolError) as caught:
        PROVIDER.parse_response(b"<html><body>Sign in to the network</body></html>")
    assert "Sign in to the network" in str(caught.value)
    assert "<" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (400, b'{"error":"does not support tools"}', ToolsUnsupported, "does not support tools"),
        (400, b'{"detail":"bad"}', Rejected, "bad"),
        (422, b'{"message":"bad"}', Rejected, "bad"),
        (400, b'{"code":"Invalid","error":"no such thing"}', Rejected, "no such thing"),
        (400, b'[{"error":{"message":"in a list"}}]', Rejected, "in a list"),
        (500, b"", Unavailable, "status 500"),
        (502, b"<html><title>502</title><h1>Bad Gateway</h1></html>", Unavailable, "Bad Gateway"),
        (503, b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}', Unavailable, "Loading"),
        (401, b'{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}', BadCredential, "Incorrect"),
        (402, b'{"error":{"message":"pay"}}', QuotaExhausted, "pay"),
        (429, b'{"error":{"code":"insufficient_quota","message":"none left"}}', QuotaExhausted, "none left"),
        (404, b'{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}', ModelNotFound, "x"),
        (404, b"not here", Rejected, "not here"),
        (413, b"", ContextOverflow, "413"),
    ],
)
def test_46_to_49_error_bodies_of_every_shape(status: int, body: bytes, error: type[LLMError], words: str) -> None:
    found = PROVIDER.parse_error_response(status, Headers(), body)
    assert type(found) is error
    assert words in str(found)


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("This model's maximum context length is 4097 tokens. However, you requested 5000", 4097),
        ("the request exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("prompt is too long: 250000 tokens > 200000 maximum", 200000),
        ("the prompt is longer than the context length", None),
        ("Please reduce the length of the messages", None),
    ],
)
def test_82_a_prompt_that_is_too_long_by_many_names(message: str, limit: int | None) -> None:
    body = orjson.dumps({"error": {"message": message, "type": "invalid_request_error"}})
    found = PROVIDER.parse_error_response(400, Headers(), body)
    assert isinstance(found, ContextOverflow)
    assert found.limit == limit


def test_82_llama_cpp_names_its_limit_in_a_field() -> None:
    said = {"code": 400, "type": "exceed_context_size_error", "message": "too long", "n_prompt_tokens": 9, "n_ctx": 512}
    body = orjson.dumps({"error": said})
    found = PROVIDER.parse_error_response(400, Headers(), body)
    assert isinstance(found, ContextOverflow)
    assert found.limit == 512


def test_the_request_id_is_kept() -> None:
    headers = Headers({"x-request-id": ["req_1"]})
    assert PROVIDER.parse_error_response(500, headers, b"").request_id == "req_1"


def test_64_calls_without_text_are_sent_with_null_content() -> None:
    wire = PROVIDER.encode_message(assistant(ToolCall("a", "look", {})))
    assert wire[0]["content"] is None


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_our_errors(body: bytes) -> None:
    with pytest.raises(LLMError):
        read(b"data: " + body.replace(b"[DONE]", b"") + b"\n\n")


MEMBERS = st.sampled_from(
    ["choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "index", "id", "error",
     "usage", "code", "reasoning_details", "finish_reason", "provider", "refusal", "type", "text", "detail"]
)  # fmt: skip
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 600) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(MEMBERS, ODD), st.lists(ODD, max_size=2))
def test_no_json_raises_anything_but_our_errors(data: dict[str, object], choices: list[object]) -> None:
    for body in (orjson.dumps(data), orjson.dumps({**data, "choices": choices})):
        with contextlib.suppress(LLMError):
            read(b"data: " + body + b"\n\n", STOP, DONE)
        with contextlib.suppress(LLMError):
            PROVIDER.parse_response(body)


WHOLE = (
    chunk(delta={"content": "Grüße 🌍"})
    + chunk(delta={"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}]})
    + STOP
    + DONE
)


@given(st.lists(st.integers(0, len(WHOLE)), max_size=40))
def test_22_any_split_gives_the_same(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(WHOLE)]
    assert read(*(WHOLE[start:end] for start, end in pairwise(places))) == read(WHOLE)
