"""Finds the level of an object's texts by their writer: a player's own, 0 for an assistant, None for the game.

Evennia does not record who set a name or a description. It does record who controls an object: the account that plays
it, and the ids in its `control` and `edit` locks, which the commands that make things set to their maker. The least
trusted of those counts. One that no longer exists counts as a guest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from assistant.worlds.evennia.identity.ladder import PLAYER, Ladder
from assistant.worlds.evennia.identity.subjects import is_account, is_assistant, is_played, permission_of

#: The level of texts whose maker no longer exists: of an object, and of a place.
UNKNOWN, UNKNOWN_OF_A_PLACE = 0, PLAYER
_LOCKS = ("control", "edit")
_MAKER = re.compile(r"(?<!\w)(not\s+)?(p?id)\(\s*#?(\d+)\s*\)", re.IGNORECASE)


class Writers:
    """Looks up writers. Each is looked up once and then remembered, so make a new instance for each look."""

    def __init__(self) -> None:
        self._ladder = Ladder.of_game()
        #: The level of each maker, by the table they are stored in and their number.
        self._makers: dict[tuple[str, int], int | None] = {}

    def level_of(self, subject: Any) -> int | None:
        """Return the level of the texts of an object, an account or a channel; None when they are the game's own."""
        if is_assistant(subject):
            return 0
        gone = UNKNOWN_OF_A_PLACE if _is_place(subject) else UNKNOWN
        makers = [self._maker(kind, number) for kind, number in _named_in_locks(subject)]
        levels = [gone if level is None else level for level in makers]
        if is_account(subject) or (hasattr(subject, "sessions") and is_played(subject)):
            levels.append(permission_of(subject, self._ladder))
        return min(levels, default=None)

    def min_level(self, subjects: Iterable[Any], looker: Any) -> int | None:
        """Return the lowest level of any of them, and of what they hold; None when the game wrote all.

        Looking at a person shows what they carry, and looking at a room shows who is in it. `looker` is left out.
        """
        found = {id(one): one for each in subjects for one in (each, *getattr(each, "contents", ()))}
        levels = [self.level_of(one) for one in found.values() if one is not looker]
        return min((level for level in levels if level is not None), default=None)

    def _maker(self, kind: str, number: int) -> int | None:
        """Return the level of the maker with this number, None when there is no such maker."""
        if (kind, number) not in self._makers:
            self._makers[kind, number] = self._level_of_maker(kind, number)
        return self._makers[kind, number]

    def _level_of_maker(self, kind: str, number: int) -> int | None:
        from evennia.accounts.models import AccountDB  # noqa: PLC0415  (only where Django is set up)
        from evennia.objects.models import ObjectDB  # noqa: PLC0415

        model = AccountDB if kind == "account" else ObjectDB
        maker = model.get_cached_instance(number) or model.objects.filter(pk=number).first()
        if maker is None:
            return None
        return 0 if is_assistant(maker) else permission_of(maker, self._ladder)


def _is_place(subject: Any) -> bool:
    """Tell whether it is a room or an exit."""
    return bool(getattr(subject, "destination", None)) or getattr(subject, "location", subject) is None


def _named_in_locks(subject: Any) -> set[tuple[str, int]]:
    """Return the ids in the locks for changing it; a channel's locks name accounts, other locks name objects."""
    locks = getattr(subject, "locks", None)
    if locks is None:
        return set()
    found = [match.groups() for lock in _LOCKS for match in _MAKER.finditer(str(locks.get(lock) or ""))]
    is_channel = hasattr(subject, "subscriptions")
    return {
        ("account" if is_channel or kind.casefold() == "pid" else "object", int(number))
        for negated, kind, number in found
        if not negated
    }
