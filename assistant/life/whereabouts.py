"""Finds where a character is and the way to where its day wants it, by the names of rooms."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from mud_assistant.assistant.life.days import MOVE, Surroundings
from mud_assistant.tools import ToolFailed, World
from mud_assistant.tools.game import way_to
from mud_assistant.tools.text.route import is_named_by, name_words


class Whereabouts:
    """Where one character is. `where` returns the id of its room; `is_granted` tells whether it may walk at all."""

    __slots__ = ("_is_granted", "_known", "_where", "_world")

    def __init__(self, world: World, where: Callable[[], str], *, is_granted: bool) -> None:
        self._world = world
        self._where = where
        self._is_granted = is_granted
        #: The place that was looked for last, and the id of the room that it turned out to be.
        self._known = ("", "")

    def is_known(self, place: str) -> bool:
        """Tell whether the character is in the room that was found to be this place. Does not look round."""
        room = self._where()
        return bool(room) and self._known == (place, room)

    async def is_one_of(self, rooms: Collection[str]) -> bool:
        """Tell whether the character is in a room of one of these names, or with all their words in its name."""
        if not rooms:
            return False
        try:
            here = name_words((await self._world.look()).room)
        except ToolFailed:
            return False
        return any(name_words(room) <= here for room in rooms)

    async def way(self, place: str, around: Surroundings) -> Surroundings:
        """Add to what is around the first step of the way to a place, why there is none, or that it is this room.

        A room with exactly the words of the place comes before the room it is in, and that before others with them.
        """
        try:
            room = (await self._world.look()).room
        except ToolFailed as failed:
            return replace(around, at_place=False, no_way=str(failed))
        wanted, here = name_words(place), name_words(room)
        route = None if here == wanted else await way_to(self._world, place)
        there = set[str]() if route is None else name_words(route.room)
        if here == wanted or (wanted <= here and there != wanted):
            self._known = (place, around.room)
            return around
        if route is None or not route.steps or not is_named_by(route.room, place):
            return replace(around, at_place=False, no_way=f"no way to {place} is known from here")
        no_way = "" if self._is_granted else f"it is not granted {MOVE}"
        return replace(around, at_place=False, step=route.steps[0], no_way=no_way)
