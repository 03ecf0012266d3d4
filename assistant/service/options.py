"""Settings of one assistant as its owner changes them in a game: tables laid over those of the whole game. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from inspect import getsource
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel, ValidationError

from assistant.config import AssistantConfig, Config, ModelConfig
from assistant.settings import SettingsError

#: The tables whose settings go without their table's name, in the order in which a name is looked for.
_TABLES: dict[str, type[BaseModel]] = {"assistant": AssistantConfig, "model": ModelConfig}
_NEAR = 5
_SHOWN_CHARS = 200


class Option(NamedTuple):
    """One setting as it stands: its name, its value as TOML writes it, what it means, whether it was set here."""

    name: str
    value: str
    meaning: str
    is_set: bool


def merged(base: Mapping[str, Any], *overrides: Mapping[str, Any]) -> Config:
    """The settings of tables laid over each other, the last on top. Raises SettingsError with one sentence."""
    whole: dict[str, Any] = {}
    for layer in (base, *overrides):
        _lay(whole, layer)
    try:
        return Config.model_validate(whole)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or "the settings"
        problem = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{name}: {problem[0].lower()}{problem[1:]}") from error


def with_option(overrides: Mapping[str, Any], name: str, text: str) -> dict[str, Any]:
    """The overrides with one setting more, typed as it must be. Raises SettingsError that lists names like it.

    The value is read as TOML, and taken as plain text when it is none: `7`, `0.3`, `true`, `["Sage", "Old Sage"]`.
    """
    table, field = _place(name)
    changed = deepcopy(dict(overrides))
    changed[table] = {**changed.get(table, {}), field: _typed(text)}
    try:
        merged(changed)
    except SettingsError as error:
        changed[table][field] = text.strip()  # a text that looks like a number, such as a name
        try:
            merged(changed)
        except SettingsError:
            raise error from None
    return changed


def without_option(overrides: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The overrides without one setting: what the game says counts again. Raises SettingsError for no such setting."""
    table, field = _place(name)
    changed = deepcopy(dict(overrides))
    changed.get(table, {}).pop(field, None)
    if not changed.get(table, True):
        del changed[table]
    return changed


def shown_options(config: Config, overrides: Mapping[str, Any]) -> list[Option]:
    """Every setting that can be set for one assistant, with its value."""
    return [
        Option(
            name if table == "assistant" else f"{table}.{name}",
            _written(getattr(getattr(config, table), name)),
            meanings(model).get(name, ""),
            name in overrides.get(table, {}),
        )
        for table, model in _TABLES.items()
        for name in model.model_fields
    ]


def _lay(under: dict[str, Any], over: Mapping[str, Any]) -> None:
    """Lay tables over tables; anything else replaces what was there."""
    for name, value in over.items():
        if isinstance(value, Mapping) and isinstance(under.get(name), dict):
            _lay(under[name], value)
        else:
            under[name] = deepcopy(dict(value)) if isinstance(value, Mapping) else deepcopy(value)


def _place(name: str) -> tuple[str, str]:
    """The table and the field of a name. Raises SettingsError."""
    wanted = name.strip().casefold().replace("-", "_")
    table, dot, field = wanted.partition(".")
    if dot and table in _TABLES and field in _TABLES[table].model_fields:
        return table, field
    for known, model in _TABLES.items():
        if wanted in model.model_fields:
            return known, wanted
    names = [option for model in _TABLES.values() for option in model.model_fields]
    near = get_close_matches(field or wanted, names, n=_NEAR, cutoff=0.5) or sorted(names)
    raise SettingsError(f"there is no setting '{name.strip()[:40]}'; those like it: {', '.join(near)}")


def _typed(text: str) -> Any:
    """The value that a text is in TOML, else the text."""
    try:
        return tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def _written(value: Any) -> str:
    """A value as an owner would write it, cut."""
    if value is None:
        return "(not set)"
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_none=True)
    text = orjson.dumps(value).decode()
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


@cache
def meanings(model: type[BaseModel]) -> dict[str, str]:
    """The comment above each field of a settings class: what the owner is told of it."""
    found: dict[str, str] = {}
    said: list[str] = []
    for line in map(str.strip, getsource(model).splitlines()):
        if line.startswith("#:"):
            said.append(line.removeprefix("#:").strip())
        else:
            name = line.partition(":")[0]
            if said and name.isidentifier():
                found[name] = " ".join(said)
            said = []
    return found
