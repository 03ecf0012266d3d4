"""Finds damage in SQLite's write-ahead log. SQLite silently drops everything after a garbled page; we report it.

Each frame holds one page and a checksum that continues that of the frame before. After a garbled frame the next ones
still agree with the checksum that it carries. This distinguishes damage from the torn end that a kill leaves.
Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assistant.journal.file.files import PAGE_BYTES

_HEADER_BYTES = 32
_FRAME_BYTES = 24
_MAGIC_LITTLE, _MAGIC_BIG = 0x377F0682, 0x377F0683
_MASK = 0xFFFFFFFF
#: A page number above this (16 GiB) is not believed.
_MAX_PAGES = 4_194_304

Sums = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Frame:
    """One frame: its bytes without checksum, and whether its checksum continues that of the frame before."""

    head: bytes
    page: bytes
    good: bool
    is_commit: bool


def broken_frames(log: Path) -> int:
    """Return how many frames before the last whole commit are garbled: 0 when the log is sound, torn or missing."""
    if not log.is_file():
        return 0
    frames = _committed_frames(log.read_bytes())
    return sum(not frame.good for frame in frames)


def with_log(data: bytes, log: bytes) -> bytes:
    """Return the database with the pages of its log in place, without the garbled ones."""
    frames = _committed_frames(log)
    if not frames:
        return data
    pages = bytearray(data)
    for frame in frames:
        number = int.from_bytes(frame.head[:4], "big")
        if frame.good and 0 < number <= _MAX_PAGES:
            end = number * PAGE_BYTES
            pages.extend(bytes(max(0, end - len(pages))))
            pages[end - PAGE_BYTES : end] = frame.page
    return bytes(pages)


def _committed_frames(data: bytes) -> list[_Frame]:
    """Return the frames up to the end of the last whole transaction.

    A transaction after it was cut short by a kill or a power cut and never acknowledged, as each commit is on disk
    before the next transaction is written. A garbled frame before a whole transaction is damage.
    """
    frames = list(_frames(data))
    while frames and not _ends_whole(frames):
        frames.pop()
    return frames


def _ends_whole(frames: list[_Frame]) -> bool:
    """Tell whether the last frame is a commit, and it and all frames since the previous commit are good."""
    if not frames[-1].is_commit:
        return False
    for frame in reversed(frames[:-1]):
        if frame.is_commit:
            break
        if not frame.good:
            return False
    return frames[-1].good


def _frames(data: bytes) -> Iterator[_Frame]:
    """Yield the frames in the file, each with whether it is a good frame of this log.

    A log that began anew may still hold frames of an earlier log after its own; those are not good.
    """
    order = _order(data)
    if not order:
        return
    salts = data[16:24]
    sums: Sums = struct.unpack(">II", data[24:32])
    size = _FRAME_BYTES + PAGE_BYTES
    for at in range(_HEADER_BYTES, len(data) - size + 1, size):
        head, page = data[at : at + 16], data[at + _FRAME_BYTES : at + size]
        stored: Sums = struct.unpack(">II", data[at + 16 : at + _FRAME_BYTES])
        ours = head[8:16] == salts
        good = ours and _checksum(order, head[:8] + page, sums) == stored
        yield _Frame(head, page, good, is_commit=ours and head[4:8] != b"\0\0\0\0")
        sums = stored


def _order(data: bytes) -> str:
    """Return struct's letter for the byte order of the checksums, empty when the data is no log."""
    if len(data) < _HEADER_BYTES or int.from_bytes(data[8:12], "big") != PAGE_BYTES:
        return ""
    return {_MAGIC_LITTLE: "<", _MAGIC_BIG: ">"}.get(int.from_bytes(data[:4], "big"), "")


def _checksum(order: str, data: bytes, sums: Sums) -> Sums:
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two
