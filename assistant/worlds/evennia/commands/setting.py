"""Shows and changes how an assistant behaves: its options, its tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from mud_assistant.assistant.config.options import Option, shown_options, with_option, without_option
from mud_assistant.assistant.service.operations import planning
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.worlds.evennia import accounts, creation, server
from mud_assistant.assistant.worlds.evennia.commands import making, persona, thinking
from mud_assistant.assistant.worlds.evennia.console.showing import cut, join_names, paragraph, sentence, table
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    find_assistant,
    split_assistant,
)
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS

SET_USAGE = "assistant/set NAME/option = value"
SHOW_USAGE = "assistant/show NAME [part of an option's name]"
TOOLS_USAGE = "assistant/tools NAME = +tool -tool (or: all, or a list of tools)"
#: The most characters of a value, and of a persona, that are shown.
_VALUE_CHARS, _PERSONA_CHARS = 60, 8000
_ALL = "all"
_NAME = "name"
_OF_IMPULSES = {"impulses", "autonomous", "initiative_share"}
#: The most characters of a value in a table, which leaves room for the meaning.
_CELL = 18
#: Up to so many options are shown in full, more as a table.
_WHOLE = 3


def set_option(typed: TypedCommand) -> Answer:
    """Change one option. Nothing after the "=" removes the assistant's own value, so that the game's applies again."""
    name, slash, option = typed.left.partition("/")
    if not slash or not option.strip() or typed.right is None:
        raise CommandRefused(f"Type: {SET_USAGE} (nothing behind the = takes it back). All options: {SHOW_USAGE}")
    character = find_assistant(name.strip(), SET_USAGE)
    known = meant_option(option, character)
    if known in _ELSEWHERE and typed.right:
        return _ELSEWHERE[known](replace(typed, left=name.strip()))
    if known == _NAME and typed.right:
        return rename(character, typed.right)
    unused = planning.why_no_impulses(server.runner_of(character)) if known in _OF_IMPULSES and typed.right else ""
    shown = change_option(character, known, typed.right)
    how = "kept" if typed.right else "again what the game says"
    return f"{character.key}: {known} = {cut(shown.value, _VALUE_CHARS)} ({how}). {unused}".rstrip()


def change_option(character: Any, option: str, value: str) -> Option:
    """Change one option, which needs no command of its own, and return it. An empty value takes it back.

    Raises SettingsError; nothing is changed then.
    """
    overrides = creation.settings_of(character)
    changed = with_option(overrides, option, value) if value else without_option(overrides, option)
    creation.change_settings(character, changed)
    return next(one for one in options_of(character) if one.name == option)


def rename(character: Any, name: str) -> str:
    """Rename the assistant's character, and say so. Raises CommandRefused and SettingsError."""
    old = character.key
    creation.check_new_name(name, character)
    if (taken := making.why_no_name(name)) and name.casefold() != old.casefold():
        raise CommandRefused(taken)
    try:
        creation.rename_assistant(character, name)
    except accounts.AccountTaken as error:
        raise CommandRefused(f"{sentence(str(error))}") from error
    return (
        f"{old} is named {character.key} now, and remembers what it did. To let it answer to the old name as well: "
        f"assistant/set {character.key}/aliases = {old}"
    )


def show(typed: TypedCommand) -> Answer:
    """Show the options with their values; one or a few of them with all that is known of them."""
    left, slash, pattern = typed.left.partition("/")
    character, rest = split_assistant(left.strip(), SHOW_USAGE)
    wanted = (pattern if slash else typed.right or rest).strip().casefold().replace("-", "_")
    there = options_of(character)
    exact = [one for one in there if wanted and wanted in {one.name, one.name.rpartition(".")[2]}]
    found = exact or [one for one in there if wanted in one.name.casefold()]
    if not found:
        raise CommandRefused(
            f"No option of {character.key} has '{cut(wanted)}' in its name. All: assistant/show {character.key}"
        )
    command = f"assistant/set {character.key}/"
    if len(found) <= _WHOLE:
        return "\n\n".join(option_text(one, command, typed.width) for one in found)
    rows = [("*" if one.is_set else "", one.name, cut(one.value, _CELL), one.meaning) for one in found]
    how = f"* is set here. To read one whole: assistant/show {character.key} OPTION. To change one: {SET_USAGE}"
    return f"{table(('*', 'option', 'value', 'meaning'), rows, typed.width)}\n{paragraph(how, typed.width)}"


