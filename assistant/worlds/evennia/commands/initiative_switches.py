"""Shows and ends what assistants do unasked: what they promised, what they do of their own accord, and who is away."""

from __future__ import annotations

from typing import Any

from mud_assistant.assistant.life.peace import EVERYBODY
from mud_assistant.assistant.service.operations import listed_promises, planning, quiet
from mud_assistant.assistant.service.operations.operators import Operator
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.console.settings_store import operated
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    Switch,
    TypedCommand,
    find_assistant,
    operator_of,
)

PROMISES_USAGE = "assistant/promises NAME [= drop NUMBER]"
QUIET_USAGE = "assistant/quiet NAME (or: all) = on (or: off)"
PLAN_USAGE = "assistant/plan NAME [= PRICE of a million tokens]"
AWAY_USAGE = "assistant/away NAME = on (or: off)"
_DROP, _ON, _OFF, _MAX_DIGITS = "drop", "on", "off", 9


def show_promises(typed: TypedCommand) -> Answer:
    """Show what an assistant has promised to whom, or drop one of it."""
    character = find_assistant(typed.left, PROMISES_USAGE)
    if typed.right is None:
        return _listed(character)
    word, _, number = typed.right.casefold().partition(" ")
    if word != _DROP or not number.isdigit() or len(number) > _MAX_DIGITS:
        raise CommandRefused(f"Type: {PROMISES_USAGE.replace('NAME', character.key)}")
    return _drop(operator_of(typed), character, int(number))


async def _listed(character: Any) -> str:
    there, name = operated(), character.key
    found, now = await listed_promises.promised(there, server.id_of(character)), there.service.clock.seconds()
    return listed_promises.owner_text(name, found, now, f"assistant/promises {name} = drop NUMBER")


async def _drop(who: Operator, character: Any, number: int) -> str:
    there, assistant = operated(), server.id_of(character)
    promise = await listed_promises.numbered(there, assistant, number, f"assistant/promises {character.key}")
    return await listed_promises.drop(there, who, assistant, promise)


def keep_quiet(typed: TypedCommand) -> Answer:
    """Show whether an assistant, or all, may do things of their own accord, or change that."""
    is_all = typed.left.casefold() == EVERYBODY
    whose = EVERYBODY if is_all else server.id_of(find_assistant(typed.left, QUIET_USAGE))
    if typed.right is None:
        return f"It is {_ON if quiet.wanted(operated()).is_quiet(whose) else _OFF}. To change it: {QUIET_USAGE}"
    return quiet.want_quiet(operated(), operator_of(typed), whose, quiet=_is_on(typed.right, QUIET_USAGE))


def send_away(typed: TypedCommand) -> Answer:
    """Show whether an assistant is away, send it away, or let it come back."""
    whose = server.id_of(find_assistant(typed.left, AWAY_USAGE))
    if typed.right is None:
        return f"It is {'away' if quiet.wanted(operated()).is_away(whose) else 'not away'}. To change it: {AWAY_USAGE}"
    return quiet.send_away(operated(), operator_of(typed), whose, away=_is_on(typed.right, AWAY_USAGE))


def plan(typed: TypedCommand) -> Answer:
    """Say what impulses of an assistant would cost in a month."""
    character = find_assistant(typed.left, PLAN_USAGE)
    return _plan(operator_of(typed), server.id_of(character), character.key, typed.right or "")


async def _plan(who: Operator, assistant: str, name: str, price: str) -> str:
    found = await planning.plan(operated(), who, assistant, price)
    how = "" if found.money is not None or price else f" In money: assistant/plan {name} = PRICE of a million tokens."
    return f"{found.sentence}{how} To switch them on: assistant/set {name}/impulses = yes"


def _is_on(text: str, usage: str) -> bool:
    if (word := text.strip().casefold()) not in {_ON, _OFF}:
        raise CommandRefused(f"Type: {usage}")
    return word == _ON


#: The switches of this module, by name.
LIFE_SWITCHES: dict[str, Switch] = {
    "promises": Switch(
        show_promises,
        "NAME [= drop NUMBER]",
        "Shows what it has promised to whom, how each promise stands and why, also while it is stopped; or drops one. "
        "What was asked in private is counted, and its words are not shown.",
        "the promises of the only assistant there is.",
        "assistant/promises Sage = drop 1",
    ),
    "quiet": Switch(
        keep_quiet,
        "NAME (or: all) = on (or: off)",
        "Lets it do nothing of its own accord, over restarts and in every process: no day, no free life, no impulses. "
        "Talk goes on, greetings too, and it keeps its promises.",
        "shows whether it is on.",
        "assistant/quiet all = on",
    ),
    "away": Switch(
        send_away,
        "NAME = on (or: off)",
        "Lets it be away: it does nothing of its own accord and greets nobody. Spoken to, it answers.",
        "shows whether it is away.",
        "assistant/away Sage = on",
    ),
    "plan": Switch(
        plan,
        "NAME [= PRICE of a million tokens]",
        "Estimates what it would cost in a month if its model were asked now and then what to do of its own accord "
        "(the option impulses): from when players were heard in the last days, and what its answers took.",
        "estimates it, in money where the prices of its model are set.",
        "assistant/plan Sage = 0.80",
    ),
}
