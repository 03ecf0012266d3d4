"""Reads and writes the texts in a PNG file. The picture itself is never decoded. Pure.

A text stands in a chunk of type tEXt, zTXt (compressed) or iTXt (UTF-8, may be compressed). A chunk with a wrong
checksum is left out.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from mud_assistant.assistant.characters.character import CardRefused

SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: The most bytes of all texts together once they are inflated: two cards of 1 MiB as base64, with line ends.
MAX_INFLATED = 3_000_000
#: The most chunks that are looked at, and the most texts with a wanted keyword. Real cards have one or two.
MAX_CHUNKS, MAX_TEXTS = 20_000, 16
_HEAD = struct.Struct(">I4s")
_TEXTS = {b"tEXt", b"zTXt", b"iTXt"}
_MAX_KEYWORD = 79


class PngText(NamedTuple):
    """One text of a picture, with its keyword in lower case."""

    keyword: str
    value: bytes


class _Chunk(NamedTuple):
    kind: bytes
    body: bytes
    whole: bytes


def read_texts(data: bytes, keywords: Collection[str], problems: list[str]) -> list[PngText]:
    """Return the texts of a PNG file with these keywords in order. Raises CardRefused for a file that is cut off.

    `problems` gets a sentence for each of them that cannot be read. No other text is inflated.
    """
    texts: list[PngText] = []
    left, looked_at = MAX_INFLATED, 0
    for chunk in _chunks(data):
        if chunk.kind not in _TEXTS:
            continue
        keyword, null, rest = chunk.body.partition(b"\0")
        if not null or len(keyword) > _MAX_KEYWORD:
            continue
        name = keyword.decode("latin-1").casefold()
        if name not in keywords:
            continue
        looked_at += 1
        if looked_at > MAX_TEXTS:
            problems.append(f"the texts beyond the first {MAX_TEXTS} are not looked at")
            break
        if int.from_bytes(chunk.whole[-4:], "big") != zlib.crc32(chunk.kind + chunk.body):
            problems.append(f"the text '{name}' is damaged: its checksum is wrong")
            continue
        try:
            texts.append(PngText(name, _value(chunk.kind, rest, left)))
        except (ValueError, zlib.error) as error:
            problems.append(f"the text '{name}' cannot be read: {error}")
        else:
            left -= len(texts[-1].value)
    return texts


def with_texts(picture: bytes, texts: Mapping[str, bytes]) -> bytes:
    """Return the picture with these texts, in place of those it has under the same keywords."""
    kept = [chunk.whole for chunk in _chunks(picture) if not _is_text(chunk, texts)]
    added = [_made(b"tEXt", keyword.encode("latin-1") + b"\0" + value) for keyword, value in texts.items()]
    return SIGNATURE + b"".join([*kept[:-1], *added, kept[-1]])


def blank_picture() -> bytes:
    """Return the smallest picture: one grey point."""
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return SIGNATURE + _made(b"IHDR", head) + _made(b"IDAT", zlib.compress(b"\0\x80")) + _made(b"IEND", b"")


def inflate(data: bytes, limit: int) -> bytes:
    """Inflate, counting. Raises ValueError for more than `limit` bytes and for what is cut off, and zlib.error."""
    inflater = zlib.decompressobj()
    inflated = inflater.decompress(data, limit + 1)
    if len(inflated) > limit:
        raise ValueError(f"it is larger than {limit // 1000} kB once it is unpacked")
    if not inflater.eof:
        raise ValueError("it is cut off")
    return inflated


def _chunks(data: bytes) -> Iterator[_Chunk]:
    """Yield the chunks up to the last one. Raises CardRefused when there is no last one."""
    at = len(SIGNATURE)
    for _ in range(MAX_CHUNKS):
        if at + _HEAD.size + 4 > len(data):
            raise CardRefused("the picture is cut off: get the file again, where it is from")
        size, kind = _HEAD.unpack_from(data, at)
        end = at + _HEAD.size + size + 4
        if end > len(data):
            raise CardRefused("the picture is cut off: get the file again, where it is from")
        yield _Chunk(kind, data[at + _HEAD.size : end - 4], data[at:end])
        if kind == b"IEND":
            return
        at = end
    raise CardRefused(f"the picture has more than {MAX_CHUNKS} parts: this is no card")


def _value(kind: bytes, rest: bytes, limit: int) -> bytes:
    """Return the text behind the keyword, inflated to at most `limit` bytes. Raises ValueError and zlib.error."""
    if kind == b"tEXt":
        return rest
    if kind == b"zTXt":
        if rest[:1] != b"\0":
            raise ValueError("it is packed in an unknown way")
        return inflate(rest[1:], limit)
    if len(rest) < 2:  # noqa: PLR2004  (a flag and a method)
        raise ValueError("it is cut off")
    packed, method = rest[0], rest[1]
    parts = rest[2:].split(b"\0", 2)  # language, keyword in that language, text
    if len(parts) < 3 or packed > 1 or (packed and method):  # noqa: PLR2004  (as listed)
        raise ValueError("it is packed in an unknown way")
    return inflate(parts[2], limit) if packed else parts[2]


def _is_text(chunk: _Chunk, texts: Mapping[str, bytes]) -> bool:
    keyword = chunk.body.partition(b"\0")[0].decode("latin-1").casefold()
    return chunk.kind in _TEXTS and keyword in texts


def _made(kind: bytes, body: bytes) -> bytes:
    return _HEAD.pack(len(body), kind) + body + zlib.crc32(kind + body).to_bytes(4, "big")
