"""Changes the settings of one assistant in a game: its tables are merged over those of the whole game. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from inspect import getsource
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from mud_assistant.assistant.config.playing import OF_A_CHARACTER
from mud_assistant.assistant.config.schema import AssistantConfig, Config, ModelConfig
from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.config.words import allowed, example, problem, read, written

#: The tables whose settings may be named without the table, in the order in which a name is looked up.
_TABLES: dict[str, type[BaseModel]] = {"assistant": AssistantConfig, "model": ModelConfig}
#: The tables that apply only to the whole game.
_GAME_TABLES: dict[str, type[BaseModel]] = {"web": WebConfig}
_NEAR = 5
#: Examples for settings for which neither the default nor the type gives one.
_EXAMPLES = {
    "provider": "ollama",
    "model": "qwen3:4b",
    "url": "http://127.0.0.1:8080/v1",
    "key": "env:OPENAI_API_KEY",
    "temperature": "0.7",
    "prices": "input 0.8, output 4",
    "aliases": "old one, wizard",
    "persona": "You are a grumpy cook.",
    "character": "sage",
    "tools": "say, look, move",
    "fallback_line": "scratches their head and says nothing.",
    "budget_line": "yawns and turns away.",
    "rate_line": "holds up a finger and finishes the thought.",
    "required_permission": "move 0, say 1",
    "denied_commands": "give, home",
    "autonomous": "move, take",
    "quiet_rooms": "chapel, reading room",
    "alerts": "Anna, Ben",
    "search_provider": "tavily, duckduckgo",
    "read_provider": "direct, jina",
    "allow_domains": "wikipedia.org, example.com",
    "block_domains": "example.com",
    "allow_private": "nas.lan, 192.168.7.0/24",
    "asking": "plain",
    "server_tools": "web_search",
    "extra_params": "{ top_p = 0.9 }",
    "keep_alive": "30m",
    "organization": "org-abc123",
    "project": "proj-abc123",
    "betas": "context-1m-2025-08-07",
    "api_version": "2023-06-01",
    "thinking_tokens": "2048",
    "referer": "https://my-game.example",
    "title": "My Game",
    "token_table": "o200k_base.tiktoken",
}


class Option(NamedTuple):
    """One setting: its name, value and meaning, whether it was set here, and which values are allowed.

    `value`, `default` and `example` are written as a person types them.
    """

    name: str
    value: str
    meaning: str
    is_set: bool
    default: str
    allowed: str
    example: str


def merged(base: Mapping[str, Any], *overrides: Mapping[str, Any]) -> Config:
    """Return the settings of tables merged over each other, the last on top. Raises SettingsError with one sentence."""
    whole: dict[str, Any] = {}
    for layer in (base, *overrides):
        if isinstance(table := layer.get("assistant"), Mapping) and table.get("character"):
            for field in OF_A_CHARACTER:  # a character chosen here comes before what was set further out
                whole.get("assistant", {}).pop(field, None)
        _lay(whole, layer)
    try:
        return Config.model_validate(whole)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"] if part != "assistant") or "the settings"
        raise SettingsError(f"{name}: {problem(Config, first['loc'], first['type'], first['msg'])}") from error


def with_option(
    overrides: Mapping[str, Any], name: str, text: str, tables: Mapping[str, type[BaseModel]] = _TABLES
) -> dict[str, Any]:
    """Return the overrides with one more setting, read as people type it: `7`, `yes`, `old one, wizard`, `move 0`.

    Raises SettingsError, which says what is allowed with an example, or lists names similar to the one typed.
    """
    table, field = _place(name, tables)
    info = tables[table].model_fields[field]
    changed = deepcopy(dict(overrides))
    changed[table] = {**changed.get(table, {}), field: read(info, text)}
    try:
        merged(changed)
    except SettingsError as error:
        name, _, what = str(error).partition(": ")
        said = f"{field}: {what}" if field in name.split(".") else str(error).removeprefix(f"{table}: ")
        raise SettingsError(f"{said.rstrip('.')}, as in: {field} = {_example(field, info)}") from None
    return changed


def with_web_option(overrides: Mapping[str, Any], name: str, text: str) -> dict[str, Any]:
    """Return the game-wide overrides with one more setting of the web. Raises SettingsError as `with_option` does."""
    return with_option(overrides, name, text, _GAME_TABLES)


def without_option(
    overrides: Mapping[str, Any], name: str, tables: Mapping[str, type[BaseModel]] = _TABLES
) -> dict[str, Any]:
    """Return the overrides without one setting, so that the game's value applies again.

    Raises SettingsError when there is no such setting.
    """
    table, field = _place(name, tables)
    changed = deepcopy(dict(overrides))
    changed.get(table, {}).pop(field, None)
    if not changed.get(table, True):
        del changed[table]
    return changed


def without_web_option(overrides: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the game-wide overrides without one setting of the web.

    Raises SettingsError when there is no such setting.
    """
    return without_option(overrides, name, _GAME_TABLES)


