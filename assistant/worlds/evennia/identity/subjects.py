"""Tells what a subject of the game is: an assistant, living or not, an account, a player; and its permission."""

from __future__ import annotations

from typing import Any

from assistant.worlds.evennia.identity.ladder import TOP, Ladder

#: The characters that an assistant lives in now. A character enters itself and takes itself out.
LIVING: set[Any] = set()


def living() -> tuple[Any, ...]:
    """Return the characters that an assistant lives in now, in the order of their ids."""
    return tuple(sorted(LIVING, key=lambda character: character.pk))


def is_assistant(subject: Any) -> bool:
    """Tell whether it is the character of an assistant, living or not."""
    return bool(getattr(subject, "is_assistant", False))


def is_account(subject: Any) -> bool:
    """Tell whether it is an account."""
    return getattr(subject, "cmdset_provider_type", "") == "account"


def is_played(subject: Any) -> bool:
    """Tell whether it is a player's: an account, or an object that has or had one."""
    if is_assistant(subject):
        return False
    if is_account(subject) or subject.account or subject.sessions.count():
        return True
    # Logging out takes the account off the character, but leaves the place where the character stood.
    return bool(subject.attributes.has("prelogout_location"))


def permission_of(subject: Any, ladder: Ladder) -> int:
    """Return our step for an account or a character, as the game's locks see it: quelled, puppeting or superuser."""
    if getattr(subject, "is_superuser", False) and subject.locks.lock_bypass:
        return TOP
    return ladder.held(lambda name: bool(subject.locks.check_lockstring(subject, f"dummy:perm({name})")))
