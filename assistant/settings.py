"""Reads `assistant.toml`: the settings, or one sentence that says what is wrong and on which line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assistant.config import Config

DEFAULT_FILE = Path("assistant.toml")

_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
_TABLE = re.compile(r"\s*\[\s*([\w.\"' -]+?)\s*\]")
_KEY = re.compile(r"\s*(?:\"([^\"]+)\"|'([^']+)'|([\w-]+))\s*=")


class SettingsError(ValueError):
    """The settings cannot be used; the message is for their author."""


def read_settings(path: Path | None, overrides: Mapping[str, Mapping[str, Any]]) -> Config:
    """The settings of a file with `overrides` (by table) laid over them.

    No path means `assistant.toml` in this folder, if there is one. Raises SettingsError. Blocks: for start-up only.
    """
    text = _text(path)
    where = str(path or DEFAULT_FILE)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_syntax(where, text, str(error))) from error
    for table, values in overrides.items():
        mine = data.setdefault(table, {})
        if isinstance(mine, dict):
            mine.update(values)
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise SettingsError(_invalid(where, text, error, overrides)) from error


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
    line = int(found.group(1)) if found and found.group(1) else text.count("\n") + 1
    return f"{where}, line {line}: {_AT_LINE.sub('', message).strip()}"


def _invalid(where: str, text: str, error: ValidationError, overrides: Mapping[str, Mapping[str, Any]]) -> str:
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    name = ".".join(path[:2])
    from_option = len(path) > 1 and path[1] in overrides.get(path[0], {})
    place = f"option --{path[1].replace('_', '-')}" if from_option else f"{where}, line {_line_of(text, path)}: {name}"
    return f"{place}: {_problem(first['type'], first['msg'], path)}"


def _problem(kind: str, message: str, path: list[str]) -> str:
    if kind == "extra_forbidden":
        known = _known(path)
        return f"there is no such setting{f'; those there are: {known}' if known else ''}"
    return (
        message.removeprefix("Value error, ").lower()
        if message.startswith("Value error, ")
        else message[0].lower() + message[1:]
    )


def _known(path: list[str]) -> str:
    if len(path) == 1:
        return ", ".join(Config.model_fields)
    table = Config.model_fields.get(path[0])
    fields = getattr(table.annotation, "model_fields", {}) if table else {}
    return ", ".join(fields)


def _line_of(text: str, path: list[str]) -> int:
    """The line that sets this path, or the line of its table, or 1."""
    table, table_line = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = header.group(1)
            table_line = number if table == path[0] else table_line
        elif key := _KEY.match(line):
            name = next(group for group in key.groups() if group)
            if [*table.split("."), name][-len(path[:2]) :] == path[:2] or (not table and name == path[0]):
                return number
    return table_line
