"""Reads characters and lore as their owners write them: TOML, and lore as Markdown. Pure.

Lore in Markdown is a heading, which is its title, lines such as `keys: a, b` under it, and then the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from mud_assistant.assistant.characters.character import (
    Character,
    CharacterError,
    Lorebook,
    LoreEntry,
    Topic,
    unique_titles,
)
from mud_assistant.assistant.characters.day_entries import DayEntry, Days
from mud_assistant.assistant.characters.written_tables import (
    WrittenBook,
    WrittenCharacter,
    WrittenDay,
    WrittenExample,
    WrittenFree,
    WrittenLore,
    WrittenLoreFile,
    WrittenTopic,
    WrittenTopicFile,
)
from mud_assistant.assistant.toml_text import parse_toml

_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*")
_FIELD = re.compile(r"(keys|secondary|logic|constant|private|priority|order)\s*:\s*(.*)", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```|~~~)")
_YES, _NO = {"yes", "true", "on"}, {"no", "false", "off"}


def character_of(text: str, where: str, name: str) -> Character:
    """Return the character that a TOML text describes; `name` is theirs when the text gives none.

    `where` is what errors call the text. Raises CharacterError.
    """
    written = _validated(WrittenCharacter, _toml(text, where), where)
    greeting = written.greeting
    book = written.lorebook
    return Character(
        written.name or name,
        written.persona.strip(),
        written.speech.strip(),
        tuple((one.heard.strip(), one.said.strip()) for one in written.examples),
        (greeting,) if isinstance(greeting, str) else greeting,
        Lorebook(
            unique_titles(one.entry() for one in written.lore), book.scan_depth, book.token_budget, book.recursive
        ),
        tuple(one.topic() for one in written.topic),
        Days(_in_order(written.day, where), written.free.life()),
    )


def _in_order(written: Sequence[WrittenDay], where: str) -> tuple[DayEntry, ...]:
    """Return the entries of a day by their hours. Raises CharacterError for two that begin at once."""
    entries = sorted((one.entry() for one in written), key=lambda entry: entry.start)
    for one, other in pairwise(entries):
        if one.start == other.start:
            raise CharacterError(f'{where}: two entries of the day begin at "{one.time}": give one another time')
    return tuple(entries)


def lore_of_toml(text: str, where: str) -> tuple[LoreEntry, ...]:
    """Return the entries of a TOML text of `[[lore]]` tables. Raises CharacterError."""
    return tuple(one.entry() for one in _validated(WrittenLoreFile, _toml(text, where), where).lore)


def topics_of_toml(text: str, where: str) -> tuple[Topic, ...]:
    """Return the topics of a TOML text of `[[topic]]` tables. Raises CharacterError."""
    return tuple(one.topic() for one in _validated(WrittenTopicFile, _toml(text, where), where).topic)


def lore_of_markdown(text: str, where: str) -> tuple[LoreEntry, ...]:
    """Return the entries of a Markdown text: a heading, its `keys:`, its text. Raises CharacterError."""
    entries = []
    for line, data in _sections(text, where):
        entries.append(_validated(WrittenLore, data, f"{where}, line {line}").entry())
    if not entries and text.strip():
        raise CharacterError(
            f"{where}: there is no heading: begin each piece of lore with a line such as # The old mill"
        )
    return tuple(entries)


def split_markdown(text: str, where: str) -> list[tuple[str, LoreEntry | None]]:
    """Return the lines of each entry of a Markdown text with the entry, and those before the first with None.

    The lines together are the text. Raises CharacterError.
    """
    lines = text.splitlines(keepends=True)
    found = list(zip((start for start, _ in _sections(text, where)), lore_of_markdown(text, where), strict=True))
    starts = [start - 1 for start, _ in found]
    spans = zip([0, *starts], [*starts, len(lines)], [None, *(entry for _, entry in found)], strict=True)
    return [("".join(lines[begin:end]), entry) for begin, end, entry in spans]


def _sections(text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each heading's line number with the fields under it. A heading without a text is one of a chapter."""
    start, data, body, fenced = 0, {}, [], False  # type: tuple[int, dict[str, Any], list[str], bool]
    for number, line in enumerate([*text.splitlines(), "# end"], start=1):
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced and number <= text.count("\n") + 1 else _HEADING.fullmatch(line)
        if heading is None:
            if start and not "".join(body).strip() and (found := _FIELD.fullmatch(line.strip())):
                data[found[1].casefold()] = _field(found[1].casefold(), found[2].strip(), f"{where}, line {number}")
            else:
                body.append(line)
            continue
        whole = "\n".join(body).strip()
        if start and (whole or len(data) > 1):
            yield start, {**data, "text": whole}
        start, data, body = number, {"title": heading[1]}, []


def _field(name: str, value: str, where: str) -> Any:
    """Return the value of a line under a heading. Raises CharacterError."""
    if name in {"keys", "secondary"}:
        return tuple(filter(None, (key.strip() for key in value.split(","))))
    if name in {"constant", "private"}:
        if value.casefold() not in _YES | _NO:
            raise CharacterError(f"{where}: {name}: write yes or no")
        return value.casefold() in _YES
    if name == "logic":
        return value.casefold()
    try:
        return int(value)
    except ValueError:
        raise CharacterError(f"{where}: {name}: write a whole number") from None


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise CharacterError(f"{where} is no TOML: {error}") from error


def _validated(model: Any, data: Mapping[str, Any], where: str) -> Any:
    """Return the table validated. Raises CharacterError, with the place and what is right there."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise CharacterError(f"{where}: {_problem(model, error)}") from error


def _problem(model: type[BaseModel], error: ValidationError) -> str:
    """Say what is wrong, and where. An unknown field comes first, as it is often a misspelling."""
    found = error.errors(include_url=False, include_input=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    path = [part for part in first["loc"] if isinstance(part, int) or part.isidentifier()]
    place = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    table, described = _at(model, path)
    if first["type"] == "extra_forbidden":
        known = _fields(table)
        near = get_close_matches(str(path[-1]), known, n=1)
        meant = f"; did you mean {near[0]}?" if near else f"; those there are: {', '.join(known)}"
        return f"{place}: there is no such field{meant}"
    if first["type"] == "missing":
        return f"{place} is missing"
    if first["type"] == "value_error":
        return f"{place}: {first['ctx']['error']}"
    return f"{place}: give {described}" if described else f"{place}: {first['msg'].lower()}"


_INNER: dict[str, type[BaseModel]] = {
    "lore": WrittenLore,
    "topic": WrittenTopic,
    "examples": WrittenExample,
    "lorebook": WrittenBook,
    "day": WrittenDay,
    "free": WrittenFree,
}


def _fields(table: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a table by the names that stand in the file."""
    return {info.alias or name: info for name, info in table.model_fields.items()}


def _at(model: type[BaseModel], path: list[int | str]) -> tuple[type[BaseModel], str]:
    """Return the table that holds the last part of the path, and which values are right there."""
    table, described = model, ""
    for part in path:
        if isinstance(part, str) and (field := _fields(table).get(part)) is not None:
            described = field.description or described
            table = _INNER.get(part, table) if part != path[-1] else table
    return table, described
