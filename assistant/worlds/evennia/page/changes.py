"""The settings that the page shows and changes: those of one assistant, and those of the whole game.

Each is changed by the function behind its command, so that the same is checked and the same is kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mud_assistant.assistant.characters import Character
from mud_assistant.assistant.config.options import Option, shown_options
from mud_assistant.assistant.config.playing import OF_A_CHARACTER, with_character
from mud_assistant.assistant.config.schema import BudgetConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.page.ports import InvalidInput, setting_line
from mud_assistant.assistant.page.values.actions import SettingChanged
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.worlds.evennia import creation, runners
from mud_assistant.assistant.worlds.evennia.commands import setting, spending, thinking, web
from mud_assistant.assistant.worlds.evennia.console.showing import number
from mud_assistant.assistant.worlds.evennia.console.typed_command import scrub
from mud_assistant.assistant.worlds.evennia.stored import game_overrides

_BUDGET = "budget"
_WEB = "web."
#: The limits of the whole game by the names of their options, and their names for the command.
_LIMITS = {f"budget.{table}": which for which, table in spending.GAME_WIDE.items()}
_PER_MINUTE = "budget.player_per_minute"
_MEANINGS = {
    "budget.total": "What all assistants together may use in a day.",
    "budget.assistant": "What each assistant may use in a day, unless it has a limit of its own.",
    "budget.player": "What each player may use in a day.",
    _PER_MINUTE: "How often each player is answered in a minute.",
}
_NO_LIMIT, _NONE = "no limit", "none"
_LIMIT_ALLOWED = "numbers of calls, tokens and money, or: none"
_LIMIT_EXAMPLE = "200 calls 100000 tokens 2.50 money"


# Any: Evennia has no types.
def lines_of(character: Any, played: Character | None = None) -> Sequence[SettingLine]:
    """Return every setting of an assistant, with what set it. `played` is the character it plays. Raises SettingsError.

    What that character adds is shown in place of what would count without it.
    """
    tables = _tables_of_the_game()
    config = creation.config_of(character)
    if played is not None:
        config = config.model_copy(update={"assistant": with_character(config.assistant, played)})
    options = shown_options(config, creation.settings_of(character))
    lines = [_line(option, _set_by(option, tables, plays=played is not None)) for option in options]
    return [*lines, _own_limit(character)]


def lines_of_the_game() -> Sequence[SettingLine]:
    """Return the settings of the whole game that can be changed while it runs. Raises SettingsError."""
    budget = creation.config_with({}).budget
    tables = _tables_of_the_game()
    there = set(tables.get(_BUDGET, {}))
    limits = [_limit_line(name, budget, is_set=name.removeprefix("budget.") in there) for name in _MEANINGS]
    of_web = tables.get("web", {})
    options = [
        _line(one._replace(name=f"{_WEB}{one.name}"), "game" if one.name in of_web else "default")
        for one in web.options_of_the_web()
    ]
    return [*limits, *options]


async def change(character: Any, option: str, value: str, *, force: bool) -> SettingChanged:
    """Change one setting of an assistant. Raises CommandRefused, SettingsError, CharacterError, ServiceNotRunning."""
    known, value = _plain(option), value.strip()
    if known == _BUDGET:
        told = spending.limit_assistant(character, value)
        return SettingChanged(option=known, value=_own_limit(character).value, sentence=told)
    if value and known in _ELSEWHERE:
        told = await _ELSEWHERE[known](character, value, force)
    else:
        changed = setting.change_option(character, known, value)
        how = "kept" if value else "again what the game says"
        told = f"{character.key}: {changed.name} = {changed.value} ({how})."
    shown = next(one for one in setting.options_of(character) if one.name == known)
    return SettingChanged(option=known, value=scrub(shown.value), sentence=scrub(told))


async def change_of_the_game(option: str, value: str) -> SettingChanged:
    """Change one setting of the whole game. Raises CommandRefused, SettingsError, JournalError, ServiceNotRunning."""
    known, value = _plain(option), value.strip()
    if known in _LIMITS:
        told = spending.limit_game(_LIMITS[known], value or _NONE)
    elif known == _PER_MINUTE:
        told = spending.limit_minute(value)
    elif known.startswith(_WEB):
        told = await web.change_web_option(known.removeprefix(_WEB), value)
    else:
        names = ", ".join(line.name for line in lines_of_the_game())
        raise SettingsError(f"there is no setting '{option.strip()[:40]}' of the whole game; there are: {names}")
    shown = next(line.value for line in lines_of_the_game() if line.name == known)
    return SettingChanged(option=known, value=scrub(shown), sentence=scrub(told))


async def _rename(character: Any, value: str, force: bool) -> str:  # noqa: ARG001  (one signature for all)
    return setting.rename(character, value)


async def _tools(character: Any, value: str, force: bool) -> str:  # noqa: ARG001  (the same)
    setting.grant_tools(character, value)
    return setting.tools_text(character)


async def _provider(character: Any, value: str, force: bool) -> str:
    return await _model_change(character, thinking.parse_change(value), force=force)


async def _model(character: Any, value: str, force: bool) -> str:
    return await _model_change(character, thinking.parse_model(value), force=force)


async def _key(character: Any, value: str, force: bool) -> str:
    return await _model_change(character, thinking.parse_key(value, character), force=force)


async def _model_change(character: Any, wanted: thinking.ModelChange, *, force: bool) -> str:
    try:
        return await thinking.change_model(character, replace(wanted, force=True) if force else wanted)
    except thinking.ModelRefused as error:  # whose text says how to force it by a command
        raise InvalidInput(error.cause) from error


#: Settings with a command of their own, which checks the value.
_ELSEWHERE: dict[str, Callable[[Any, str, bool], Awaitable[str]]] = {
    "name": _rename,
    "tools": _tools,
    "model.provider": _provider,
    "model.model": _model,
    "model.key": _key,
}


def _tables_of_the_game() -> dict[str, Any]:
    """Return what the file of settings and the commands say for the whole game, the latter on top."""
    tables = {name: dict(table) for name, table in runners.base().items() if isinstance(table, Mapping)}
    for name, table in game_overrides().items():
        tables[name] = {**tables.get(name, {}), **table} if isinstance(table, Mapping) else table
    return tables


def _set_by(option: Option, tables: Mapping[str, Any], *, plays: bool) -> str:
    """Return what set an option: assistant, character, game or default."""
    if option.is_set:
        return "assistant"
    table, _, field = option.name.rpartition(".")
    if plays and not table and field in OF_A_CHARACTER:
        return "character"
    return "game" if field in tables.get(table or "assistant", {}) else "default"


def _line(option: Option, set_by: str) -> SettingLine:
    return setting_line(option._replace(value=scrub(option.value)), set_by)


def _own_limit(character: Any) -> SettingLine:
    """Return the daily limit of one assistant."""
    limits = creation.config_of(character).budget.assistant
    own = creation.settings_of(character).get(_BUDGET, {}).get("assistant")
    game = _tables_of_the_game().get(_BUDGET, {}).get("assistant")
    return SettingLine(
        name=_BUDGET,
        value=_limit_value(limits),
        meaning="What it may use in a day.",
        set_by="assistant" if own is not None else "game" if game is not None else "default",
        default=_NO_LIMIT,
        allowed=_LIMIT_ALLOWED,
        example=_LIMIT_EXAMPLE,
    )


def _limit_line(name: str, budget: BudgetConfig, *, is_set: bool) -> SettingLine:
    if name == _PER_MINUTE:
        most = budget.player_per_minute
        value, ways, example = _NONE if most is None else number(most), "a whole number from 1 to 999, or: none", "6"
    else:
        value = _limit_value(getattr(budget, name.removeprefix("budget.")))
        ways, example = _LIMIT_ALLOWED, _LIMIT_EXAMPLE
    return SettingLine(
        name=name,
        value=value,
        meaning=_MEANINGS[name],
        set_by="game" if is_set else "default",
        default=_NO_LIMIT,
        allowed=ways,
        example=example,
    )


def _limit_value(limits: Any) -> str:
    parts = [f"{amount:g} {unit}" for unit in spending.UNITS if (amount := getattr(limits, unit)) is not None]
    return " ".join(parts) or _NONE


def _plain(option: str) -> str:
    return option.strip().casefold().replace("-", "_")
