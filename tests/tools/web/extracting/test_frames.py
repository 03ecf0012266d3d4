from __future__ import annotations

import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.tools.web.extracting.worker import MAX_HEAD_BYTES, BadFrame, FrameBuffer, pack, read_frame


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(1, 40))
def test_messages_come_out_as_they_went_in_however_the_pipe_cuts_them(bodies: list[bytes], step: int) -> None:
    sent = [({"number": number}, body) for number, body in enumerate(bodies)]
    wire = b"".join(pack(head, body) for head, body in sent)
    buffer = FrameBuffer(100)
    got = [message for at in range(0, len(wire), step) for message in buffer.feed(wire[at : at + step])]
    assert got == sent
    pipe = io.BytesIO(wire)
    assert [read_frame(pipe, 100) for _ in bodies] == sent
    assert read_frame(pipe, 100) is None


def test_a_pipe_that_ends_in_the_middle_is_at_its_end() -> None:
    assert read_frame(io.BytesIO(pack({"a": 1}, b"body")[:-1]), 100) is None


@pytest.mark.parametrize(
    "wire",
    [
        struct.pack(">II", MAX_HEAD_BYTES + 1, 0),
        struct.pack(">II", 2, 101),
        struct.pack(">II", 2, 0) + b"[]",
        struct.pack(">II", 2, 0) + b"no",
        struct.pack(">II", 60_000, 0) + b"[" * 60_000,
        b"Traceback (most recent call last)",
    ],
)
def test_what_is_no_message_is_refused_by_both_sides(wire: bytes) -> None:
    with pytest.raises(BadFrame):
        list(FrameBuffer(100).feed(wire))
    with pytest.raises(BadFrame):
        read_frame(io.BytesIO(wire), 100)


def test_a_long_body_in_small_pieces_is_joined_a_fixed_number_of_times() -> None:
    wire = pack({}, b"x" * 1_000_000)
    buffer = FrameBuffer(1_000_000)
    pieces = [wire[at : at + 1000] for at in range(0, len(wire), 1000)]
    messages = []
    for piece in pieces:
        messages += list(buffer.feed(piece))
        assert len(buffer._pieces) <= len(pieces)
    assert [len(body) for _, body in messages] == [1_000_000]
    assert json.dumps(messages[0][0]) == "{}"
