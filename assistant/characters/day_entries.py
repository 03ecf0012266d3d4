"""Defines the day of a character: where they are at which hour, and what they do there without being asked. Pure."""

from __future__ import annotations

from msgspec import Struct

#: The most entries of a day, and the most gestures or sentences of one entry.
MAX_DAY, MAX_DOES = 24, 40
#: The longest gesture or sentence of a day, in characters.
MAX_DEED = 300
#: How often a gesture of free life comes on the average when the owner does not say, in minutes; the least and most.
FREE_MINUTES, LEAST_MINUTES, MOST_MINUTES = 12, 2, 1440
#: How a time of the day is written.
TIME = "([01][0-9]|2[0-3]):[0-5][0-9]"
#: Minutes of an hour and of a day.
HOUR, DAY = 60, 1440


class DayEntry(Struct, frozen=True):
    """Where a character is from a time of the day on, until the next entry begins, and what they do there.

    `start` is in minutes since midnight. `place` names a room; empty for wherever they are. `begins` is a gesture made
    once on arrival, as in "lights the forge."; one of `does` is made now and then, one of `says` said aloud. With
    `rests` they sleep there, and only wake when they are spoken to.
    """

    start: int
    place: str = ""
    begins: str = ""
    does: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    rests: bool = False

    @property
    def time(self) -> str:
        """The time at which it begins, as in "06:00"."""
        return f"{self.start // HOUR:02}:{self.start % HOUR:02}"


class FreeLife(Struct, frozen=True):
    """The gestures that a character makes when the day asks for nothing, about every so many minutes."""

    does: tuple[str, ...] = ()
    every_minutes: int = FREE_MINUTES


class Days(Struct, frozen=True):
    """What the owner wrote of a character's days: the entries by their hours, and the free life between them."""

    entries: tuple[DayEntry, ...] = ()
    free: FreeLife = FreeLife()

    def __bool__(self) -> bool:
        """Tell whether anything is written."""
        return bool(self.entries or self.free.does)


#: What is known of the days of a character whose file names none.
NO_DAYS = Days()


def minutes_of(time: str) -> int:
    """Return the minutes since midnight of a time such as "06:00"."""
    hours, _, minutes = time.partition(":")
    return int(hours) * HOUR + int(minutes)
