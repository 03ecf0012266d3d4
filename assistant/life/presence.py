"""Tells who is present, and whether anybody is: without them a character does nothing of itself.

A player is present who typed something lately and would hear the character, and neither mutes it nor asked not to be
spoken to first. Players stay logged in for days: a session that idles is nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Protocol

from mud_assistant.tools.trust import Principal

#: How long after they last typed something players count as present, in seconds.
PRESENT_SECONDS = 900.0
#: How long after a character last saw somebody present the others of the process go on with their days, in seconds:
#: a player may stand where none of them is.
LINGERS = 120.0


class Seen(Protocol):
    """The part of a world that knows who is there."""

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the players who would hear the character and typed something within `seconds`. Does not wait."""
        ...


def present_players(
    world: Seen, muted: Container[str], unwanted: Container[str] = frozenset()
) -> tuple[Principal, ...]:
    """Return the players who are present.

    `muted` holds the ids of those who mute the character, `unwanted` of those who asked not to be spoken to first.
    """
    return tuple(who for who in world.present(PRESENT_SECONDS) if who.id not in muted and who.id not in unwanted)


class Attendance:
    """When any character of the process last saw somebody present, one object for all. `now` gives clock seconds."""

    __slots__ = ("_now", "_seen")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._seen = float("-inf")

    def note(self, present: tuple[Principal, ...]) -> None:
        """Take note of who is present where one of the characters is."""
        if present:
            self._seen = self._now()

    @property
    def is_anybody_there(self) -> bool:
        """Whether somebody was present a little while ago, wherever any of the characters is."""
        return self._now() - self._seen <= LINGERS
