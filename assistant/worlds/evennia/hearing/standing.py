"""What an assistant's character may do in the game: what a player may, and for one command exactly what it needs."""

from __future__ import annotations

from typing import Any

from evennia.typeclasses.tags import PermissionHandler

from assistant.worlds.evennia.hearing.ladder import PLAYER, Ladder


class CharacterRights(PermissionHandler):  # type: ignore[misc]  # Evennia has no types
    """The permissions of an assistant's character.

    A step of the game's ladder that is stored on the character does not count: to give it one would give it to every
    player who can talk to it. Other permissions (a guild, a language) count as stored.
    """

    def __init__(self, character: Any) -> None:
        super().__init__(character)
        self._ladder = Ladder.of_game()
        self._everyday = self._ladder.name(PLAYER)

    def all(self, return_key_and_category: bool = False, return_objs: bool = False) -> list[Any]:
        """Return the permissions that count now; with a flag, what is stored, as the game's own handler does."""
        if return_key_and_category or return_objs:
            stored: list[Any] = super().all(return_key_and_category, return_objs)
            return stored
        step = self.obj.ndb.raised_to or self._everyday
        others = [name for name in super().all() if not self._ladder.has(name)]
        return [*others, step.casefold()] if step else others
