"""Finds the command that a typed line means in Evennia, its name, and the permission that the game asks for.

The game's own command sets and parser decide. Nicks are not replaced: a player who could plant one could rewrite what
the assistant types.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from twisted.internet.defer import CancelledError, maybeDeferred
from twisted.logger import Logger

from mud_assistant.assistant.worlds.evennia.body.border import escape
from mud_assistant.assistant.worlds.evennia.body.identity import TOP, Ladder, principal_of
from mud_assistant.assistant.worlds.evennia.body.running import EvenniaCommand, find_targets
from mud_assistant.assistant.worlds.evennia.body.scenery import people
from mud_assistant.tools.errors import ToolFailed

_log = Logger()

MAX_LINE = 500
#: The tools that type a command of the game, and the command.
_COMMAND_OF = {"take": "get", "drop": "drop", "give": "give"}
#: Stock commands evaluate these characters (inline functions, formatting) in any text that is typed.
_EVALUATED = re.compile(r"[{}$]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: Speech has its own tools, which clean it, count it and keep it as a person's words.
_SPEAKING = frozenset({"say", "whisper", "pose", "emote", "page", "tell", "channel"})
USE_A_TOOL = "Use the tool say, whisper or emote to speak, not a command."


def without_use(character: Any, *, listens: bool = True) -> frozenset[str]:
    """Return the tools that do nothing here: the character has no home, no command of that kind, or no channel.

    Empty when that cannot be told.
    """
    try:
        known = {word for command in character.cmdset.current for word in (command.key, *command.aliases)}
        without = {tool for tool, word in _COMMAND_OF.items() if word not in known}
        without |= {"home"} if character.home is None else set()
        return frozenset(without if listens else {*without, "channel"})
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the border to any game: then all of its tools are offered
        _log.failure("{name} cannot tell which commands it has", name=character.key)
        return frozenset()


async def resolve(character: Any, line: str, ladder: Ladder) -> EvenniaCommand:
    """Return the command that `line` is for this character. Raises ToolFailed for none, several, or a forbidden one."""
    typed = _acceptable(line)
    with character.printing():  # a broken command set prints an error, which is dropped
        cmdset = await _merged_cmdset(character, typed)
    if cmdset is None:
        raise ToolFailed("There are no commands here.")
    with character.raised_to(ladder.names[-1]):
        matches = await _matches(character, escape(typed), cmdset)
    matches = [match for match in matches if not match[2].key.startswith("__")]
    if len(matches) != 1:
        raise ToolFailed(_which(typed, matches, cmdset))
    name, args, command, raw_name = matches[0][0], matches[0][1], matches[0][2], matches[0][5]
    if _speaks(command, raw_name):
        raise ToolFailed(USE_A_TOOL)
    rank = _rank(command, ladder)
    resolved = EvenniaCommand(
        line=f"{command.key}{args}".strip(),
        name=command.key.casefold(),
        switches=_switches(command, args),
        permission=TOP if rank is None else ladder.needed(rank),
        command=command,
        typed=name,
        args=args,
        cmdset=cmdset,
        rank=rank or ladder.names[-1],
    )
    return replace(
        resolved,
        affects=lambda: find_targets(character, resolved),
        people=lambda: _find_people(character, resolved),
    )


def _find_people(character: Any, command: EvenniaCommand) -> frozenset[str]:
    """Return the ids of the people in the room whom the command would act on now. Raises ToolFailed."""
    meant = {target.id for target in find_targets(character, command)}
    there = (one for one in people(character) if f"#{one.pk}" in meant)
    return frozenset(principal_of(one, character).id for one in there)


def _acceptable(line: str) -> str:
    """Return the line if nothing in it is evaluated or hidden. Raises ToolFailed that says what is wrong with it."""
    typed = line.strip()
    if len(typed) > MAX_LINE:
        raise ToolFailed(f"A command is at most {MAX_LINE} characters long.")
    if _EVALUATED.search(typed) or _CONTROL.search(typed):
        raise ToolFailed("A command must not hold any of { } $ or control characters.")
    return typed


async def _merged_cmdset(character: Any, typed: str) -> Any:
    """Return all commands the character has at its place, merged as the game does it."""
    from evennia.commands.cmdhandler import (  # only where Django is set up
        generate_cmdset_providers,
        get_and_merge_cmdsets,
    )

    _, providers, _, caller, _ = generate_cmdset_providers(character)
    return await get_and_merge_cmdsets(caller, providers, "object", typed)


async def _matches(character: Any, typed: str, cmdset: Any) -> Sequence[Any]:
    """Return what the game's parser finds. Raises ToolFailed for a parser that takes time.

    Permissions are raised while it runs, so it must end at once.
    """
    if not typed:
        return ()
    found = maybeDeferred(_parser(), typed, cmdset, character)
    if not found.called:
        found.addErrback(lambda _: None)
        found.cancel()
        raise ToolFailed("The game could not tell what command that is.")
    matches: Sequence[Any] = await found
    return matches


def _parser() -> Any:
    """Return the parser of this game."""
    from django.conf import settings  # only where Django is set up
    from evennia.utils.utils import variable_from_module

    module, name = settings.COMMAND_PARSER.rsplit(".", 1)
    return variable_from_module(module, name)


def _which(typed: str, matches: Sequence[Any], cmdset: Any) -> str:
    """Say that a line is no command, or more than one."""
    word = typed.split(" ", 1)[0][:60]
    if matches:
        several = ", ".join(sorted({match[2].key for match in matches}))
        return f"More than one command is '{word}': {several}. Say which one."
    there = sorted({command.key for command in cmdset if not command.key.startswith("__") and not command.is_exit})
    return f"There is no command '{word}'. Commands: {', '.join(there)}."


def _speaks(command: Any, raw_name: str) -> bool:
    """Tell whether a command is for speaking, by its own name, a channel's name or its classes."""
    names = {command.key.casefold().lstrip("@+&/"), raw_name.casefold()}
    classes = {kind.__name__ for kind in inspect.getmro(type(command))}
    return bool(names & _SPEAKING) or bool(
        classes & {"CmdSay", "CmdWhisper", "CmdPose", "CmdEmote", "CmdPage", "CmdChannel", "CmdObjectChannel"}
    )


