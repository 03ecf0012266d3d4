"""Tells apart the subjects of the game: assistants, those of them that live now, accounts, and players."""

from __future__ import annotations

from typing import Any

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
