"""Gives or refuses an assistant leave for what it asks; the player who decides must be able to do it themselves."""

from __future__ import annotations

from typing import Any

from assistant.service.wording.rights import approvals_text, covered_text
from assistant.worlds.evennia.console.naming import awake_assistant, split_assistant
from assistant.worlds.evennia.console.typed_command import Answer, CommandRefused, TypedCommand
from assistant.worlds.evennia.identity.principals import principal_of
from tools import Denied

_MAX_DIGITS = 9


def approve(typed: TypedCommand) -> Answer:
    """Show what an assistant asks leave for, or allow one of the requests, once."""
    return _decide(typed, allow=True)


def deny(typed: TypedCommand) -> Answer:
    """Show what an assistant asks leave for, or refuse one of the requests."""
    return _decide(typed, allow=False)


def _decide(typed: TypedCommand, *, allow: bool) -> str:
    word = "approve" if allow else "deny"
    usage = f"assistant/{word} NAME [number]"
    character, rest = split_assistant(" ".join(filter(None, (typed.left, typed.right))), usage)
    assistant = awake_assistant(character)
    if not rest:
        asked = assistant.context.approvals.pending()
        how = f"\nTo decide: assistant/{word} {character.key} NUMBER" if asked else ""
        return f"{character.key} asks leave for:\n{approvals_text(asked)}{how}"
    if not rest.isdigit() or len(rest) > _MAX_DIGITS:
        raise CommandRefused(f"Give the number of a request: {usage}")
    number, who = int(rest), _decider(typed)
    answer = assistant.approve(number, who) if allow else assistant.decline(number, who)
    if isinstance(answer, Denied):
        return f"{answer.reason} What waits: assistant/{word} {character.key}"
    what = covered_text(answer.pending)
    return f"{character.key} may do this once: {what}" if allow else f"{character.key} may not do this: {what}"


def _decider(typed: TypedCommand) -> Any:
    """Return the player who decides, with the permission they have now."""
    return principal_of(typed.who, typed.who)