def _switches(command: Any, args: str) -> tuple[str, ...]:
    """Return the switches at the beginning of the arguments, in small letters, with those the command does not know."""
    if not args.startswith("/"):
        return ()
    given = args[1:].split(" ", 1)[0].split("/")
    known = tuple(getattr(command, "switch_options", None) or ())
    return tuple(_whole(switch.casefold(), known) for switch in given if switch)


def _whole(switch: str, known: Sequence[str]) -> str:
    """Return the switch that an abbreviation means, as the game reads it."""
    if switch in known:
        return switch
    fitting = [option for option in known if option.startswith(switch)]
    return fitting[0] if len(fitting) == 1 else switch


def _rank(command: Any, ladder: Ladder) -> str | None:
    """Return the lowest permission of the ladder that suffices by itself, None when none does."""
    return next((name for name in ladder.names if _passes(command, _Somebody(name))), None)


def _passes(command: Any, somebody: _Somebody) -> bool:
    """Tell whether the command's lock lets in a stranger with that permission. A lock that fails counts as closed."""
    try:
        return bool(command.access(somebody, "cmd"))
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - a lock that needs more than a rank cannot be opened by one
        return False


class _NoLocks:
    """The locks of a subject that is checked: they are never bypassed."""

    lock_bypass = False


class _Nothing:
    """A store without attributes and without tags."""

    def get(self, *_: Any, **__: Any) -> None:
        """Return None."""
        return

    def has(self, *_: Any, **__: Any) -> bool:
        """Return False."""
        return False


class _Somebody:
    """A subject with one permission of the ladder and nothing else: no name, no account, no place."""

    is_superuser = False
    account = None
    location = object()  # a place where nothing else is
    id = pk = dbid = None
    key = name = ""

    def __init__(self, permission: str) -> None:
        self._permission = permission.casefold()
        self.permissions = self
        self.locks = _NoLocks()
        self.attributes = self.tags = _Nothing()

    def all(self) -> list[str]:
        """Return the one permission."""
        return [self._permission]


def walking(way: Any, rank: str) -> EvenniaCommand:
    """Build the command of an exit: walking through it as any character does."""
    command = next(iter(way.create_exit_cmdset(way)))
    return EvenniaCommand(line=command.key, name=command.key.casefold(), command=command, typed=command.key, rank=rank)
