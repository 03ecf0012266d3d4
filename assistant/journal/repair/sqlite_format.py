"""Reads SQLite's own formats where they are damaged: the rows in a file's pages, the frames of its log. Works on bytes.

Rows are found without the trees that lead to them. The rows of every table lie in leaf pages that can be read by
themselves. The number and types of a row's values tell its table.
Format: https://www.sqlite.org/fileformat2.html#b_tree_pages

SQLite silently drops everything after a garbled page of its write-ahead log; we report it. Each frame holds one page
and a checksum that continues that of the frame before. After a garbled frame the next ones still agree with the
checksum that it carries. This distinguishes damage from the torn end that a kill leaves.
Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.journal.files import PAGE_BYTES

Value = str | int | float | bytes | None
_TABLE_LEAF = 13
_FIRST_PAGE_HEADER = 100
_LEAF_HEADER = 8
#: The most bytes of a payload that a leaf keeps, and the least once the rest is in overflow pages.
_MAX_LOCAL = PAGE_BYTES - 35
_MIN_LOCAL = (PAGE_BYTES - 12) * 32 // 255 - 23
_OVERFLOW_ROOM = PAGE_BYTES - 4
_VARINT_BYTES = 9
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_FLOAT, _ZERO, _ONE, _FIRST_BLOB = 7, 8, 9, 12
_HEADER_BYTES = 32
_FRAME_BYTES = 24
_MAGIC_LITTLE, _MAGIC_BIG = 0x377F0682, 0x377F0683
_MASK = 0xFFFFFFFF
#: A page number above this (16 GiB) is not believed.
_MAX_PAGES = 4_194_304
Sums = tuple[int, int]


class FoundRow(Struct, frozen=True):
    """A row as it stands in its page. A column that is the row's number holds None."""

    rowid: int
    values: tuple[Value, ...]


class Pages:
    """The pages of a database, as bytes. A page that the file's end cuts off is padded with zeros."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._count = -(-len(data) // PAGE_BYTES)
        #: How many cells could not be read as rows.
        self.broken = 0

    def rows(self) -> Iterator[FoundRow]:
        """Yield every row of every table leaf that is in use, page by page."""
        free = self._free()
        for number in range(1, self._count + 1):
            if number not in free:
                yield from self._leaf(number)

    def _page(self, number: int) -> bytes:
        if not 1 <= number <= self._count:
            raise ValueError("no such page")
        return self._data[(number - 1) * PAGE_BYTES : number * PAGE_BYTES].ljust(PAGE_BYTES, b"\0")

    def _leaf(self, number: int) -> Iterator[FoundRow]:
        page = self._page(number)
        start = _FIRST_PAGE_HEADER if number == 1 else 0
        if page[start] != _TABLE_LEAF:
            return
        cells = int.from_bytes(page[start + 3 : start + 5], "big")
        first = start + _LEAF_HEADER
        for (at,) in struct.iter_unpack(">H", page[first : min(first + 2 * cells, PAGE_BYTES)]):
            try:
                yield self._cell(page, at)
            except (ValueError, IndexError, struct.error, OverflowError):
                self.broken += 1

    def _cell(self, page: bytes, at: int) -> FoundRow:
        size, at = _varint(page, at)
        rowid, at = _varint(page, at)
        rowid -= (rowid >> 63) << 64
        if size > len(self._data):
            raise ValueError("a row larger than the file")
        return FoundRow(rowid, _values(self._payload(page, at, size)))

    def _payload(self, page: bytes, at: int, size: int) -> bytes:
        """Return the row's bytes, joined from its leaf and overflow pages. Raises ValueError when any is missing."""
        if size <= _MAX_LOCAL:
            return _exactly(page[at : at + size], size)
        local = _MIN_LOCAL + (size - _MIN_LOCAL) % _OVERFLOW_ROOM
        local = local if local <= _MAX_LOCAL else _MIN_LOCAL
        parts = [_exactly(page[at : at + local], local)]
        left, following = size - local, int.from_bytes(_exactly(page[at + local : at + local + 4], 4), "big")
        while left > 0:
            more = self._page(following)
            following = int.from_bytes(more[:4], "big")
            parts.append(more[4 : 4 + left])
            left -= len(parts[-1])
        return b"".join(parts)

    def _free(self) -> set[int]:
        """Return the pages on the free list: what they hold was deleted."""
        free: set[int] = set()
        trunk = int.from_bytes(self._data[32:36], "big")
        while 1 < trunk <= self._count and trunk not in free:
            free.add(trunk)
            page = self._page(trunk)
            leaves = min(int.from_bytes(page[4:8], "big"), PAGE_BYTES // 4 - 2)
            free.update(number for (number,) in struct.iter_unpack(">I", page[8 : 8 + 4 * leaves]))
            trunk = int.from_bytes(page[:4], "big")
        return free


def _values(payload: bytes) -> tuple[Value, ...]:
    """Return the values of a row. Raises ValueError when the payload is no row."""
    head, at = _varint(payload, 0)
    body = head
    values: list[Value] = []
    while at < head:
        kind, at = _varint(payload, at)
        size = _size_of(kind)
        values.append(_value(kind, _exactly(payload[body : body + size], size)))
        body += size
    if body != len(payload):
        raise ValueError("a row of another length")
    return tuple(values)


def _size_of(kind: int) -> int:
    if kind >= _FIRST_BLOB:
        return (kind - _FIRST_BLOB) // 2
    return 8 if kind == _FLOAT else _INTEGER_BYTES.get(kind, 0)


def _value(kind: int, data: bytes) -> Value:
    if kind >= _FIRST_BLOB:
        return data.decode() if kind % 2 else data
    if kind in _INTEGER_BYTES:
        return int.from_bytes(data, "big", signed=True)
    if kind == _FLOAT:
        number: float = struct.unpack(">d", data)[0]
        return number
    if kind in {_ZERO, _ONE}:
        return kind - _ZERO
    if kind:
        raise ValueError("no such type")
    return None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at this offset, and the offset after it."""
    value = 0
    for count in range(_VARINT_BYTES):
        byte = data[at + count]
        if count == _VARINT_BYTES - 1:
            return (value << 8) | byte, at + count + 1
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:  # noqa: PLR2004  (the bit that says that more follows)
            return value, at + count + 1
    raise ValueError("no number")


def _exactly(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise ValueError("cut off")
    return data


class _Frame(Struct, frozen=True):
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
