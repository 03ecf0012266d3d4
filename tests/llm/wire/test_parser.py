"""When a part of a stream is read: as soon as it is complete, and never twice."""

from __future__ import annotations

import pytest

from mud_assistant.llm import get_provider
from mud_assistant.llm.errors import LLMError, ProtocolError, Unavailable
from mud_assistant.llm.response import (
    CallDelta,
    FinishReason,
    FinishSeen,
    StreamEvent,
    TextDelta,
    Usage,
    UsageSeen,
)
from mud_assistant.llm.wire.building import EventRecorder
from mud_assistant.llm.wire.lines import MAX_EVENT_BYTES
from tests.llm.streamed import EventParser

A = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}'
B = A.replace(b'"a"', b'"b"')
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'


def parser(name: str = "local") -> EventParser:
    return EventParser(get_provider(name, "http://127.0.0.1:1", "m"))


def texts(events: list[StreamEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_each_event_is_read_when_it_ends_and_not_later(end: bytes) -> None:
    reading = parser()
    assert texts(reading.feed(A + end + B[:20])) == ["a"]
    assert texts(reading.feed(B[20:] + end)) == ["b"]
    assert texts(reading.feed(A)) == []
    assert texts(reading.feed(end)) == ["a"]


@pytest.mark.parametrize("before", [b"", A + b"\n\n", b"event: x\n", A + b"\n"])
def test_40_a_bare_error_line_ends_the_stream_before_its_event_does(before: bytes) -> None:
    reading = parser()
    seen = []
    for piece in (before + b'error: {"message":"over', b'","code":502}\n'):
        reading.feed(piece)
        seen.append(reading.complete)
    assert seen == [False, True]
    with pytest.raises(Unavailable, match="over"):
        reading.end()


def test_a_comment_between_usual_events_changes_nothing() -> None:
    reading = parser()
    assert texts(reading.feed(A + b"\n\n: still here\n\n" + B + b"\n\n")) == ["a", "b"]
    assert texts(reading.feed(b": still here\n\n")) == []
    assert texts(reading.feed(A + b"\n\n" + B + b"\n\n")) == ["a", "b"]


def test_a_later_byte_order_mark_is_not_dropped() -> None:
    reading = parser()
    assert texts(reading.feed(A + b"\n\n")) == ["a"]
    assert texts(reading.feed(b"\xef\xbb\xbf" + B + b"\n\n")) == []


def test_32_a_last_event_without_an_end_counts() -> None:
    reading = parser()
    assert texts(reading.feed(A + b"\n\n" + STOP)) == ["a"]
    assert reading.end() == [FinishSeen(FinishReason.STOP)]


def test_57_nothing_after_the_end_mark_counts() -> None:
    reading = parser()
    assert texts(reading.feed(A + b"\n\ndata: [DONE]\n\n" + B + b"\n\n")) == ["a"]
    assert reading.complete
    assert reading.feed(B + b"\n\n") == []


@pytest.mark.parametrize(
    ("name", "front"), [("local", b'data: {"'), ("anthropic", b'event: x\ndata: {"'), ("ollama", b'{"')]
)
def test_88_a_record_without_an_end_in_sight_is_refused(name: str, front: bytes) -> None:
    reading = parser(name)
    reading.feed(front)
    for _ in range(MAX_EVENT_BYTES // 65536 - 1):
        reading.feed(b"x" * 65536)
    with pytest.raises(ProtocolError, match="more than"):
        reading.feed(b"x" * 65536 * 2)


def test_88_a_long_record_in_one_read_is_refused_too() -> None:
    with pytest.raises(LLMError, match="more than"):
        parser().feed(b"data: " + b"x" * MAX_EVENT_BYTES + b"xx\n\n")


def test_a_long_record_in_small_pieces_is_read() -> None:
    word = b"word " * 4000
    body = A.replace(b'"a"', b'"%s"' % word) + b"\n\n"
    reading = parser()
    said = [text for at in range(0, len(body), 100) for text in texts(reading.feed(body[at : at + 100]))]
    assert said == [word.decode()]


def test_a_recorder_keeps_each_piece_as_an_event_once() -> None:
    recorder = EventRecorder()
    recorder.add_text("a")
    recorder.add_call(0, "id", None, "{}", is_legacy=True)
    recorder.set_usage(Usage(1))
    assert recorder.take() == [TextDelta("a"), CallDelta(0, "id", None, "{}", is_legacy=True), UsageSeen(Usage(1))]
    assert recorder.take() == []
