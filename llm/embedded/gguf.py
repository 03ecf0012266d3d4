"""Reads what is needed from the header of a GGUF model file, and makes the chat template from it.

The reader is bounded, since the file may come from anywhere. It raises `BadModelFile` and nothing else, whatever the
bytes are.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection
from pathlib import Path
from struct import Struct
from struct import error as StructError

from mud_assistant.llm.embedded.errors import BadModelFile, UnknownTemplate

CHAT_TEMPLATE = "tokenizer.chat_template"

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_HEADER_BYTES = 256 * 1024 * 1024
_MAX_KEYS = 65_536
_MAX_KEY_BYTES = 65_535
_MAX_STRING_BYTES = 4 * 1024 * 1024
_MAX_ITEMS = 16 * 1024 * 1024

_STRING, _ARRAY = 8, 9
#: GGUF value type -> its width in bytes.
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_PREFIX = Struct("<4sIQQ")
_U32 = Struct("<I")
_U64 = Struct("<Q")
_ARRAY_HEAD = Struct("<IQ")

_Buffer = bytes | mmap.mmap

#: The text in the template of the Qwen2.5 family, and in ours: the same without the two pairs of tags. The
#: model never writes the tags. Without them in the template, the server reads its bare JSON as a tool call.
_TAG_PAIRS = (
    (
        r"arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{",
        r"arguments and nothing else:\n{",
    ),
    (r"}\n</tool_call><|im_end|>", r"}<|im_end|>"),
    (r"""'\n<tool_call>\n{"name": "'""", r"""'\n{"name": "'"""),
    (r"""'}\n</tool_call>'""", r"""'}'"""),
)


class _Header:
    """A position in the header that moves forward, never past its end."""

    def __init__(self, data: _Buffer) -> None:
        self._data = data
        self._end = min(len(data), _MAX_HEADER_BYTES)
        self._at = 0

    def unpack(self, shape: Struct) -> tuple[int, ...]:
        start = self._advance(shape.size)
        return shape.unpack_from(self._data, start)

    def string(self, limit_bytes: int) -> bytes:
        (length,) = self.unpack(_U64)
        if length > limit_bytes:
            raise BadModelFile(f"a text of {length} bytes in the header is too long")
        start = self._advance(length)
        return bytes(self._data[start : start + length])

    def skip(self, kind: int) -> None:
        """Skip one value of the given type."""
        if kind == _STRING:
            self._skip_strings(1)
        elif kind == _ARRAY:
            self._skip_array()
        else:
            self._advance(self._width(kind))

    def _skip_array(self) -> None:
        kind, count = self.unpack(_ARRAY_HEAD)
        if count > _MAX_ITEMS:
            raise BadModelFile(f"a list of {count} items in the header is too long")
        if kind == _STRING:
            self._skip_strings(count)
        else:
            self._advance(count * self._width(kind))

    def _skip_strings(self, count: int) -> None:
        # A vocabulary has 150,000 strings, so this loop is kept tight.
        at, end, read = self._at, self._end, _U64.unpack_from
        try:
            for _ in range(count):
                at += 8 + read(self._data, at)[0]
                if at > end:
                    break
        except StructError as error:
            raise BadModelFile("the header is cut off") from error
        self._at = at
        self._advance(0)

    def _width(self, kind: int) -> int:
        try:
            return _WIDTHS[kind]
        except KeyError:
            raise BadModelFile(f"the header holds a value of the unknown type {kind}") from None

    def _advance(self, count: int) -> int:
        start = self._at
        if start + count > self._end:
            raise BadModelFile("the header is cut off")
        self._at = start + count
        return start


def read_strings(data: _Buffer, wanted: Collection[str]) -> dict[str, str]:
    """Return the wanted text values of a GGUF header. A key that is missing, or is not text, is left out.

    Raises BadModelFile when the bytes are not a whole GGUF header.
    """
    header = _Header(data)
    if data[: len(MAGIC)] != MAGIC:
        raise BadModelFile("it is not a GGUF model file")
    _, version, _, keys = header.unpack(_PREFIX)
    if version not in _VERSIONS:
        raise BadModelFile(f"GGUF version {version} is not one we can read")
    if keys > _MAX_KEYS:
        raise BadModelFile(f"{keys} header entries are too many")
    found: dict[str, str] = {}
    missing = {name.encode() for name in wanted}
    for _ in range(keys):
        key = header.string(_MAX_KEY_BYTES)
        (kind,) = header.unpack(_U32)
        if key not in missing or kind != _STRING:
            header.skip(kind)
            continue
        try:
            found[key.decode()] = header.string(_MAX_STRING_BYTES).decode()
        except UnicodeDecodeError as error:
            raise BadModelFile("a text in the header is not UTF-8") from error
        missing.discard(key)
        if not missing:
            break
    return found


def read_file_strings(path: Path, wanted: Collection[str]) -> dict[str, str]:
    """Return the wanted text values of the header of the GGUF file at `path`.

    Raises BadModelFile, also when the file cannot be read.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return read_strings(data, wanted)
    except FileNotFoundError as error:
        raise BadModelFile("there is no such file") from error
    except ValueError as error:
        raise BadModelFile("it is empty") from error
    except OSError as error:
        raise BadModelFile(f"it cannot be read ({error.strerror})") from error


def tool_template(template: str) -> str:
    """Return the chat template without the two pairs of tool-call tags, so that tool calls are bare JSON.

    Raises UnknownTemplate unless each expected text occurs in the template exactly once.
    """
    for old, new in _TAG_PAIRS:
        if template.count(old) != 1:
            raise UnknownTemplate("the chat template is not of the family we know")
        template = template.replace(old, new)
    return template
