"""Reads the settings from `assistant.toml`. An error is one sentence that says what is wrong, and on which line."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from twisted.logger import Logger

from mud_assistant.assistant.config.known_providers import AUTO, left_behind
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.words import problem, table_in
from mud_assistant.assistant.errors import AssistantError, did_you_mean
from mud_assistant.assistant.toml_text import parse_toml

DEFAULT_FILE = Path("assistant.toml")
_log = Logger()
#: What settings of `[assistant]` are called now, by the names that they have in files and games made before.
FORMER_NAMES: Mapping[str, str] = {
    "excuse": "fallback_line",
    "excuse_every_seconds": "fallback_every_seconds",
    "budget_excuse": "budget_line",
    "rate_excuse": "rate_line",
    "waking": "waking_line",
    "needs": "required_permission",
}
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
_NAME = r"(?:\"[^\"]+\"|'[^']+'|[\w-]+)"
_NAMES = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_NAMES})\s*\]")
_KEY = re.compile(rf"\s*({_NAMES})\s*=")
#: The path of a setting: names of tables and keys, and numbers in lists, which count from 0.
_Path = tuple[str | int, ...]


class SettingsError(AssistantError, ValueError):
    """The settings cannot be used; the message is for their author."""


def read_settings(path: Path | None, overrides: Mapping[str, Mapping[str, Any]]) -> Config:
    """Return the settings of a file with `overrides` (by table) merged over them.

    No path means `assistant.toml` in this folder, if there is one. Raises SettingsError. Blocks: for start-up only.
    """
    text = _text(path)
    where = str(path or DEFAULT_FILE)
    try:
        tables = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_syntax(where, text, str(error))) from error
    for name in _former_names(tables):
        _log.warn("assistant.{former} is now called assistant.{now}", former=name, now=FORMER_NAMES[name])
    data = with_new_names(tables)
    for table, values in overrides.items():
        mine = data.setdefault(table, {})
        if isinstance(mine, dict):
            if table == "model" and values.get("provider", "") not in {"", mine.get("provider", AUTO)}:
                for option in left_behind(values["provider"], mine):  # those of the file are for its own provider
                    del mine[option]
            mine.update(values)
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise SettingsError(_invalid(where, text, error, overrides)) from error


def former_names(path: Path) -> list[str]:
    """Return which settings of a file have their former names. Raises SettingsError. Blocks."""
    try:
        return _former_names(parse_toml(_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_syntax(str(path), _text(path), str(error))) from error


# Any: TOML of somebody.
def read_tables(text: str) -> dict[str, Any]:
    """Return the tables of a file, each setting under its present name. Raises tomllib.TOMLDecodeError."""
    return with_new_names(parse_toml(text))


def with_new_names(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables with each setting under its present name. Where both names are set, the present one counts."""
    if not _former_names(tables):
        return dict(tables)
    own = tables["assistant"]
    now = {FORMER_NAMES[name]: value for name, value in own.items() if name in FORMER_NAMES}
    return {**tables, "assistant": now | {name: value for name, value in own.items() if name not in FORMER_NAMES}}


def _former_names(tables: Mapping[str, Any]) -> list[str]:
    """Return the former names that these tables use."""
    own = tables.get("assistant")
    return sorted(FORMER_NAMES.keys() & own.keys()) if isinstance(own, Mapping) else []


def _text(path: Path | None) -> str:
    chosen = path or DEFAULT_FILE
    try:
        return chosen.read_text(encoding="utf-8")
    except FileNotFoundError:
        if path is None:
            return ""
        raise SettingsError(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{chosen} is not UTF-8 text") from error
    except OSError as error:
        raise SettingsError(f"{chosen} cannot be read: {error.strerror}") from error


def _syntax(where: str, text: str, message: str) -> str:
    found = _AT_LINE.search(message)
    if found is None:
        return f"{where}: {message}"
    line = int(found.group(1)) if found.group(1) else text.count("\n") + 1
    return f"{where}, line {line}: {_AT_LINE.sub('', message).strip()}"


def _invalid(where: str, text: str, error: ValidationError, overrides: Mapping[str, Mapping[str, Any]]) -> str:
    first = error.errors(include_url=False)[0]
    path = first["loc"]
    option = path[1] if len(path) > 1 and path[1] in overrides.get(str(path[0]), {}) else None
    if option is not None:
        place = f"option --{str(option).replace('_', '-')}"
    else:
        place = f"{where}, line {_line_of(text, path)}: {_name_of(path)}" if path else where
    return f"{place}: {_problem(first['type'], first['msg'], path)}"


def _problem(kind: str, message: str, path: _Path) -> str:
    if kind == "extra_forbidden":
        known = _known(path)
        meant = did_you_mean(str(path[-1]), known)
        those = f"; those there are: {', '.join(known)}" if known else ""
        return f"there is no such setting{those}{f'; {meant}' if meant else ''}"
    return problem(Config, path, kind, message)


def _known(path: _Path) -> Sequence[str]:
    """Return the settings of the table that lacks this one, none when there is no such table."""
    table: Any = Config
    for part in path[:-1]:
        if isinstance(part, str):
            field = getattr(table, "model_fields", {}).get(part)
            table = table_in(field.annotation) if field else table  # a name that the owner chose, as of a model
    return tuple(getattr(table, "model_fields", {}))


def _name_of(path: _Path) -> str:
    """Return the path as the owner writes it, with numbers in lists: fallback[1].model."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def _line_of(text: str, path: _Path) -> int:
    """Return the number of the first line that sets this path, else that of its table, else 1."""
    best_line, best_length = 1, 0
    for number, written in _places(text):
        found = _present(written)
        if path[: len(found)] == found and len(found) > best_length:
            best_line, best_length = number, len(found)
    return best_line


def _present(path: _Path) -> _Path:
    """Return the path with the present name of its setting."""
    match path:
        case ("assistant", str(name), *rest):
            return ("assistant", FORMER_NAMES.get(name, name), *rest)
    return path


def _places(text: str) -> Iterator[tuple[int, _Path]]:
    """Yield the number of every line that begins a table or sets a key, with its path."""
    table: _Path = ()
    counts: Counter[_Path] = Counter()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = _within(_split(header.group(2)), counts)
            if header.group(1) == "[[":
                counts[table] += 1
                table = (*table, counts[table] - 1)
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *_split(key.group(1)))


def _within(names: Sequence[str], counts: Mapping[_Path, int]) -> _Path:
    """Return the path of a header's names. A name before the last that is a list means its last entry."""
    path: _Path = ()
    for name in names:
        if path and path in counts:
            path = (*path, counts[path] - 1)
        path = (*path, name)
    return path


def _split(names: str) -> list[str]:
    """Return the parts of a dotted name, without quotes."""
    return [part.strip("\"'") for part in re.findall(_NAME, names)]
