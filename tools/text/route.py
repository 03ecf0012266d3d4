"""Finds the way to a room by its name: the nearest that fits, over the exits that a world knows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import TypeVar

from mud_assistant.tools.errors import ToolFailed

#: The most rooms that are looked at for one question, and how many of them without a pause.
MAX_ROOMS, WITHOUT_PAUSE = 200, 10
_WORD = re.compile(r"[^\W_]+")
_PLAIN = frozenset({"the", "a", "an", "of", "to", "in", "on", "at", "old", "new"})

Place = TypeVar("Place", bound=Hashable)


async def search_route(
    start: Place,
    ways: Callable[[Place], Iterable[tuple[str, str, Place]]],
    place: str,
    pause: Callable[[], Awaitable[None]] | None = None,
) -> tuple[str, tuple[str, ...], Place]:
    """Return the name of the nearest room that `place` names, the directions that lead there, and the room.

    `ways` returns the exits of a room that may be used: the direction, the name of the room behind, and that room. A
    room with all its words in `place` comes before one that shares only some. Nothing farther than `MAX_ROOMS` rooms is
    looked at; `pause` is awaited now and then. Raises ToolFailed when no room fits.
    """
    wanted = name_words(place)
    waiting: deque[tuple[Place, tuple[str, ...]]] = deque([(start, ())])
    seen, partly = {start}, None
    for number in range(MAX_ROOMS if wanted else 0):
        if not waiting:
            break
        if pause is not None and number % WITHOUT_PAUSE == WITHOUT_PAUSE - 1:
            await pause()
        room, steps = waiting.popleft()
        for direction, name, behind in ways(room):
            if behind in seen:
                continue
            seen.add(behind)
            waiting.append((behind, (*steps, direction)))
            words = name_words(name)
            if words and words <= wanted:
                return name, (*steps, direction), behind
            if partly is None and words & wanted:
                partly = name, (*steps, direction), behind
    if partly is None:
        raise ToolFailed(f"No way to {place!r} is known from here.")
    return partly


def is_named_by(room: str, place: str) -> bool:
    """Tell whether a place may mean the room of this name: one of them has all the words of the other."""
    words, wanted = name_words(room), name_words(place)
    return wanted <= words or words <= wanted


def name_words(name: str) -> set[str]:
    """Return the words of a room's name by which it is found, without those that say nothing where others are there."""
    found = [word.casefold() for word in _WORD.findall(name)]
    return {word.removesuffix("s") for word in found if word not in _PLAIN} or set(found)
