"""Sets values in the text of a TOML file, and leaves comments, order and everything else as they are. Pure.

The text is changed line by line, and the result is compared with what it must mean. A file whose style this cannot
handle is refused, and never damaged.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.toml_text import parse_toml

Value = str | bool | float | Sequence[str] | Mapping[str, object]
Path = tuple[str, ...]

_NAME = r"(?:\"[^\"\\]+\"|'[^']+'|[\w-]+)"
_NAMES = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_NAMES})\s*\]")
_KEY = re.compile(rf"\s*({_NAMES})\s*=\s*")


class CannotEdit(Exception):
    """The file is written in a style that cannot be changed line by line."""


class _Place(Struct, frozen=True):
    """The lines from `first` to before `last`: a table's header, or one setting, whose path is then `name`."""

    table: tuple[str | int, ...]
    first: int
    last: int
    name: tuple[str | int, ...] | None = None


def edited(text: str, changes: Mapping[Path, Value | None]) -> str:
    """Return the text with each path set to its value; None removes the setting. Raises CannotEdit."""
    wanted: dict[str, Any] = parse_toml(text)
    for path, value in changes.items():
        if _get(wanted, path) == _plain(value):
            continue
        wanted = _changed(wanted, path, value)
        text = _with(text, path, value)
        try:
            is_right = _full(parse_toml(text)) == _full(wanted)
        except tomllib.TOMLDecodeError:
            is_right = False
        if not is_right:
            raise CannotEdit(".".join(path))
    return text


def written(value: Value) -> str:
    """Format the value as TOML. A text must be one line of printable characters."""
    if isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_name(key)} = {written(part)}' for key, part in value.items())} }}"  # type: ignore[arg-type]  # as TOML has it
    return f"[{', '.join(map(written, value))}]"


def _name(key: str) -> str:
    """Return a key as TOML has it, in quotes where it needs them."""
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key, ensure_ascii=False)


def _plain(value: Value | None) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}  # type: ignore[arg-type]  # as TOML has it
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _get(data: Mapping[str, Any], path: Path) -> object:
    """Return the value at a path, or None when there is none."""
    for part in path[:-1]:
        inner = data.get(part)
        if not isinstance(inner, Mapping):
            return None
        data = inner
    return data.get(path[-1])


def _changed(data: Mapping[str, Any], path: Path, value: Value | None) -> dict[str, Any]:
    """Return the data that the file must mean afterwards. Raises CannotEdit where a table is another kind of value."""
    whole: dict[str, Any] = deepcopy(dict(data))
    table = whole
    for part in path[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise CannotEdit(".".join(path))
    if value is None:
        table.pop(path[-1], None)
    else:
        table[path[-1]] = _plain(value)
    return whole


def _full(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data without empty tables, which mean nothing."""
    inner = {name: _full(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: value for name, value in inner.items() if value != {}}


def _with(text: str, path: Path, value: Value | None) -> str:
    lines = text.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    places = list(_places(lines))
    found = next((place for place in places if place.name == path), None)
    if found is not None:
        new = [] if value is None else [_replaced(lines[found.first : found.last], value)]
        lines[found.first : found.last] = new
    elif value is not None:
        line = f"{path[-1]} = {written(value)}{end}"
        table = [place for place in places if place.table == path[:-1]]
        if table:
            lines.insert(table[-1].last, line)
        else:
            _append(lines, [f"[{'.'.join(path[:-1])}]{end}", line], end)
    return "\n".join(lines)


def _append(lines: list[str], new: Sequence[str], end: str) -> None:
    """Add lines at the end, after an empty one."""
    while lines and not lines[-1].strip():
        lines.pop()
    lines += [*([end] if lines else []), *new, ""]


def _replaced(old: Sequence[str], value: Value) -> str:
    """Return the line with another value; the name and a comment after the value are kept."""
    key = _KEY.match(old[0])
    assert key is not None
    line = old[0].removesuffix("\r")
    comment = next(
        (f"  {line[at:]}" for at, sign in enumerate(line) if sign == "#" and _parses(line[:at]) and len(old) == 1), ""
    )
    return f"{key.group(0)}{written(value)}{comment}{old[0][len(line) :]}"


def _places(lines: Sequence[str]) -> Iterator[_Place]:
    """Find every header and every setting; a setting has all lines of its value."""
    table: tuple[str | int, ...] = ()
    counts: Counter[tuple[str | int, ...]] = Counter()
    at = 0
    while at < len(lines):
        last = at + 1
        if header := _TABLE.match(lines[at]):
            table = _split(header.group(2))
            if header.group(1) == "[[":
                counts[table] += 1
            if counts[table]:
                table = (*table, counts[table] - 1)
            yield _Place(table, at, last)
        elif key := _KEY.match(lines[at]):
            last = _end(lines, at)
            yield _Place(table, at, last, (*table, *_split(key.group(1))))
        at = last


def _end(lines: Sequence[str], first: int) -> int:
    """Return the index after the last line of the value that begins here."""
    for last in range(first + 1, len(lines) + 1):
        if _parses("\n".join((*lines[first:last], ""))):
            return last
    return first + 1


def _parses(text: str) -> bool:
    try:
        parse_toml(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _split(names: str) -> tuple[str, ...]:
    """Split a dotted name into its parts, and remove their quotes."""
    return tuple(part.strip("\"'") for part in re.findall(_NAME, names))
