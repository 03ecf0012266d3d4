"""Ollama's native dialect on bytes."""

from __future__ import annotations

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.web.http_headers import Headers

from mud_assistant.llm import (
    CallOptions,
    ContextOverflow,
    FinishReason,
    LLMError,
    ModelNotFound,
    ProtocolError,
    StreamBroken,
    ToolsUnsupported,
    Unavailable,
    Usage,
)
from mud_assistant.llm.providers.ollama import OllamaProvider
from mud_assistant.llm.response import (
    CallDelta,
    FinishSeen,
    ModelSeen,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    UsageSeen,
)
from tests.llm.streamed import EventParser

PROVIDER = OllamaProvider(model="m")
LAST = b'{"model":"m","message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":2}\n'


def read(*pieces: bytes) -> list[StreamEvent]:
    parser = EventParser(PROVIDER)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.end()


def line(**message: object) -> bytes:
    return orjson.dumps({"model": "m", "message": message, "done": False}) + b"\n"


@pytest.mark.parametrize("given_url", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/api"])
def test_the_base_url_in_its_usual_spellings(given_url: str) -> None:
    assert OllamaProvider(given_url).get_api_url() == "http://h:1/api/chat"


def test_text_thinking_calls_usage_and_finish() -> None:
    call = {"function": {"index": 0, "name": "say", "arguments": {"text": "x"}}}
    events = read(line(thinking="hm"), line(content="Hi"), line(content="", tool_calls=[call]), LAST)
    assert [event for event in events if not isinstance(event, ModelSeen)] == [
        ReasoningDelta("hm"),
        TextDelta("Hi"),
        CallDelta(None, None, "say", {"text": "x"}),
        UsageSeen(Usage(9, 2)),
        FinishSeen(FinishReason.STOP),
    ]


def test_counts_that_are_missing_are_unknown() -> None:
    """All of them are left out when 0, and the prompt's when it was cached."""
    assert UsageSeen(Usage()) in read(b'{"message":{},"done":true,"done_reason":"length"}\n')


def test_the_length_is_told() -> None:
    assert FinishSeen(FinishReason.LENGTH) in read(b'{"message":{},"done":true,"done_reason":"length"}\n')


def test_42_an_error_line_in_mid_stream() -> None:
    with pytest.raises(Unavailable, match="runner"):
        read(line(content="x"), b'{"error":"the model runner has stopped"}\n')


def test_an_end_without_done_is_broken() -> None:
    with pytest.raises(StreamBroken):
        read(line(content="x"))


def test_a_line_cut_in_the_middle_is_an_error_of_ours() -> None:
    with pytest.raises(ProtocolError):
        read(line(content="x")[:-10])


@pytest.mark.parametrize("junk", [b"[]\n", b"7\n", b"null\n", b"hello\n", b"<html>\n"])
def test_what_is_no_record_is_an_error_of_ours(junk: bytes) -> None:
    with pytest.raises(ProtocolError):
        read(junk)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_our_errors(body: bytes) -> None:
    with pytest.raises(LLMError):
        read(body + b"\n")


WHOLE = line(content="Grüße 🌍") + line(content="", tool_calls=[{"function": {"name": "look"}}]) + LAST


@given(st.lists(st.integers(0, len(WHOLE)), max_size=40))
def test_any_split_gives_the_same(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(WHOLE)]
    assert read(*(WHOLE[start:end] for start, end in pairwise(places))) == read(WHOLE)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (404, b'{"error":"model \'x\' not found"}', ModelNotFound),
        (400, b'{"error":"registry.ollama.ai/library/x does not support tools"}', ToolsUnsupported),
        (400, b'{"error":"the prompt is longer than the context length of 4096"}', ContextOverflow),
        (503, b'{"error":"server busy, please try again.  maximum pending requests exceeded"}', Unavailable),
    ],
)
def test_errors_by_their_words(status: int, body: bytes, error: type[LLMError]) -> None:
    assert type(PROVIDER.parse_error_response(status, Headers(), body)) is error


def test_extra_parameters_are_added_and_take_nothing_away() -> None:
    options = CallOptions(temperature=0.5, extra_params={"options": {"top_k": 3}, "keep_alive": "1h"})
    head = PROVIDER.request_head((), None, options)
    assert head["options"] == {"num_ctx": 8192, "temperature": 0.5, "top_k": 3}
    assert head["keep_alive"] == "1h"
