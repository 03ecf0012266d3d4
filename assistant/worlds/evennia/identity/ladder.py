"""The game's permissions as our six steps, 0 guest to 5 developer, and back.

A stock ladder maps by its names. In another ladder the known names keep their step, the permission of new accounts is
at least a player, and the others are spread evenly. Where that gives no whole step, what a subject *holds* is rounded
down and what a command *needs* is rounded up, so that no doubt ever adds to what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: The names of a stock game.
KNOWN = {"guest": 0, "player": 1, "helper": 2, "builder": 3, "admin": 4, "developer": 5}
TOP = 5
PLAYER = 1


@dataclass(frozen=True, slots=True)
class Ladder:
    """The game's permissions, lowest first, each with its place among our steps (not always a whole one)."""

    names: tuple[str, ...]
    places: tuple[float, ...]

    @classmethod
    def of(cls, names: Sequence[str], default: str = "Player") -> Ladder:
        """Make the ladder with these names; `default` is the permission of new accounts."""
        anchors = _anchors([_singular(name) for name in names], _singular(default))
        return cls(tuple(names), tuple(_place(index, anchors) for index in range(len(names))))

    @classmethod
    def of_game(cls) -> Ladder:
        """Make the ladder of this game's settings."""
        from django.conf import settings  # noqa: PLC0415  (only where Django is set up)

        return cls.of(settings.PERMISSION_HIERARCHY, settings.PERMISSION_ACCOUNT_DEFAULT)

    def held(self, passes: Callable[[str], bool]) -> int:
        """Return our step for a subject with the permissions for which `passes` is true; 0 when there are none.

        A subject with one permission passes for all below it. Most are players, so the search starts there.
        """
        top = next((at for at, place in enumerate(self.places) if place >= PLAYER), 0)
        if passes(self.names[top]):
            while top + 1 < len(self.names) and passes(self.names[top + 1]):
                top += 1
            return math.floor(self.places[top])
        return next((math.floor(self.places[at]) for at in reversed(range(top)) if passes(self.names[at])), 0)

    def needed(self, name: str) -> int:
        """Return our step that suffices for this permission of the game."""
        return math.ceil(self.places[self.names.index(name)])

    def name(self, step: int) -> str:
        """Return the highest permission of the game that our step includes, empty for none."""
        return next((name for name, place in reversed(list(zip(self.names, self.places, strict=True)))
                     if place <= step), "")  # fmt: skip

    def has(self, permission: str) -> bool:
        """Tell whether this is the name of a step of the ladder, in the singular or the plural."""
        return _singular(permission) in {_singular(name) for name in self.names}


def _singular(name: str) -> str:
    """Return a name as the game's locks compare it."""
    return name.strip().casefold().removesuffix("s")


def _anchors(names: Sequence[str], default: str) -> dict[int, int]:
    """Return the certain places: by name if the names come in our order, the top and, if it fits, `default`."""
    known = {index: KNOWN[name] for index, name in enumerate(names) if name in KNOWN}
    if list(known.values()) != sorted(known.values()):
        known = {}
    last = len(names) - 1
    known.setdefault(last, TOP)
    if default in names and (index := names.index(default)) not in known:
        known[index] = PLAYER
        if list(dict(sorted(known.items())).values()) != sorted(known.values()):
            del known[index]
    return dict(sorted(known.items()))


def _place(index: int, anchors: dict[int, int]) -> float:
    """Return the place of a name: its own, or one between the certain ones round it (the lowest possible is step 0)."""
    if index in anchors:
        return anchors[index]
    below = max(((at, step) for at, step in anchors.items() if at < index), default=(0, 0))
    above = min((at, step) for at, step in anchors.items() if at > index)
    if below[0] == index:
        return below[1]
    return below[1] + (above[1] - below[1]) * (index - below[0]) / (above[0] - below[0])
