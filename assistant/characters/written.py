"""Reads characters and lore as their owners write them: TOML, and lore as Markdown. Pure.

Lore in Markdown is a heading, which is its title, lines such as `keys: a, b` under it, and then the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mud_assistant.assistant.characters.character import (
    MAX_AFTER,
    MAX_ASKS,
    MAX_ENTRIES,
    MAX_EXAMPLE,
    MAX_EXAMPLES,
    MAX_GREETING,
    MAX_GREETINGS,
    MAX_KEY,
    MAX_KEYS,
    MAX_LORE,
    MAX_NAME,
    MAX_PERSONA,
    MAX_SAID,
    MAX_SAYS,
    MAX_TITLE,
    MAX_TOPICS,
    SCAN_DEPTH,
    Character,
    CharacterError,
    Lorebook,
    LoreEntry,
    Topic,
    unique_titles,
)
from mud_assistant.assistant.toml_text import parse_toml


def _text(longest: int) -> Any:
    return Field(min_length=1, max_length=longest, description=f"a text of 1 to {longest} characters")


_Greeting = Annotated[str, _text(MAX_GREETING)]
_Line = Annotated[str, _text(MAX_EXAMPLE)]
_Keys = Annotated[tuple[Annotated[str, _text(MAX_KEY)], ...], Field(max_length=MAX_KEYS)]
_KEYS = f'a list of at most {MAX_KEYS} texts, as in: ["lamp", "old tower"]'
_Order = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
_NUMBER = "a whole number up to a million"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class _WrittenExample(_Strict):
    heard: _Line
    said: _Line


class _WrittenLore(_Strict):
    title: Annotated[str, _text(MAX_TITLE)]
    text: Annotated[str, _text(MAX_LORE)]
    keys: _Keys | None = Field(default=None, description=_KEYS)
    secondary: _Keys = Field(default=(), description=_KEYS)
    logic: Literal["any", "all", "not_any", "not_all"] = Field(
        "any", description='"any", "all", "not_any" or "not_all"'
    )
    constant: bool = Field(default=False, description="true or false")
    priority: _Order | None = Field(default=None, description=_NUMBER)
    order: _Order = Field(default=100, description=_NUMBER)
    case_sensitive: bool = Field(default=False, description="true or false")
    reached: bool = Field(default=True, description="true or false")
    reaches: bool = Field(default=True, description="true or false")
    additional: _Keys = Field(default=(), description=_KEYS)
    excluded: _Keys = Field(default=(), description=_KEYS)
    probability: int = Field(default=100, ge=0, le=100, description="a number from 0 to 100")
    after: int = Field(default=0, ge=0, le=MAX_AFTER, description=f"a number of lines from 0 to {MAX_AFTER}")
    whole_words: bool = Field(default=True, description="true or false")
    private: bool = Field(default=False, description="true or false")

    def entry(self) -> LoreEntry:
        """Return the entry. One without keys is found by its title."""
        keys = self.keys if self.keys is not None else () if self.constant else (self.title,)
        return LoreEntry(**{**self.model_dump(), "keys": keys})


_Saying = Annotated[str, _text(MAX_SAID)]


class _WrittenTopic(_Strict):
    title: Annotated[str, _text(MAX_TITLE)]
    says: _Saying | Annotated[tuple[_Saying, ...], Field(min_length=1, max_length=MAX_SAYS)] = Field(
        description=f"a text of 1 to {MAX_SAID} characters, or a list of at most {MAX_SAYS}"
    )
    asks: tuple[_Line, ...] = Field(
        default=(), max_length=MAX_ASKS, description=f"a list of at most {MAX_ASKS} sample questions"
    )
    keys: _Keys = Field(default=(), description=_KEYS)
    parts: bool = Field(default=False, description="true or false")
    gesture: _Line | tuple[_Line, ...] = Field(
        default=(), description='a text such as "smiles.", or a list with one for each thing said'
    )
    answers: _Keys = Field(default=(), description=_KEYS)
    solved: str = Field(default="", max_length=MAX_SAID, description=f"a text of at most {MAX_SAID} characters")
    reveal: str = Field(default="", max_length=MAX_SAID, description=f"a text of at most {MAX_SAID} characters")

    def topic(self) -> Topic:
        """Return the topic. One without keys and sample questions is found by its title."""
        says = (self.says,) if isinstance(self.says, str) else self.says
        gestures = (self.gesture,) if isinstance(self.gesture, str) else self.gesture
        keys = self.keys or (() if self.asks else (self.title,))
        return Topic(self.title, says, self.asks, keys, self.parts, gestures, self.answers, self.solved, self.reveal)


class _WrittenBook(_Strict):
    scan_depth: int = Field(default=SCAN_DEPTH, ge=1, le=50, description="a number of lines from 1 to 50")
    token_budget: int | None = Field(default=None, ge=1, le=100_000, description="a number of tokens up to 100000")
    recursive: bool = Field(default=False, description="true or false")


class _WrittenLoreFile(_Strict):
    lore: tuple[_WrittenLore, ...] = Field(default=(), max_length=MAX_ENTRIES)


class _WrittenTopicFile(_Strict):
    topic: tuple[_WrittenTopic, ...] = Field(default=(), max_length=MAX_TOPICS)


class _WrittenCharacter(_Strict):
    name: str = Field(
        default="",
        max_length=MAX_NAME,
        pattern=r"^(\w[\w' -]*)?$",
        description=f"letters, digits, spaces, hyphens and apostrophes, at most {MAX_NAME}",
    )
    persona: str = Field(default="", max_length=MAX_PERSONA, description=f"a text of at most {MAX_PERSONA} characters")
    speech: str = Field(default="", max_length=MAX_PERSONA, description=f"a text of at most {MAX_PERSONA} characters")
    greeting: _Greeting | Annotated[tuple[_Greeting, ...], Field(max_length=MAX_GREETINGS)] = Field(
        default=(), description=f"a text of 1 to {MAX_GREETING} characters, or a list of at most {MAX_GREETINGS}"
    )
    examples: tuple[_WrittenExample, ...] = Field(
        default=(), max_length=MAX_EXAMPLES, description=f"at most {MAX_EXAMPLES} examples"
    )
    lore: tuple[_WrittenLore, ...] = Field(
        default=(), max_length=MAX_ENTRIES, description=f"at most {MAX_ENTRIES} entries"
    )
    lorebook: _WrittenBook = Field(default_factory=_WrittenBook)
    topic: tuple[_WrittenTopic, ...] = Field(
        default=(), max_length=MAX_TOPICS, description=f"at most {MAX_TOPICS} topics"
    )


_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*")
_FIELD = re.compile(r"(keys|secondary|logic|constant|private|priority|order)\s*:\s*(.*)", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```|~~~)")
_YES, _NO = {"yes", "true", "on"}, {"no", "false", "off"}


def character_of(text: str, where: str, name: str) -> Character:
    """Return the character that a TOML text describes; `name` is theirs when the text gives none.

    `where` is what errors call the text. Raises CharacterError.
    """
    written = _validated(_WrittenCharacter, _toml(text, where), where)
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
    )


def lore_of_toml(text: str, where: str) -> tuple[LoreEntry, ...]:
    """Return the entries of a TOML text of `[[lore]]` tables. Raises CharacterError."""
    return tuple(one.entry() for one in _validated(_WrittenLoreFile, _toml(text, where), where).lore)


def topics_of_toml(text: str, where: str) -> tuple[Topic, ...]:
    """Return the topics of a TOML text of `[[topic]]` tables. Raises CharacterError."""
    return tuple(one.topic() for one in _validated(_WrittenTopicFile, _toml(text, where), where).topic)


def lore_of_markdown(text: str, where: str) -> tuple[LoreEntry, ...]:
    """Return the entries of a Markdown text: a heading, its `keys:`, its text. Raises CharacterError."""
    entries = []
    for line, data in _sections(text, where):
        entries.append(_validated(_WrittenLore, data, f"{where}, line {line}").entry())
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
        near = get_close_matches(str(path[-1]), table.model_fields, n=1)
        meant = f"; did you mean {near[0]}?" if near else f"; those there are: {', '.join(table.model_fields)}"
        return f"{place}: there is no such field{meant}"
    if first["type"] == "missing":
        return f"{place} is missing"
    return f"{place}: give {described}" if described else f"{place}: {first['msg'].lower()}"


_INNER: dict[str, type[BaseModel]] = {
    "lore": _WrittenLore,
    "topic": _WrittenTopic,
    "examples": _WrittenExample,
    "lorebook": _WrittenBook,
}


def _at(model: type[BaseModel], path: list[int | str]) -> tuple[type[BaseModel], str]:
    """Return the table that holds the last part of the path, and which values are right there."""
    table, described = model, ""
    for part in path:
        if isinstance(part, str) and part in table.model_fields:
            described = table.model_fields[part].description or described
            table = _INNER.get(part, table) if part != path[-1] else table
    return table, described
