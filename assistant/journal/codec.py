"""Exact JSON for what is written down: `decode(encode(x)) == x`, or an error, never something else.

A record is one JSON object with its version, then `#` and the CRC-32 of the JSON as eight hex digits: SQLite
has no checksums of its own, and a changed byte must not become a changed word. Pure; the shapes are in `shapes.py`.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson
from pydantic import BaseModel

from assistant.journal.errors import BrokenRecord, JournalError, NewerRecord

#: The version of the records written here.
VERSION = 1
#: `#` and eight hex digits.
_SEAL_BYTES = 9

T = TypeVar("T")
#: A JSON object at the border.
Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """Writes and reads one kind of value, by way of a JSON object."""

    pack: Callable[[T], Plain]
    unpack: Callable[[Plain], T]

    def encode(self, value: T) -> bytes:
        """The value as a record."""
        return sealed(exact_json({"v": VERSION, **self.pack(value)}))

    def decode(self, record: object) -> T:
        """The value of a record. NewerRecord or BrokenRecord says why there is none."""
        plain = _parsed(unsealed(record))
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


def sealed(text: bytes) -> bytes:
    """The text with its checksum behind it."""
    return b"%b#%08x" % (text, zlib.crc32(text))


def unsealed(record: object) -> bytes:
    """The text without its checksum. BrokenRecord when they do not agree."""
    if not isinstance(record, bytes) or record != sealed(record[:-_SEAL_BYTES]):
        raise BrokenRecord("a record that does not match its checksum")
    return record[:-_SEAL_BYTES]


def exact_json(value: object) -> bytes:
    """The value as JSON that `parse_json` reads back as it was.

    orjson writes what is not finite as null, refuses lone surrogates and integers of more than 64 bits, and reads those
    as floats. Such rare values take the standard library's way, and a space in front says so.
    """
    try:
        text = orjson.dumps(value, default=_default)
    except TypeError:
        text = b""
    if text and (b"null" not in text or _is_finite(value)):
        return text
    return b" " + json.dumps(value, default=_default, separators=(",", ":")).encode("ascii")


def parse_json(text: bytes) -> Any:
    """What `exact_json` wrote. BrokenRecord when it is not JSON."""
    try:
        return json.loads(text) if text.startswith(b" ") else orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenRecord(f"a record that is not JSON ({error})") from error


def _parsed(text: bytes) -> Plain:
    plain = parse_json(text)
    if not isinstance(plain, dict):
        raise BrokenRecord("a record that is not an object")
    return plain


def _default(value: object) -> object:
    """What JSON has no word for: read-only mappings and sequences, and the instance of a schema."""
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
