"""Worlds of memories and questions, as they are read from a file; see `benchmarks.recall`."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.trust import common

KINDS = {
    "event": MemoryKind.SEEN,
    "note": MemoryKind.NOTE,
    "reflection": MemoryKind.REFLECTION,
    "lore": MemoryKind.LORE,
    "fact": MemoryKind.FACT,
}
PRIVATE = frozenset({"whisper", "page"})
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
A_DAY, MONTHS_A_YEAR = 86_400, 12
#: A larger number is a time in milliseconds.
LAST_SECOND = 1e11
#: A line of a file.
Row = dict[str, Any]


@dataclass
class World:
    """What is remembered in one world, and what is asked."""

    name: str
    memories: list[Memory] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    #: The id of the whole message, by the id of each of its parts, where messages were cut.
    part_of: dict[str, str] = field(default_factory=dict)


def read_rows(path: Path) -> list[Row]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]


def read_worlds(items: Iterable[Row]) -> list[World]:
    """Return the worlds of the lines of a file. A memory may be derived from later ones."""
    worlds: dict[str, World] = {}
    rows: dict[str, list[Row]] = defaultdict(list)
    for item in items:
        name = text_of(item, "world")
        world = worlds.setdefault(name, World(name))
        lists = {"memory": rows[name], "question": world.questions, "forget": world.requests}
        if item.get("kind") in lists:
            lists[item["kind"]].append(item)
    for world in worlds.values():
        world.memories = _read_memories(rows[world.name])
        world.part_of = {text_of(row, "id"): row["part_of"] for row in rows[world.name] if "part_of" in row}
    return list(worlds.values())


def text_of(row: Row, key: str) -> str:
    """Return a value of a line as text, empty for none."""
    value = row.get(key)
    return "" if value is None else str(value).encode(errors="replace").decode()


def ids_of(row: Row, key: str) -> list[str]:
    """Return a list of ids of a line, empty for none. A single id is a list of one."""
    value = row.get(key)
    if isinstance(value, str | int):
        return [str(value)]
    return [str(each) for each in value or ()]


def _read_memories(rows: Sequence[Row]) -> list[Memory]:
    by_id = {text_of(row, "id"): row for row in rows}
    known: dict[str, Memory] = {}
    at = 0.0

    def label(key: str, seen: frozenset[str]) -> tuple[frozenset[str], frozenset[str] | None]:
        """Return the sources and the audience of a memory, through all it was derived from."""
        row = by_id[key]
        parts = [part for part in ids_of(row, "derived_from") if part in by_id and part not in seen]
        if parts:
            labels = [label(part, seen | {key}) for part in parts]
            sources = frozenset[str]().union(*(some for some, _ in labels))
            return sources, reduce(common, (audience for _, audience in labels))
        who = text_of(row, "who")
        return frozenset({who} - {""}), frozenset({who}) if row.get("heard") in PRIVATE else None

    for key, row in by_id.items():
        at = read_time(row.get("at"), at)
        sources, audience = label(key, frozenset())
        who = text_of(row, "who")
        kind = KINDS.get(text_of(row, "heard"), MemoryKind.HEARD)
        known[key] = Memory(
            key, text_of(row, "text"), kind, at, who, "" if kind is MemoryKind.SEEN else who, sources=sources,
            audience=audience, made_of=tuple(ids_of(row, "derived_from")), place=text_of(row, "session"),
        )  # fmt: skip
    return list(known.values())


def read_time(value: Any, before: float) -> float:
    """Return a time as seconds: a number as it is, a date a second after the line before it on the same day."""
    text = str(value or "").casefold().strip()
    if re.fullmatch(r"\d{9,}(\.\d+)?", text):
        return float(text) / (1000 if float(text) > LAST_SECOND else 1)
    if isinstance(value, int | float):
        return float(value)
    year = re.search(r"\b(19|20)\d\d\b", text)
    month = next((n for n, name in enumerate(MONTHS, 1) if re.search(rf"\b{name}", text)), None)
    try:
        if found := re.search(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", text):
            day = datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)
        elif found := re.search(r"\b(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})\b", text):
            first, second = int(found[1]), int(found[2])
            first, second = (second, first) if second > MONTHS_A_YEAR else (first, second)
            day = datetime(int(found[3]), second, first, tzinfo=UTC)
        elif year and month:
            rest = text[: year.start()] + text[year.end() :]
            date = re.search(r"(?<![\d:])(\d{1,2})(?:st|nd|rd|th)?(?![\d:]|\s*[ap]m)", rest)
            day = datetime(int(year[0]), month, int(date[1]) if date else 1, tzinfo=UTC)
        else:
            return before + 1
    except ValueError:
        return before + 1
    return max(day.timestamp(), before + 1 if before - day.timestamp() < A_DAY else 0.0)
