from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.errors import ProtocolError
from mud_assistant.llm.wire.lines import MAX_EVENT_BYTES, LineDecoder, ServerSentEvent, SSEDecoder


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data in pieces, cut at the given places."""
    places = sorted({min(cut, len(data)) for cut in cuts})
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def events(*pieces: bytes) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    found = [event for piece in pieces for event in decoder.feed(piece)]
    return found + decoder.feed(b"", final=True)


def lines(*pieces: bytes) -> list[str]:
    decoder = LineDecoder()
    found = [line for piece in pieces for line in decoder.feed(piece)]
    return found + decoder.feed(b"", final=True)


def data(*texts: str) -> list[ServerSentEvent]:
    return [ServerSentEvent("", text) for text in texts]


def test_23_every_line_end_ends_a_line() -> None:
    assert lines(b"a\nb\r\nc\rd") == ["a", "b", "c", "d"]
    assert events(b"data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n") == data("1", "2", "3")


def test_24_no_blank_after_the_colon_and_empty_data() -> None:
    assert events(b"data:{}\n\ndata:\n\ndata: \n\n") == data("{}")


def test_25_several_data_lines_are_one_event() -> None:
    assert events(b"data: a\ndata: b\n\n") == data("a\nb")


def test_26_a_byte_order_mark_is_dropped() -> None:
    assert events(b"\xef\xbb\xbfdata: a\n\n") == data("a")


def test_27_comments_are_ignored() -> None:
    assert events(b": OPENROUTER PROCESSING\n\ndata: a\n\n: x\n\n") == data("a")


def test_29_foreign_fields_are_ignored_and_event_names_kept() -> None:
    assert events(b"id: 7\nretry: 3\nevent: ping\ndata: a\n\n") == [ServerSentEvent("ping", "a")]


def test_32_a_last_event_without_a_blank_line_counts() -> None:
    assert events(b"data: a") == data("a")


def test_40_a_bare_error_line_is_told_apart() -> None:
    assert events(b'error: {"message":"x"}\n\n') == [ServerSentEvent("", '{"message":"x"}', "error")]


STREAM = "\ufeff: hi\r\ndata: Grüße 🌍\r\n\r\nevent: x\ndata: a\rdata: b\r\rdata: [DONE]\n\n".encode()


@given(st.lists(st.integers(0, len(STREAM)), max_size=len(STREAM)))
def test_21_22_any_split_gives_the_same_events(cuts: list[int]) -> None:
    assert events(*split(STREAM, cuts)) == events(STREAM)


def test_byte_by_byte_gives_the_same_events() -> None:
    assert events(*(bytes([byte]) for byte in STREAM)) == events(STREAM)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=20))
def test_no_bytes_break_it_and_no_split_changes_it(body: bytes, cuts: list[int]) -> None:
    assert lines(*split(body, cuts)) == lines(body)
    assert events(*split(body, cuts)) == events(body)


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(ProtocolError):
        lines(*[b"x" * 65536] * (MAX_EVENT_BYTES // 65536 + 2))


def test_an_endless_event_is_refused() -> None:
    with pytest.raises(ProtocolError):
        events(*[b"data: " + b"x" * 65536 + b"\n"] * (MAX_EVENT_BYTES // 65536 + 2))
