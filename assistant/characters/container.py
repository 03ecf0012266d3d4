"""Finds the card in a file that a stranger made: JSON, a PNG picture, or a CHARX archive. Pure.

Sizes are counted while unpacking, nesting before parsing. No address in a card is ever fetched, and of an archive only
`card.json` is read.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from mud_assistant.assistant.characters import png
from mud_assistant.assistant.characters.character import CardRefused

#: The largest file, and the largest text of a card, in bytes.
MAX_FILE, MAX_TEXT = 8 * 1024 * 1024, 1024 * 1024
#: How deep a card's lists and tables may be nested.
MAX_DEPTH = 20
_CARD = "card.json"
#: In the order in which they are preferred.
_KEYWORDS = ("ccv3", "chara")
#: Strings, and the brackets outside of them.
_JSON_PARTS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_ZIP_END, _ZIP64 = b"PK\x05\x06", b"PK\x06\x07"
#: The end of an archive with the longest comment, and the largest list of contents, in bytes.
_MAX_ZIP_END, _MAX_ZIP_LIST = 65_557, 512 * 1024
#: What may stand before the first bracket: marks of the encoding, zeros of UTF-16, white space.
_BEFORE_JSON, _HEAD_BYTES = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n", 64
_BLANK = re.compile(rb"[\s\0]+")


def read_card_file(data: bytes, problems: list[str]) -> dict[str, Any]:
    """Return the JSON object of a card or lorebook. Raises CardRefused.

    `problems` gets a sentence for each text in a picture that cannot be read.
    """
    if len(data) > MAX_FILE:
        raise CardRefused(f"the file is larger than {MAX_FILE // 1024 // 1024} MiB")
    if data.startswith(png.SIGNATURE):
        return _from_picture(data, problems)
    if data[:_HEAD_BYTES].lstrip(_BEFORE_JSON)[:1] in {b"{", b"["}:
        return parse_json(data)
    if _ZIP_END in data[-_MAX_ZIP_END:]:
        return parse_json(_from_archive(data))
    raise CardRefused(
        "this is no character card: give a picture (.png) that holds one, a .json file, or a .charx archive"
    )


def parse_json(data: bytes) -> dict[str, Any]:
    """Parse a JSON object with bounded size and depth. Raises CardRefused."""
    if len(data) > MAX_TEXT:
        raise CardRefused(f"its text is larger than {MAX_TEXT // 1024} KiB")
    try:
        text = data.decode(json.detect_encoding(data)).lstrip("\ufeff")
        if _is_deeper(text, MAX_DEPTH):
            raise CardRefused(f"its lists and tables are nested more than {MAX_DEPTH} deep")
        found = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise CardRefused(f"its text is no JSON: {str(error)[:200]}") from error
    if not isinstance(found, dict):
        raise CardRefused("its text is no table of JSON, in braces")
    return found


def _is_deeper(text: str, depth: int) -> bool:
    open_ = 0
    for part in _JSON_PARTS.finditer(text):
        if part[0] in "[{":
            open_ += 1
            if open_ > depth:
                return True
        elif part[0] in "]}":
            open_ -= 1
    return False


def _from_picture(data: bytes, problems: list[str]) -> dict[str, Any]:
    """Return the first card of a picture that can be read. Raises CardRefused."""
    texts = png.read_texts(data, _KEYWORDS, problems)
    for keyword in _KEYWORDS:
        for text in (one for one in texts if one.keyword == keyword):
            try:
                return parse_json(_decoded(text.value))
            except (CardRefused, ValueError) as error:
                problems.append(f"the text '{keyword}' cannot be read: {error}")
    why = f": {problems[0]}" if problems else ""
    raise CardRefused(f"there is no character card in this picture{why}")


def _decoded(value: bytes) -> bytes:
    """Return the text of a chunk, which is base64, with or without line ends and padding. Raises ValueError."""
    if value.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return value
    packed = _BLANK.sub(b"", value.removeprefix(b"\xef\xbb\xbf")).rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    if len(packed) * 3 // 4 > MAX_TEXT:
        raise ValueError(f"its text is larger than {MAX_TEXT // 1024} KiB")
    try:
        return base64.b64decode(packed + b"=" * (-len(packed) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is no base64 ({error})") from error


def _from_archive(data: bytes) -> bytes:
    """Return the text of `card.json` at the root of an archive, and nothing else of it. Raises CardRefused."""
    end = data.rfind(_ZIP_END)
    tail = data[end : end + 22]
    if len(tail) < 22 or data[max(0, end - 20) : end].startswith(_ZIP64):  # noqa: PLR2004  (the length of the record)
        raise CardRefused("the archive is cut off, or of a kind for very large files")
    if struct.unpack_from("<I", tail, 12)[0] > _MAX_ZIP_LIST:
        raise CardRefused("the archive holds too many files")
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            (info,) = _cards(archive)
            if info.flag_bits & 1:
                raise CardRefused("the archive is encrypted")
            if info.file_size > MAX_TEXT:
                raise CardRefused(f"its text is larger than {MAX_TEXT // 1024} KiB")
            if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise CardRefused("the archive is packed in an unknown way")
            with archive.open(info) as file:
                text = file.read(MAX_TEXT + 1)
    except (zipfile.BadZipFile, zlib.error, struct.error, ValueError, OSError, RuntimeError, EOFError) as error:
        raise CardRefused(f"the archive is damaged: {str(error)[:200]}") from error
    return text


def _cards(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    found = [info for info in archive.infolist() if info.filename == _CARD]
    if len(found) != 1:
        raise CardRefused(f"the archive must hold one {_CARD} at its root, and it holds {len(found)}")
    yield found[0]
