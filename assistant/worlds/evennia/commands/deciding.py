"""Decides what waits for an admin: what an assistant asks leave for, and events that were put aside after crashes.

Leave is given or refused by a player who must be able to do it themselves. A parked event is shown with what was said,
and retried or cleared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations import approving, life
from mud_assistant.assistant.service.operations.approving import ShownRequests
from mud_assistant.assistant.service.operations.operators import OperationRefused, Operator
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.console.settings_store import operated
from mud_assistant.assistant.worlds.evennia.console.showing import paragraph
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    awake_assistant,
    find_assistant,
    operator_of,
    split_assistant,
)
from mud_assistant.tools.text.clean import one_line

_MAX_DIGITS = 9
PARKED_USAGE = "assistant/parked NAME = retry NUMBER (or: clear NUMBER, retry all, clear all)"
#: What follows the number of a request that is allowed for an hour.
_AN_HOUR = frozenset({"hour", "an hour", "for an hour"})
_RETRY, _CLEAR, _ALL = "retry", "clear", "all"


def approve(typed: TypedCommand) -> Answer:
    """Show what an assistant asks leave for, or allow one of the requests, once or for an hour."""
    return _decide(typed, allow=True)


def deny(typed: TypedCommand) -> Answer:
    """Show what an assistant asks leave for, or refuse one of the requests."""
    return _decide(typed, allow=False)


def _decide(typed: TypedCommand, *, allow: bool) -> str:
    word = "approve" if allow else "deny"
    usage = f"assistant/{word} NAME [number{' [hour]' * allow}]"
    character, rest = split_assistant(" ".join(filter(None, (typed.left, typed.right))), usage)
    assistant, shown = awake_assistant(character), _shown_to(typed.account)
    if not rest:
        asks = shown.show(assistant)
        hour = " (for an hour: NUMBER hour)" if allow else ""
        is_asked = bool(assistant.context.tools.approvals.pending())
        how = f"\nTo decide: assistant/{word} {character.key} NUMBER{hour}" if is_asked else ""
        return f"{character.key} asks leave for:\n{asks}{how}{_standing_text(assistant, character.key)}"
    written, _, lasts = rest.casefold().partition(" ")
    for_an_hour = allow and lasts in _AN_HOUR
    if not written.isdigit() or len(written) > _MAX_DIGITS or (lasts and not for_an_hour):
        raise CommandRefused(f"Give the number of a request: {usage}")
    number, who, approvals = int(written), operator_of(typed), assistant.context.tools.approvals
    if not allow and not approvals.waits(number) and any(one.number == number for one in approvals.standing()):
        return approving.revoke(approvals, character.key, who, number)
    try:
        return shown.decide(assistant, who, number, allow=allow, for_an_hour=for_an_hour)
    except OperationRefused as error:
        return f"{error} What waits: assistant/{word} {character.key}"


def _shown_to(account: Any) -> ShownRequests:
    """Return what an account was shown since it came or the game restarted."""
    account.ndb.assistant_requests = shown = account.ndb.assistant_requests or ShownRequests()
    return shown


def _standing_text(assistant: Assistant, name: str) -> str:
    """Return what was allowed for an hour, as the end of what is shown; empty for nothing."""
    lines = [
        f"number {one.number}: {one_line(one.shown)} (for {one_line(one.requester.name)})"
        for one in assistant.context.tools.approvals.standing()
    ]
    if not lines:
        return ""
    return "\n".join(["\nAllowed for an hour:", *lines, f"To end it: assistant/deny {name} NUMBER"])


def parked(typed: TypedCommand) -> Answer:
    """Show what was put aside, try it again, or clear it."""
    character = find_assistant(typed.left, PARKED_USAGE)
    words = (typed.right or "").casefold().split()
    if typed.right is None:
        return _list_parked(typed, character)
    if len(words) != 2 or words[0] not in {_RETRY, _CLEAR}:  # noqa: PLR2004  (what to do, and with which)
        raise CommandRefused(f"Type: {PARKED_USAGE.replace('NAME', character.key)}")
    return _retry_or_clear(operator_of(typed), character, words[0], words[1])


async def _list_parked(typed: TypedCommand, character: Any) -> str:
    """List what was put aside, with numbers. Raises JournalError."""
    awake_assistant(character)
    there = await life.parked(operated(), server.id_of(character))
    if not there:
        return f"Nothing that {character.key} heard is put aside."
    lines = [paragraph(f"{at}. {heard}", typed.width, "   ") for at, (_, heard) in enumerate(there, 1)]
    how = (
        f"To let {character.key} deal with one after all: assistant/parked {character.key} = retry NUMBER. To forget "
        f"about it: assistant/parked {character.key} = clear NUMBER. Instead of a number: all"
    )
    return "\n".join([*lines, paragraph(how, typed.width)])


async def _retry_or_clear(who: Operator, character: Any, what: str, which: str) -> str:
    """Try again or clear the chosen events. Raises JournalError."""
    awake_assistant(character)
    there, id_ = operated(), server.id_of(character)
    events = [event for event, _ in await life.parked(there, id_)]
    return await life.retry(there, who, id_, _chosen(events, which, character.key), clear=what == _CLEAR)


def _chosen(there: Sequence[str], which: str, name: str) -> Sequence[str]:
    """Return the events that a number or "all" means. Raises CommandRefused."""
    if not there:
        raise CommandRefused(f"Nothing that {name} heard is put aside.")
    if which == _ALL:
        return there
    if not (which.isdigit() and len(which) < len("1000000") and 1 <= int(which) <= len(there)):
        raise CommandRefused(f"Give a number from 1 to {len(there)}, or all: see assistant/parked {name}")
    return [there[int(which) - 1]]
