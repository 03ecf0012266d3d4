"""Writes the days of a character as the TOML their owner may edit, and puts them into cards and takes them out. Pure.

A card has them beside its topics (`topic_tables.py`). Those of a stranger's card are bounded and cleaned like these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from mud_assistant.assistant.characters.character import MAX_TITLE, USER
from mud_assistant.assistant.characters.day_entries import (
    FREE_MINUTES,
    LEAST_MINUTES,
    MAX_DAY,
    MAX_DEED,
    MAX_DOES,
    MOST_MINUTES,
    TIME,
    DayEntry,
    Days,
    FreeLife,
    minutes_of,
)
from mud_assistant.assistant.characters.fields import Fields
from mud_assistant.assistant.characters.macros import names_player
from mud_assistant.assistant.characters.topic_tables import own_extension, table_toml, texts_of, with_own

_Table = dict[str, Any]  # Any: TOML and JSON


def days_toml(days: Days) -> str:
    """Return days as TOML, empty where nothing is written."""
    tables = [("[[day]]", _entry_table(entry)) for entry in days.entries]
    tables += [("[free]", table) for table in _free_tables(days.free)]
    return "".join(f"\n{table_toml(head, table)}" for head, table in tables)


def with_days(extensions: Mapping[str, Any], days: Days) -> _Table:
    """Return the extensions of a card with these days in place of those they had."""
    extensions = with_own(extensions, "days", map(_entry_table, days.entries))
    return with_own(extensions, "free", _free_tables(days.free))


def read_days(card: Mapping[str, Any], fields: Fields) -> Days:
    """Return the days of a card. What is left out is told to `fields`."""
    ours = own_extension(card)
    entries: dict[int, DayEntry] = {}
    for number, table in enumerate(_tables(ours.get("days"))[:MAX_DAY], start=1):
        entry = _entry(table, f"entry {number} of the day", fields)
        if entry is None or entry.start in entries:
            fields.drop(f"entry {number} of the day: it does not begin at a time of its own")
        else:
            entries[entry.start] = entry
    free = next((_free(table, fields) for table in _tables(ours.get("free"))), FreeLife())
    return Days(tuple(entries[start] for start in sorted(entries)), free)


def _entry_table(entry: DayEntry) -> _Table:
    table: _Table = {"from": entry.time, "place": entry.place, "begins": entry.begins, "does": entry.does}
    table |= {"says": entry.says, "rests": entry.rests}
    return {field: value for field, value in table.items() if value}


def _free_tables(free: FreeLife) -> Iterator[_Table]:
    """Yield the table of free life, unless it is as usual."""
    if free != (usual := FreeLife()):
        yield {field: value for field, value in asdict(free).items() if value != getattr(usual, field)}


def _entry(table: Mapping[str, Any], where: str, fields: Fields) -> DayEntry | None:
    time = table.get("from")
    if not isinstance(time, str) or not re.fullmatch(TIME, time):
        return None
    return DayEntry(
        minutes_of(time),
        fields.line(table.get("place"), where, MAX_TITLE),
        _deed(fields.line(table.get("begins"), where, MAX_DEED, USER), where, fields),
        _lines(table.get("does"), where, fields),
        _lines(table.get("says"), where, fields),
        table.get("rests") is True,
    )


def _free(table: Mapping[str, Any], fields: Fields) -> FreeLife:
    minutes = table.get("every_minutes")
    if not isinstance(minutes, int) or isinstance(minutes, bool):
        minutes = FREE_MINUTES
    return FreeLife(_lines(table.get("does"), "free life", fields), max(LEAST_MINUTES, min(minutes, MOST_MINUTES)))


def _lines(raw: object, where: str, fields: Fields) -> tuple[str, ...]:
    """Return the texts, each on one line."""
    texts = texts_of(raw, where, MAX_DOES, MAX_DEED, fields)
    return tuple(filter(None, (_deed(" ".join(text.split()), where, fields) for text in texts)))


def _deed(text: str, where: str, fields: Fields) -> str:
    """Return a pose or a sentence; empty for one that names the player it is for, as it is for everybody there."""
    if not names_player(text):
        return text
    fields.drop(f"{where}: {text[:60]}: nobody is meant by {USER} in a line of a day")
    return ""


def _tables(raw: object) -> list[Mapping[str, Any]]:
    return [table for table in raw if isinstance(table, Mapping)] if isinstance(raw, list) else []
