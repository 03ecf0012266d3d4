"""Reads and writes one memory as a row: the columns, and the sealed record of where it is from. Pure."""

from __future__ import annotations

import math
from typing import Any

from mud_assistant.assistant.journal.codec import exact_json, parse_json, seal, unseal
from mud_assistant.assistant.journal.errors import BrokenRecord
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.trust import Audience

COLUMNS = """id, kind, text, who, name, how, place, at, importance, authority, superseded_by, expires, event, origin,
              seq, uses, used_at"""
SELECT = f"SELECT {COLUMNS} FROM memories WHERE assistant = ?"
#: The columns of a new row, and the placeholders of their values.
NEW = f"memories (assistant, size, {COLUMNS.replace('seq, ', '')})"
MARKS = ", ".join("?" * 18)
#: What a day takes from the worth of a memory.
_A_DAY_KEEPS, _DAY = 0.995, 86_400.0
Row = tuple[str, str, str, str, str, str, str, float, int, int, str, float | None, str, bytes, int, int, float]


def origin_of(memory: Memory) -> bytes:
    """Return a record of whose words are in a memory, who may be told, and what it is made of and about."""
    audience = None if memory.audience is None else sorted(memory.audience)
    return seal(exact_json([sorted(memory.sources - {memory.who}), audience, memory.made_of, memory.about]))


def memory_of_row(row: Row) -> Memory:
    """Return the memory of a row of `COLUMNS`.

    One whose record of origin is missing, as in a note of an older version, or damaged, may be told only to the person
    it came from.
    """
    id_, kind, text, who, name, how, place, at, importance, authority, superseded_by, expires, event, origin = row[:14]
    sources, audience, made_of, about_ = read_origin(origin, who)
    return Memory(
        id_, text, MemoryKind(kind), at, who, name, how, place, importance, authority,
        sources, audience, made_of, about_, superseded_by, expires, event,
    )  # fmt: skip


def read_origin(origin: bytes, who: str) -> tuple[frozenset[str], Audience, tuple[str, ...], tuple[str, ...]]:
    """Return whose words are in a memory of `who`, who may be told, and what it is made of and about."""
    theirs = frozenset({who} if who else ())
    if not origin:
        return theirs, theirs or None, (), ()
    record = _record_of(origin)
    if record is None:
        return theirs, theirs, (), ()
    sources, audience, *derived = record
    made_of, about_ = derived or ((), ())
    told = None if audience is None else frozenset(audience)
    return theirs.union(sources), told, tuple(made_of), tuple(about_)


def is_readable(origin: bytes) -> bool:
    """Tell whether the record of a memory's origin is missing or can be read."""
    return not origin or _record_of(origin) is not None


# Any: JSON, a list of lists.
def _record_of(origin: bytes) -> list[Any] | None:
    """Return the record, None when it is damaged; notes of the version before have only sources and audience in it."""
    try:
        record = parse_json(unseal(origin))
        return record if len(record) in {2, 4} else None
    except (BrokenRecord, TypeError):
        return None


def storable(text: str) -> str:
    """Return the text with `?` for lone surrogates, which no encoding has."""
    return text.encode(errors="replace").decode()


def worth(importance: int, age_seconds: float, uses: int) -> float:
    """Return what a memory is worth: less with every day, more with every use."""
    days = max(0.0, age_seconds) / _DAY
    return float(importance * _A_DAY_KEEPS**days * (1 + math.log1p(uses)))


def rank_row(now: float, row: Row) -> tuple[float, int]:
    """Return what a row is worth, and its number: of two that are worth the same, the older goes first."""
    return worth(row[8], now - row[7], row[15]), row[14]


def values_of(assistant: str, memory: Memory) -> tuple[object, ...]:
    """Return the values of `NEW` but for its uses."""
    return (
        *(assistant, memory.size_bytes, memory.id, memory.kind.value, storable(memory.text), memory.who),
        *(storable(memory.name), memory.how, storable(memory.place), memory.at, memory.importance),
        *(memory.authority, memory.superseded_by, memory.expires, memory.event, origin_of(memory)),
    )
