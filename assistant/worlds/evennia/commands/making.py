"""Makes, lists, starts, stops and deletes assistants, and takes everything of ours out of a game.

After that the owner can remove the line of mud-assistant in the game's settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB

from mud_assistant.assistant.config.options import with_option
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.service.operations import life
from mud_assistant.assistant.service.operations.operators import Operator
from mud_assistant.assistant.service.operations.personas import find_meant, may_be_a_name
from mud_assistant.assistant.service.wording.characters import played_text
from mud_assistant.assistant.worlds.evennia import accounts, creation, runners, server
from mud_assistant.assistant.worlds.evennia.accounts import AssistantAccount
from mud_assistant.assistant.worlds.evennia.body.identity import is_played
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.assistant.worlds.evennia.commands.persona import played_hints
from mud_assistant.assistant.worlds.evennia.commands.spending import GAME_WIDE
from mud_assistant.assistant.worlds.evennia.console.settings_store import operated
from mud_assistant.assistant.worlds.evennia.console.showing import count_of, cut, join_names, table
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    awake_assistant,
    confirmed,
    find_assistant,
    find_exactly,
    operator_of,
    runner_of,
)
from mud_assistant.assistant.worlds.evennia.install import APP
from mud_assistant.assistant.worlds.evennia.scripts import AssistantScript
from mud_assistant.assistant.worlds.evennia.stored import forget_all, take_commands_from_all

#: The line of the settings that the owner removes after uninstalling.
SETTINGS_LINE = "from mud_assistant.assistant.worlds.evennia.install import install; install(globals())"
CREATE_USAGE = "assistant/create NAME [= who it is, or a CHARACTER]"
FORGET_USAGE = "assistant/forget NAME (or: = memories)"
DELETE_USAGE = "assistant/delete NAME = yes (or: yes, forget)"
UNINSTALL_USAGE = "assistant/uninstall = yes (or: yes, forget)"
_ALL, _MEMORIES = "all", "memories"


def create(typed: TypedCommand) -> Answer:
    """Make an assistant where its maker stands."""
    name = " ".join(typed.left.split())
    if not name:
        raise CommandRefused(f"Give it a name: {CREATE_USAGE}")
    where = typed.character.location if typed.character is not None else None
    if typed.right and may_be_a_name(typed.right):
        _check_name(name)
        return make(name, typed.right, where)
    return _make(name, typed.right or "", where)


async def make(name: str, text: str, where: Any = None) -> str:
    """Make an assistant that plays the character of this name, or is who the words say, and say so.

    It stands in the start room unless a place is given. Raises CommandRefused for a name that is taken,
    InvalidInput when there is no such character, and SettingsError.
    """
    if not (text and may_be_a_name(text)):
        return _make(name, text, where)
    _check_name(name)
    found = await find_meant(operated(), text)
    assert found is not None  # the text can only be a name
    told = _create(name, where, {"assistant": {"character": found.name}})
    return f"{told} {played_text(found, name, ())}{played_hints(found, name)}"


def _make(name: str, persona: str, where: Any) -> str:
    _check_name(name)
    return _create(name, where, with_option({}, "persona", persona) if persona else {})


def _check_name(name: str) -> None:
    """Raise CommandRefused for a name that an assistant must not have."""
    if taken := why_no_name(name):
        raise CommandRefused(taken)


def _create(name: str, where: Any, overrides: Mapping[str, Any]) -> str:
    character = creation.create_assistant(name, where, overrides=overrides)
    place = character.location.key if character.location is not None else "nowhere"
    trouble = runners.trouble_of(character) if server.is_open() else "the service of the assistants is not running"
    how = f" It cannot live yet: {trouble}." if trouble and server.runner_of(character) is None else ""
    return (
        f"{character.key} is here: {place}.{how} See what it is up to: assistant/status {character.key}. "
        f"Choose its model: assistant/provider {character.key}"
    )


def why_no_name(name: str) -> str:
    """Say why no assistant may have this name; empty when one may."""
    if name.casefold() in GAME_WIDE:
        return f"assistant/budget means others by {cut(name)}: choose another name."
    theirs = AccountDB.objects.filter(username__iexact=name)
    if any(not isinstance(one, accounts.AssistantAccount) for one in theirs) or _is_played(name):
        return f"A player is named {cut(name)}, and the two could not be told apart: choose another name."
    return ""


def _is_played(name: str) -> bool:
    """Tell whether a character of this name belongs to a player."""
    return any(is_played(one) for one in ObjectDB.objects.filter(db_key__iexact=name))


def list_all(typed: TypedCommand) -> Answer:
    """Show every assistant."""
    return list_text(typed)


def list_text(typed: TypedCommand) -> str:
    """List every assistant: where it is, its state, and the model it thinks with."""
    there = creation.assistants()
    if not there:
        return f"There is no assistant yet. Make one with: {CREATE_USAGE}"
    head = ("name", "where", "state", "thinks with")
    return table(head, [_line(character) for character in there], typed.width, wraps=True)


def _line(character: Any) -> tuple[str, str, str, str]:
    runner = server.runner_of(character)
    where = character.location.key if character.location is not None else "nowhere"
    if runner is None:
        return character.key, where, state_of(character), runners.trouble_of(character)
    return character.key, where, state_of(character), runner.models[0].why if runner.models else runner.trouble


def state_of(character: Any) -> str:
    """Describe the state of an assistant in a word or two."""
    runner = server.runner_of(character)
    if runner is None:
        return "off" if creation.is_off(character) else "not running"
    return "emergency stop" if runner.emergency else str(runner.state)


def start(typed: TypedCommand) -> Answer:
    """Start an assistant, or all of them; they start again after every restart of the game."""
    if typed.left.casefold() == _ALL:
        return _start_all(operator_of(typed))
    return _start(operator_of(typed), find_assistant(typed.left, "assistant/start NAME (or: all)"))


async def _start(who: Operator, character: Any) -> str:
    there = operated()
    told = await life.start(there, who, there.find(server.id_of(character)))
    return f"{told} See: assistant/status {character.key}"


async def _start_all(who: Operator) -> str:
    """Start each assistant that does not run; one that cannot live does not stop the others."""
    there = operated()
    started, failed = [], []
    for one in there.known():
        if one.id in there.service.runners:
            continue
        try:
            await life.start(there, who, one)
        except SettingsError as error:
            failed.append(f"{one.name} cannot live: {error}")
        else:
            started.append(one.name)
    if not started and not failed:
        return "Every assistant runs already. See: assistant/list"
    return "\n".join([f"Started: {join_names(started)}. See: assistant/list", *failed])


def stop(typed: TypedCommand) -> Answer:
    """Stop an assistant, or all of them, until they are started again."""
    if typed.left.casefold() != _ALL:
        return _stop(operator_of(typed), [find_assistant(typed.left, "assistant/stop NAME (or: all)")])
    living = [one for one in creation.assistants() if server.runner_of(one) is not None]
    if not living:
        return "No assistant runs, so nothing was done."
    if not confirmed(typed.right)[0]:
        raise CommandRefused(
            f"This stops {join_names(one.key for one in living)}, through restarts as well, and nothing was done yet. "
            "If you are sure, type: assistant/stop all = yes. To undo it afterwards: assistant/start all"
        )
    return _stop(operator_of(typed), living)


async def _stop(who: Operator, characters: list[Any]) -> str:
    """Stop them at once, and keep them off; without a service they do not run, and are kept off all the same."""
    told = join_names(character.key for character in characters) + " will not start."
    if server.is_open():
        told = life.halt(operated(), who, [server.id_of(character) for character in characters]).sentence
    for character in characters:
        await creation.stop_assistant(character)
    again = characters[0].key if len(characters) == 1 else _ALL
    return f"{told} This holds through restarts. To start again: assistant/start {again}"


def reset(typed: TypedCommand) -> Answer:
    """Lift the emergency stop."""
    character = find_assistant(typed.left, "assistant/reset NAME")
    runner_of(character)
    return life.reset(operated(), operator_of(typed), server.id_of(character))


def forget(typed: TypedCommand) -> Answer:
    """Clear what an assistant has in mind, with its memories if the owner asks for that."""
    character = find_exactly(typed.left, FORGET_USAGE)
    chosen = (typed.right or "").strip().casefold()
    if typed.right is not None and chosen != _MEMORIES:
        raise CommandRefused(f"Type: {FORGET_USAGE}. With memories it also loses all that it remembers of people.")
    awake_assistant(character)
    return life.clear_mind(operated(), operator_of(typed), server.id_of(character), memories=chosen == _MEMORIES)


def delete(typed: TypedCommand) -> Answer:
    """Delete an assistant for good, with its memory if the owner asks for that."""
    character = find_exactly(typed.left, DELETE_USAGE)
    sure, forget = confirmed(typed.right)
    if not sure:
        raise CommandRefused(
            f"This deletes {character.key} for good, and nothing was done yet. Its memory stays in the journal unless "
            f"it is to be forgotten as well. If you are sure, type: {DELETE_USAGE.replace('NAME', character.key)}"
        )
    return _delete(character, forget=forget)


async def _delete(character: Any, *, forget: bool) -> str:
    name = character.key
    await creation.delete_assistant(character, forget=forget)
    return f"{name} is deleted{', and all it remembered' if forget else '; what it remembered stays in the journal'}."


def uninstall_all(typed: TypedCommand) -> Answer:
    """Delete everything of ours from the game, and say which line of the settings to remove."""
    sure, forget = confirmed(typed.right)
    if not sure:
        names = join_names(one.key for one in creation.assistants())
        raise CommandRefused(
            f"This deletes all assistants from the game ({names}) and cannot be undone. Nothing was done yet. If you "
            f"are sure, type: {UNINSTALL_USAGE}"
        )
    return _uninstall(forget=forget)


async def _uninstall(*, forget: bool) -> str:
    return await uninstall(forget=forget)


async def uninstall(*, forget: bool = False) -> str:
    """Delete every object of ours in the game's database; say what was deleted and what the owner has left to do.

    With `forget`, what the assistants remember is deleted too. Until the line is removed, the game's next start gives
    every account our commands again.
    """
    journal = server.service().config.journal if server.is_open() else None
    there = creation.assistants()
    for character in there:
        await creation.delete_assistant(character, forget=forget)
    left = _leftovers()
    for thing in left:
        thing.delete()
    forget_all()
    take_commands_from_all()
    files = f" Then delete {journal} and the files beside it of the same name." if journal else ""
    return (
        f"Deleted: {count_of(len(there), 'assistant')} and {count_of(len(left), 'other object')} of mud-assistant. Now "
        f"remove this line from server/conf/settings.py and reload the game: {SETTINGS_LINE}{files}"
    )


def _leftovers() -> list[Any]:
    """Return objects of our types: characters without a script, scripts without a character, and accounts."""
    found: list[Any] = []
    for model, kind in ((ScriptDB, AssistantScript), (ObjectDB, AssistantCharacter), (AccountDB, AssistantAccount)):
        ours = model.objects.filter(db_typeclass_path__startswith=f"{APP}.")
        found += [thing for thing in ours if isinstance(thing, kind)]
    return found
