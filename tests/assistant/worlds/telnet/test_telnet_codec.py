from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.worlds.telnet.wire.telnet_codec import (
    DO,
    IAC,
    MOST_DATA,
    SB,
    SE,
    WILL,
    DataTooLong,
    OptionData,
    OptionRequest,
    Piece,
    PlainText,
    PromptMark,
    TelnetCodec,
    subnegotiation,
)


def taken(cuts: Iterable[bytes]) -> list[Piece]:
    """Return the pieces of a stream, with the text between two others as one."""
    codec, found = TelnetCodec(), list[Piece]()
    for cut in cuts:
        codec.put(cut)
        while (piece := codec.take()) is not None:
            if isinstance(piece, PlainText) and found and isinstance(found[-1], PlainText):
                piece = PlainText(found.pop().data + piece.data)  # type: ignore[union-attr]
            found.append(piece)
    return found


@pytest.mark.parametrize(
    ("stream", "pieces"),
    [
        (b"abc", [PlainText(b"abc")]),
        (b"a\xff\xffb", [PlainText(b"a\xffb")]),
        (b"> \xff\xf9x\xff\xef", [PlainText(b"> "), PromptMark(), PlainText(b"x"), PromptMark()]),
        (b"\xff\xfd\x18\xff\xfb\x01", [OptionRequest(DO, 24), OptionRequest(WILL, 1)]),
        (b"\xff\xf1a\xff\xf6\xff\xf2b\xff\x00c\xff\x7fd", [PlainText(b"abcd")]),
        (b"\xff\xfa\xc9A\xff\xffB\xff\xf0", [OptionData(201, b"A\xffB")]),
        (b"\xff\xfa\xff\xf0x", [PlainText(b"x")]),
        (b"\xff\xfa\x18lost\xff\xfa\x45kept\xff\xf0", [OptionData(69, b"kept")]),
        (b"\xff\xfa\x18lost\xff\xfb\x01x", [OptionRequest(WILL, 1), PlainText(b"x")]),
        (b"\xff\xfa\x18\x01", []),
        (b"\xff", []),
    ],
)
def test_a_stream_is_cut_the_same_in_every_piece(stream: bytes, pieces: list[Piece]) -> None:
    assert taken([stream]) == pieces
    assert taken(bytes([byte]) for byte in stream) == pieces
    assert all(taken([stream[:at], stream[at:]]) == pieces for at in range(len(stream)))


@given(
    st.lists(
        st.sampled_from([b"\xff", b"\xfa", b"\xf0", b"\xfb", b"\xfd", b"\xf9", b"\x01", b"a", b"\xc9"]), max_size=40
    )
)
def test_no_bytes_are_an_error_and_no_cut_matters(parts: list[bytes]) -> None:
    assert taken(parts) == taken([b"".join(parts)])


@given(st.integers(0, 254), st.binary(max_size=100))
def test_data_that_is_sent_is_what_is_read(option: int, data: bytes) -> None:
    assert taken([subnegotiation(option, data)]) == [OptionData(option, data)]


def test_data_without_end_is_refused() -> None:
    codec = TelnetCodec()
    codec.put(bytes([IAC, SB, 201]) + b"x" * (MOST_DATA - 1) + bytes([IAC, SE]))
    assert isinstance(codec.take(), OptionData)
    codec.put(bytes([IAC, SB, 201]) + b"x" * (MOST_DATA - 1))
    assert codec.take() is None
    codec.put(b"x")
    with pytest.raises(DataTooLong):
        codec.take()


def test_the_bytes_after_a_piece_are_given_back() -> None:
    codec = TelnetCodec()
    codec.put(b"\xff\xfa\x56\xff\xf0\x78\xda\xff")
    assert codec.take() == OptionData(86, b"")
    assert codec.rest() == b"\x78\xda\xff"
    assert codec.take() is None