def shown_options(config: Config, overrides: Mapping[str, Any]) -> list[Option]:
    """Return every setting that can be set for one assistant, with its value."""
    return [_option(config, overrides, table, name) for table, model in _TABLES.items() for name in model.model_fields]


def web_options(config: Config, overrides: Mapping[str, Any]) -> list[Option]:
    """Return the web settings, which apply to the whole game, with their values; without those of single providers."""
    return [
        _option(config, overrides, "web", name)._replace(name=name)
        for name in WebConfig.model_fields
        if name != "providers"
    ]


def find_option(name: str) -> tuple[str, str]:
    """Return the table and the field of a setting as people name it, also of the web. Raises SettingsError."""
    table, _, rest = name.strip().casefold().partition(".")
    return _place(rest, _GAME_TABLES) if table == "web" else _place(name, _TABLES)


def _option(config: Config, overrides: Mapping[str, Any], table: str, name: str) -> Option:
    model: type[BaseModel] = {**_TABLES, **_GAME_TABLES}[table]
    info = model.model_fields[name]
    return Option(
        name if table == "assistant" else f"{table}.{name}",
        written(getattr(getattr(config, table), name)),
        meanings(model).get(name, ""),
        name in overrides.get(table, {}),
        written(info.get_default(call_default_factory=True)),
        allowed(info),
        _example(name, info),
    )


def _example(name: str, info: FieldInfo) -> str:
    return _EXAMPLES.get(name) or example(info)


def _lay(under: dict[str, Any], over: Mapping[str, Any]) -> None:
    """Merge the tables of `over` into `under`, in place. A value that is no table replaces the old one."""
    for name, value in over.items():
        if isinstance(value, Mapping) and isinstance(under.get(name), dict):
            _lay(under[name], value)
        else:
            under[name] = deepcopy(dict(value)) if isinstance(value, Mapping) else deepcopy(value)


def _place(name: str, tables: Mapping[str, type[BaseModel]]) -> tuple[str, str]:
    """Return the table and the field of a name. Raises SettingsError."""
    wanted = name.strip().casefold().replace("-", "_")
    table, dot, field = wanted.partition(".")
    if dot and table in tables and field in tables[table].model_fields:
        return table, field
    for known, model in tables.items():
        if wanted in model.model_fields:
            return known, wanted
    names = [option for model in tables.values() for option in model.model_fields]
    near = get_close_matches(field or wanted, names, n=_NEAR, cutoff=0.5) or sorted(names)
    raise SettingsError(f"there is no setting '{name.strip()[:40]}'; those like it: {', '.join(near)}")


@cache
def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the `#:` comment above each field of a settings class, which the owner is shown."""
    found: dict[str, str] = {}
    said: list[str] = []
    sources = [getsource(part) for part in model.__mro__ if issubclass(part, BaseModel) and part is not BaseModel]
    for line in map(str.strip, "\n".join(sources).splitlines()):
        if line.startswith("#:"):
            said.append(line.removeprefix("#:").strip())
        else:
            name = line.partition(":")[0]
            if said and name.isidentifier():
                found[name] = " ".join(said)
            said = []
    return found
