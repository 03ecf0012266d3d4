"""Who an object of the game is to an assistant."""

from __future__ import annotations

from typing import Any

from assistant.worlds.evennia.ladder import TOP, Ladder, permission_of
from assistant.worlds.evennia.words import visible_name
from tools.principal import Kind, Principal

#: What has no object behind it.
THE_WORLD = Principal("world", "the world", Kind.WORLD, permission=0)


def principal_of(subject: Any, looker: Any, ladder: Ladder | None = None) -> Principal:
    """The principal of an object, an account, a session or None, named as `looker` sees it.

    Somebody who is or ever was played is a player; a character nobody played, a thing, a room are the world's.
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
    """The most that the words of a thing count for: those of who made it, where somebody did."""
    from assistant.worlds.evennia.writers import Writers  # noqa: PLC0415  (it asks this file who is who)

    level = Writers().level_of(thing)
    return TOP if level is None else level


def seen_name(subject: Any, looker: Any) -> str:
    """The name as `looker` sees it, on one line; the key where the game fails to show one."""
    return visible_name(str(subject.get_display_name(looker))) or visible_name(str(subject.key))


def is_assistant(subject: Any) -> bool:
    """Whether it is the character of an assistant, living or not."""
    return bool(getattr(subject, "is_assistant", False))


def is_account(subject: Any) -> bool:
    """Whether it is an account."""
    return getattr(subject, "cmdset_provider_type", "") == "account"


def is_played(subject: Any) -> bool:
    """Whether it is a person's: an account, or an object that has or had one."""
    if is_assistant(subject):
        return False
    if is_account(subject) or subject.account or subject.sessions.count():
        return True
    # Logging out takes the account off the character; what it leaves is where the character stood.
    return bool(subject.attributes.has("prelogout_location"))
