from __future__ import annotations

import zlib

import pytest

from mud_assistant.assistant.worlds.telnet.wire.inflate import CannotInflate, GrowsTooFast, Inflater

TEXT = b"".join(b"A rat squeaks %d.\r\n" % number for number in range(2000))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_stream_in_pieces_is_the_text(size: int) -> None:
    packed, inflater = zlib.compress(TEXT) + b"plain", Inflater()
    made, rest = b"", b""
    for at in range(0, len(packed), size):
        if inflater.ended:
            rest += packed[at : at + size]
            continue
        made += b"".join(inflater.feed(packed[at : at + size]))
        rest += inflater.rest()
    assert (made, rest, inflater.ended) == (TEXT, b"plain", True)


def test_damage_is_told() -> None:
    packed = bytearray(zlib.compress(TEXT))
    packed[20:40] = bytes(20)
    with pytest.raises(CannotInflate):
        list(Inflater().feed(bytes(packed)))


def test_a_stream_that_is_flushed_after_each_line_comes_at_once() -> None:
    packer, inflater = zlib.compressobj(), Inflater()
    for line in TEXT.splitlines(keepends=True)[:50]:
        packed = packer.compress(line) + packer.flush(zlib.Z_SYNC_FLUSH)
        assert b"".join(inflater.feed(packed)) == line


@pytest.mark.parametrize("size", [100, 100_000_000])
def test_what_grows_beyond_measure_is_stopped_before_it_is_made(size: int) -> None:
    packed, inflater = zlib.compress(bytes(20_000_000), 9), Inflater()
    steps = (len(step) for at in range(0, len(packed), size) for step in inflater.feed(packed[at : at + size]))
    made: list[int] = []
    with pytest.raises(GrowsTooFast):
        made.extend(steps)
    assert sum(made) < 256 * 1024
