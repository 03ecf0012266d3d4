"""Lines from real pipes on the real reactor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError

from mud_assistant.assistant.surfaces.trial.piped import MAX_LINE_BYTES, PipeLines

reactor: Any = _reactor


@pytest.fixture
def pipe() -> Iterator[tuple[PipeLines, int]]:
    read, write = os.pipe()
    lines = PipeLines(read, reactor)
    yield lines, write
    lines.close()
    os.close(read)


async def rest(lines: PipeLines) -> list[str]:
    found = []
    while (line := await lines.next()) is not None:
        found.append(line)
    return found


async def test_lines_come_one_by_one_and_then_none(pipe: tuple[PipeLines, int]) -> None:
    lines, write = pipe
    os.write(write, b"one\ntwo\r\n\nlast without an end")
    os.close(write)
    assert await rest(lines) == ["one", "two", "", "last without an end"]
    assert await lines.next() is None


async def test_a_line_may_come_in_pieces(pipe: tuple[PipeLines, int]) -> None:
    lines, write = pipe
    waiting = lines.next()
    os.write(write, "Grü".encode()[:3])
    reactor.callLater(0, os.write, write, "Grüße\n".encode()[3:])
    assert await waiting == "Grüße"
    os.close(write)
    assert await rest(lines) == []


async def test_nothing_is_read_before_a_line_is_asked_for(pipe: tuple[PipeLines, int]) -> None:
    lines, write = pipe
    assert lines not in reactor.getReaders()
    waiting = lines.next()
    assert lines in reactor.getReaders()
    os.write(write, b"x\n")
    await waiting
    assert lines not in reactor.getReaders()
    os.close(write)


async def test_a_file_is_read_like_a_pipe(tmp_path: Any) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"a\nb\n")
    with path.open("rb") as file:
        lines = PipeLines(file.fileno(), reactor)
        assert await rest(lines) == ["a", "b"]
        lines.close()


async def test_a_line_without_end_is_bounded(tmp_path: Any) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"x" * (MAX_LINE_BYTES * 3) + b"\nnext\n")
    with path.open("rb") as file:
        lines = PipeLines(file.fileno(), reactor)
        first, second = await rest(lines)
        assert len(first) == MAX_LINE_BYTES
        assert second == "next"
        lines.close()


async def test_waiting_can_be_cancelled(pipe: tuple[PipeLines, int]) -> None:
    lines, write = pipe
    waiting = lines.next()
    waiting.cancel()
    with pytest.raises(CancelledError):
        await waiting
    assert lines not in reactor.getReaders()
    os.close(write)
