"""Encodes records as exact JSON: `decode(encode(x))` is either equal to `x` or an error.

A record is one JSON object with its version, then `#` and the CRC-32 of the JSON as eight hex digits. SQLite has
no checksums of its own, and a changed byte must not become a changed word. Pure; the shapes are in `records.py`.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import orjson
from msgspec import Struct
from pydantic import BaseModel

from mud_assistant.assistant.journal.errors import BrokenRecord, JournalError, NewerRecord

#: The version of the records written here.
VERSION = 1
#: `#` and eight hex digits.
_SEAL_BYTES = 9

T = TypeVar("T")
#: A JSON object at the border.
Plain = dict[str, Any]


class Codec(Struct, Generic[T], frozen=True):
    """Writes and reads one kind of value, by way of a JSON object."""

    pack: Callable[[T], Plain]
    unpack: Callable[[Plain], T]

    def encode(self, value: T) -> bytes:
        """Return the value as a record."""
        return seal(exact_json({"v": VERSION, **self.pack(value)}))

    def decode(self, record: object) -> T:
        """Return the value of a record. Raises NewerRecord or BrokenRecord when it has none."""
        plain = _parse(unseal(record))
        version = plain.get("v")
        if not isinstance(version, int) or version < 1:
            raise BrokenRecord("a record without a version")
        if version > VERSION:
            raise NewerRecord(f"a record of version {version}; this program knows {VERSION}")
        try:
            return self.unpack(plain)
        except JournalError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BrokenRecord(f"a record with something missing or wrong ({type(error).__name__}: {error})") from error

    def find(self, record: object) -> T | None:
        """Return the value of a record, None when it has none that this program can read."""
        try:
            return self.decode(record)
        except (BrokenRecord, NewerRecord):
            return None


def seal(text: bytes) -> bytes:
    """Return the text with its checksum appended."""
    return b"%b#%08x" % (text, zlib.crc32(text))


def unseal(record: object) -> bytes:
    """Return the text without its checksum. Raises BrokenRecord when the two do not agree."""
    if not isinstance(record, bytes) or record != seal(record[:-_SEAL_BYTES]):
        raise BrokenRecord("a record that does not match its checksum")
    return record[:-_SEAL_BYTES]


def exact_json(value: object) -> bytes:
    """Return the value as JSON that `parse_json` reads back unchanged.

    orjson writes numbers that are not finite as null. It refuses lone surrogates and integers of more than 64 bits, and
    reads such integers as floats. The standard library encodes these rare values; a leading space marks them.
    """
    try:
        text = orjson.dumps(value, default=_default)
    except TypeError:
        text = b""
    if text and (b"null" not in text or _is_finite(value)):
        return text
    return b" " + json.dumps(value, default=_default, separators=(",", ":")).encode("ascii")


def parse_json(text: bytes) -> Any:
    """Return the value that `exact_json` wrote. Raises BrokenRecord when the text is not JSON."""
    try:
        return json.loads(text) if text.startswith(b" ") else orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenRecord(f"a record that is not JSON ({error})") from error


def _parse(text: bytes) -> Plain:
    plain = parse_json(text)
    if not isinstance(plain, dict):
        raise BrokenRecord("a record that is not an object")
    return plain


def _default(value: object) -> object:
    """Return a JSON form of what JSON does not know: a read-only mapping, or an instance of a pydantic model."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in a journal")


def _is_finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(_is_finite(part) for part in value.values())
    if isinstance(value, list | tuple):
        return all(_is_finite(part) for part in value)
    return True
