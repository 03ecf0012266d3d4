"""Answers of other shapes: the bytes are what they are said to be, and each is read whole by both who are compared."""

from __future__ import annotations

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from benchmarks.bare_treq import Bare
from benchmarks.canned_shapes import SHAPES, shape_of
from benchmarks.children import stub
from benchmarks.product import Calls
from benchmarks.shapes import ABOUT


@pytest.mark.parametrize("name", SHAPES)
async def test_both_read_the_whole_answer(name: str) -> None:
    shape = shape_of(name)
    kind = "stream" if shape.streamed else "json"
    async with stub(_reactor) as (url,):
        for subject in (Calls, Bare):
            callers = subject(_reactor, f"{url}/shape/{name}/v1", kind, 4, 2, says=shape.says)
            assert await callers.volley() == 2
            assert await callers.volley() == 2
            await callers.close()


def test_every_shape_is_described() -> None:
    assert list(ABOUT) == list(SHAPES)


def test_the_shapes_are_what_they_are_said_to_be() -> None:
    bytes_of = {name: b"".join(shape_of(name).writes) for name in SHAPES}
    assert len(bytes_of["tiny"].partition(b"\r\n\r\n")[2]) <= 300
    assert bytes_of["one_event"].count(b"data: {") == 1
    assert bytes_of["burst"].count(b'"content": "word') == 300
    assert len(shape_of("burst").writes) == 1
    assert len(shape_of("event_by_event").writes) > 70
    assert bytes_of["fragments"].count(b'"arguments": "') > 25
    assert len(shape_of("long").says) > 4 * 65_000
    assert bytes_of["headers"].partition(b"\r\n\r\n")[0].count(b"\r\n") > 95
    assert bytes_of["extensions"].count(b";route=eu-1") > 70
    assert b"content-length" not in bytes_of["close"] + bytes_of["close_stream"] + bytes_of["chunked"]
    assert b"connection: close" in bytes_of["close"]
