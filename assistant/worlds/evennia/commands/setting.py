"""How an assistant behaves: its options, its persona, its tools."""

from __future__ import annotations

from typing import Any

from assistant.service.options import Option, shown_options, with_option, without_option
from assistant.worlds.evennia import creation, house
from assistant.worlds.evennia.commands import thinking
from assistant.worlds.evennia.commands.naming import meant, named, named_and_rest
from assistant.worlds.evennia.commands.order import Answer, Order, Refused
from assistant.worlds.evennia.commands.showing import cut, listed, table
from tools.world import ACCOUNT_TOOLS, ALL_WORLD_TOOLS

SET_USAGE = "assistant/set NAME/option = value"
SHOW_USAGE = "assistant/show NAME [part of an option's name]"
TOOLS_USAGE = "assistant/tools NAME = +tool -tool (or: all, or a list of tools)"
#: Characters of a value and of a persona that are shown.
_VALUE_CHARS, _PERSONA_CHARS = 60, 8000
_ALL = "all"


def set_option(order: Order) -> Answer:
    """Change one option; with nothing behind the "=" what the game says counts again."""
    name, slash, option = order.left.partition("/")
    if not slash or not option.strip() or order.right is None:
        raise Refused(f"Type: {SET_USAGE} (nothing behind the = takes it back). All options: {SHOW_USAGE}")
    character = named(name.strip(), SET_USAGE)
    known = meant_option(option, character)
    if known == "model.key":
        return thinking.key(Order(order.account, order.character, name.strip(), order.right, order.work))
    overrides = creation.settings_of(character)
    taken_back = not order.right
    overrides = without_option(overrides, known) if taken_back else with_option(overrides, known, order.right)
    creation.change_settings(character, overrides)
    shown = next(one for one in options_of(character) if one.name == known)
    how = "again what the game says" if taken_back else "kept"
    return f"{character.key}: {known} = {cut(shown.value, _VALUE_CHARS)} ({how})."


def show(order: Order) -> Answer:
    """The options with their values and meanings; those set for this assistant are marked."""
    left, slash, pattern = order.left.partition("/")
    character, rest = named_and_rest(left.strip(), SHOW_USAGE)
    wanted = (pattern if slash else order.right or rest).strip().casefold()
    found = [one for one in options_of(character) if wanted in one.name.casefold()]
    if not found:
        raise Refused(
            f"No option of {character.key} has '{cut(wanted)}' in its name. All: assistant/show {character.key}"
        )
    rows = [("*" if one.is_set else "", one.name, one.value, one.meaning) for one in found]
    return f"{table(('', 'option', 'value', 'meaning'), rows)}\n* is set here. To change one: {SET_USAGE}"


def options_of(character: Any) -> list[Option]:
    """Every option of an assistant."""
    return shown_options(creation.config_of(character), creation.settings_of(character))


def meant_option(text: str, character: Any) -> str:
    """The name of the option that is meant: whole, its beginning, or the beginning of what follows its table's name.

    Raises SettingsError that lists names like it, and Refused when several begin so.
    """
    names = [one.name for one in options_of(character)]
    wanted = text.strip().casefold().replace("-", "_")
    if wanted in names:
        return wanted
    lasts = {name.rpartition(".")[2]: name for name in reversed(names)}
    if wanted in lasts:
        return lasts[wanted]
    if any(name.startswith(wanted) for name in names):
        return meant(wanted, names, "option")
    if any(last.startswith(wanted) for last in lasts):
        return lasts[meant(wanted, lasts, "option")]
    without_option({}, text)  # which says what is like it
    raise Refused(f"There is no option '{cut(text)}'. All: {SHOW_USAGE}")


def persona(order: Order) -> Answer:
    """Show who the assistant is, or tell it who it is."""
    character = named(order.left, "assistant/persona NAME [= who it is]")
    if order.right is not None:
        overrides = creation.settings_of(character)
        if order.right:
            overrides.setdefault("assistant", {})["persona"] = order.right
        else:
            overrides = without_option(overrides, "persona")
        creation.change_settings(character, overrides)
    text = creation.config_of(character).assistant.persona
    return f"{character.key}: {text[:_PERSONA_CHARS]}"


def tools(order: Order) -> Answer:
    """Show which tools an assistant may use, or grant and withdraw some."""
    character = named(order.left, TOOLS_USAGE)
    there = tools_of(character)
    if order.right is not None:
        overrides = creation.settings_of(character)
        if order.right.casefold() == _ALL:
            overrides = without_option(overrides, "tools")
        else:
            overrides.setdefault("assistant", {})["tools"] = _chosen(order.right, _granted(character, there), there)
        creation.change_settings(character, overrides)
    has = _granted(character, there)
    withheld = [name for name in there if name not in has]
    return (
        f"{character.key} may use: {listed(name for name in there if name in has)}.\n"
        f"Not granted: {listed(withheld)}. To change that: {TOOLS_USAGE}"
    )


def tools_of(character: Any) -> tuple[str, ...]:
    """The names of the tools there are for it: those of the running assistant, else those of the game."""
    member = house.member_of(character)
    if member is not None and member.assistant is not None:
        return tuple(member.assistant.mind.registry.names())
    return tuple(tool.name for tool in (*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS))


def _granted(character: Any, there: tuple[str, ...]) -> frozenset[str]:
    """What is granted of what is there."""
    wanted = creation.config_of(character).assistant.tools
    return frozenset(there if wanted is None else (name for name in wanted if name in there))


def _chosen(text: str, has: frozenset[str], there: tuple[str, ...]) -> list[str]:
    """The grant after "+tool -tool", or the tools of a list. Raises Refused."""
    words = text.replace(",", " ").split()
    if not words:
        raise Refused(f"An assistant without tools cannot even speak. Type: {TOOLS_USAGE}")
    if all(word[0] in "+-" for word in words):
        chosen = set(has)
        for word in words:
            name = meant(word[1:], there, "tool")
            chosen = chosen | {name} if word[0] == "+" else chosen - {name}
    elif any(word[0] in "+-" for word in words):
        raise Refused(f"Either a list, or a + or - before each. Type: {TOOLS_USAGE}")
    else:
        chosen = {meant(word, there, "tool") for word in words}
    return [name for name in there if name in chosen]
