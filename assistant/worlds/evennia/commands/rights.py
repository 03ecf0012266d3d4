"""The commands of players: see who is an AI, not be heard by it, be forgotten, see what is remembered of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from evennia import Command
from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations import players
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.assistant.worlds.evennia.console.alerts import may_mend, troubles_of
from mud_assistant.assistant.worlds.evennia.console.showing import table
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    find_among,
)
from mud_assistant.tools import Principal

_HELP = "AI characters"
_FORGET_ONE = "forget me <name> = <number>"


class PlayerCommand(Command):  # type: ignore[misc]  # Evennia has no types
    """A command that every player has, with or without a character."""

    help_category = _HELP
    locks = "cmd:all()"
    account_caller = True
    auto_help = True
    #: Returns the answer of the command; each class has its own.
    answer: Callable[[TypedCommand], Answer]

    def func(self) -> None:
        """Answer the command."""
        account = getattr(self.caller, "account", None) or self.caller
        character = self.caller if self.caller is not account else None
        TypedCommand(account, character, self.args.strip(), width=self.client_width()).run(
            self.answer, f"the command {self.key}"
        )


class CmdAssistants(PlayerCommand):
    """
    See which characters are an AI.

    Usage:
      assistants

    Lists the AI characters of the game, and which of them are here with you.
    See also: help mute, help forget me, help what do you remember
    """

    key = "assistants"

    def answer(self, typed: TypedCommand) -> Answer:
        """List every living assistant, marked as an AI."""
        here = typed.character.location if typed.character is not None else None
        rows = [
            (
                character.key,
                "AI",
                "here" if here is not None and character.location == here else "elsewhere",
                _how(character),
            )
            for character in creation.assistants()
            if server.runner_of(character) is not None
        ]
        if rows:
            rows.sort(key=lambda row: (row[2] != "here", row[0].casefold()))
            shown = table(("name", "", "where", ""), rows, typed.width)
        else:
            shown = _why_none(typed)
        return "\n".join([shown, *(troubles_of(None) if may_mend(typed.who) else ())])


def _why_none(typed: TypedCommand) -> str:
    """Say why no assistant is listed: there is none, or all are stopped, or none can live."""
    there = creation.assistants()
    if not there:
        return "No AI character is in the game."
    if not all(creation.is_off(character) for character in there):
        return "No AI character can hear or answer just now."
    remedy = " To start them: assistant/start all" if may_mend(typed.who) else ""
    return f"All AI characters are stopped: none hears or answers.{remedy}"


def _how(character: Any) -> str:
    """Say that an assistant cannot answer now, empty when it can; the reason is shown only to admins."""
    runner = server.runner_of(character)
    is_well = runner is not None and str(runner.state) == "awake" and not runner.emergency
    return "" if is_well else "cannot think just now"


class CmdMute(PlayerCommand):
    """
    Let an AI character neither hear nor remember you.

    Usage:
      mute <name>

    From now on the AI character neither hears nor remembers what you say and do. It still sees others, who may tell
    it of you. To end it: unmute <name>
    """

    key = "mute"

    def answer(self, typed: TypedCommand) -> Answer:
        """Mute the player for the assistant."""
        there = _assistant_of(typed, "mute <name>")
        return once(typed, players.mute(there, people_of(typed), again=f"unmute {there.context.body.me.name}"))


class CmdUnmute(PlayerCommand):
    """
    Let an AI character hear you again.

    Usage:
      unmute <name>
    """

    key = "unmute"

    def answer(self, typed: TypedCommand) -> Answer:
        """Let the assistant hear the player again."""
        return once(typed, players.unmute(_assistant_of(typed, "unmute <name>"), people_of(typed)))


class CmdForgetMe(PlayerCommand):
    """
    Let AI characters forget you.

    Usage:
      forget me [<name>]
      forget me <name> = <number>

    Deletes for good what one AI character remembers and has in mind of you, and the records of what it answered you;
    without a name, what all of them have. With a number it deletes only what "what do you remember" lists under it.
    """

    key = "forget me"

    def answer(self, typed: TypedCommand) -> Answer:
        """Delete what the assistants remember of the player, and say what was deleted."""
        name, equals, number = typed.left.partition("=")
        if equals:
            there, wanted = _assistant_of(replace(typed, left=name.strip()), _FORGET_ONE), number.strip()
            meant = int(wanted) if wanted.isdecimal() else 0
            listed = f"what do you remember {there.context.body.me.name}"
            return once(typed, players.forget_one(there, people_of(typed), meant, listed))
        return once(typed, _forgotten(typed, assistants_of(typed, "forget me [<name>]")))


class CmdRemember(PlayerCommand):
    """
    Ask AI characters what they remember of you.

    Usage:
      what do you remember [<name>]

    Shows by number what one AI character remembers of you, and how much it has in mind; without a name, what all of
    them do. To delete one thing: forget me <name> = <number>. To delete all: forget me [<name>]
    """

    key = "what do you remember"

    def answer(self, typed: TypedCommand) -> Answer:
        """Show what the assistants remember of the player."""
        return once(typed, _remembered(typed, assistants_of(typed, "what do you remember [<name>]")))


PLAYER_COMMANDS = (CmdAssistants, CmdMute, CmdUnmute, CmdForgetMe, CmdRemember)


def people_of(typed: TypedCommand) -> list[Principal]:
    """Return the principals an assistant may know the player as: their characters, the present one and the account."""
    account = typed.account
    played = [character for character in account.characters.all() if character is not None]
    if typed.character is not None and typed.character not in played:
        played.append(typed.character)
    return [principal_of(one, one) for one in (*played, account)]


def _living() -> list[Any]:
    """Return the characters of the living assistants. Raises CommandRefused when there is none."""
    there = [one for one in creation.assistants() if server.runner_of(one) is not None]
    if not there:
        raise CommandRefused("No AI character is in the game.")
    return there


def _assistant_of(typed: TypedCommand, usage: str) -> Assistant:
    """Return the one assistant that is meant. Raises CommandRefused."""
    return _thinking(find_among(_living(), typed.left, usage))


def assistants_of(typed: TypedCommand, usage: str) -> list[Assistant]:
    """Return the assistant that is meant, or all that live. Raises CommandRefused."""
    meant = [find_among(_living(), typed.left, usage)] if typed.left else _living()
    return [_thinking(one) for one in meant]


def _thinking(character: Any) -> Assistant:
    """Return the character's assistant. Raises CommandRefused; the reason is shown only to admins."""
    runner = server.runner_of(character)
    if runner is None or runner.assistant is None:
        raise CommandRefused(
            f"{character.key} cannot think just now, so nothing was done. Try again later. See: assistants"
        )
    return runner.assistant


def once(typed: TypedCommand, work: Coroutine[Deferred[Any], Any, str]) -> Answer:
    """Do the work unless the same player waits for another answer: each may cost a search through the journal."""
    if typed.account.ndb.assistant_asked:
        work.close()
        raise CommandRefused("One thing at a time: you are answered in a moment.")
    typed.account.ndb.assistant_asked = True
    return _counted(typed, work)


async def _counted(typed: TypedCommand, work: Coroutine[Deferred[Any], Any, str]) -> str:
    try:
        return await work
    finally:
        typed.account.ndb.assistant_asked = None


async def _forgotten(typed: TypedCommand, assistants: Sequence[Assistant]) -> str:
    return "\n".join([await players.forget(one, people_of(typed)) for one in assistants])


async def _remembered(typed: TypedCommand, assistants: Sequence[Assistant]) -> str:
    people = people_of(typed)
    told = [await players.remembered(one, people, f"forget me {one.context.body.me.name} =") for one in assistants]
    return "\n".join(one.rstrip("\n") for one in told)
