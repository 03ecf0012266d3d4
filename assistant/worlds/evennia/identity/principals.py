"""The principals that objects of the game are to an assistant."""

from __future__ import annotations

from typing import Any

from assistant.worlds.evennia.identity.ladder import TOP, Ladder
from assistant.worlds.evennia.identity.subjects import is_account, is_assistant, is_played, permission_of
from assistant.worlds.evennia.identity.words import visible_name
from assistant.worlds.evennia.identity.writers import Writers
from tools.trust import Kind, Principal

#: The principal of events that have no object behind them.
THE_WORLD = Principal("world", "the world", Kind.WORLD, permission=0)


def principal_of(subject: Any, looker: Any, ladder: Ladder | None = None) -> Principal:
    """Return the principal of an object, an account, a session or None, named as `looker` sees it.

    A subject that is or ever was played is a player. A character that was never played, a thing and a room are the
    world's.
    """
    if subject is None:
        return THE_WORLD
    if getattr(subject, "cmdset_provider_type", "") == "session":
        subject = subject.get_puppet_or_account()
        return principal_of(subject, looker, ladder)
    name = seen_name(subject, looker)
    if is_assistant(subject):
        return Principal(f"assistant:{subject.pk}", name, Kind.ASSISTANT, permission=0)
    if not is_played(subject):
        return Principal(f"thing:{subject.pk}", name, Kind.WORLD, permission=0, trust=_trust(subject))
    permission = permission_of(subject, ladder or Ladder.of_game())
    return Principal(f"{'account' if is_account(subject) else 'character'}:{subject.pk}", name, Kind.PLAYER, permission)


def _trust(thing: Any) -> int:
    """Return the highest level that the words of a thing count for: its maker's, or TOP when the game made it."""
    level = Writers().level_of(thing)
    return TOP if level is None else level


def seen_name(subject: Any, looker: Any) -> str:
    """Return the name as `looker` sees it, on one line; the key where the game shows none."""
    return visible_name(str(subject.get_display_name(looker))) or visible_name(str(subject.key))