def option_text(option: Option, command: str, width: int) -> str:
    """Describe an option in full; `command` is what to type before its name to set it."""
    here = ", set here" if option.is_set else ""
    lines = [
        f"{option.name} = {cut(option.value, _PERSONA_CHARS)}{here}",
        option.meaning,
        f"Allowed: {option.allowed}.",
        f"Without a setting: {option.default}",
        f"Example: {command}{option.name} = {option.example}",
    ]
    return "\n".join(paragraph(line, width, "  ") for line in lines)


def options_of(character: Any) -> list[Option]:
    """Return every option of an assistant."""
    return shown_options(creation.config_of(character), creation.settings_of(character))


def meant_option(text: str, character: Any) -> str:
    """Return the option that is meant: by its whole name, its beginning, or the beginning of its last part.

    Raises SettingsError that lists similar names, and Refused when several names begin like that.
    """
    names = [one.name for one in options_of(character)]
    wanted = text.strip().casefold().replace("-", "_")
    if wanted in names:
        return wanted
    lasts = {name.rpartition(".")[2]: name for name in reversed(names)}
    if wanted in lasts:
        return lasts[wanted]
    if any(name.startswith(wanted) for name in names):
        return match_name(wanted, names, "option")
    if any(last.startswith(wanted) for last in lasts):
        return lasts[match_name(wanted, lasts, "option")]
    without_option({}, text)  # raises SettingsError that names similar ones
    raise CommandRefused(f"There is no option '{cut(text)}'. All: {SHOW_USAGE}")


def tools(typed: TypedCommand) -> Answer:
    """Show which tools an assistant may use, or grant and withdraw some."""
    character = find_assistant(typed.left, TOOLS_USAGE)
    if typed.right is not None:
        grant_tools(character, typed.right)
    return tools_text(character)


def grant_tools(character: Any, text: str) -> None:
    """Grant the tools of "+tool -tool", of a list, or all. Raises CommandRefused and SettingsError."""
    there = tools_of(character)
    overrides = creation.settings_of(character)
    if text.casefold() == _ALL:
        overrides = without_option(overrides, "tools")
    else:
        chosen = _chosen(text, _read_granted(character, there), there)
        overrides.setdefault("assistant", {})["tools"] = chosen
    creation.change_settings(character, overrides)


def tools_text(character: Any) -> str:
    """Say which tools an assistant may use, and which not."""
    there = tools_of(character)
    has = _read_granted(character, there)
    withheld = [name for name in there if name not in has]
    return (
        f"{character.key} may use: {join_names(name for name in there if name in has)}.\n"
        f"Not granted: {join_names(withheld)}. To change that: {TOOLS_USAGE}"
    )


def tools_of(character: Any) -> tuple[str, ...]:
    """Return the names of the tools it could have: the running assistant's, else the game's."""
    runner = server.runner_of(character)
    if runner is not None and runner.assistant is not None:
        return tuple(runner.assistant.context.tools.registry.names())
    own = server.service().config.own_tools.tools if server.is_open() else ()
    return tuple(tool.name for tool in (*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS, *own))


def _read_granted(character: Any, there: tuple[str, ...]) -> frozenset[str]:
    """Return which of these tools are granted."""
    wanted = creation.config_of(character).assistant.tools
    return frozenset(there if wanted is None else (name for name in wanted if name in there))


def _chosen(text: str, has: frozenset[str], there: tuple[str, ...]) -> list[str]:
    """Return the granted tools after "+tool -tool", or those of a list. Raises CommandRefused."""
    words = text.replace(",", " ").split()
    if not words:
        raise CommandRefused(f"An assistant without tools cannot even speak. Type: {TOOLS_USAGE}")
    if all(word[0] in "+-" for word in words):
        chosen = set(has)
        for word in words:
            name = match_name(word[1:], there, "tool")
            chosen = chosen | {name} if word[0] == "+" else chosen - {name}
    elif any(word[0] in "+-" for word in words):
        raise CommandRefused(f"Either a list, or a + or - before each. Type: {TOOLS_USAGE}")
    else:
        chosen = {match_name(word, there, "tool") for word in words}
    return [name for name in there if name in chosen]


#: Options with a command of their own, which checks the value.
_ELSEWHERE: dict[str, Callable[[TypedCommand], Answer]] = {
    "character": persona.persona,
    "tools": tools,
    "model.provider": thinking.provider,
    "model.model": thinking.model,
    "model.key": thinking.key,
}
