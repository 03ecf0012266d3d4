"""Keeps why a character did something of itself or did not, and whether the reason for what it is about to do holds.

Both are in memory only. What was offered before a restart, and not done, is offered again when it is still due.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

#: Why what was begun of its own accord before a restart goes no further.
BEFORE_A_RESTART = "it was begun before a restart"
#: How many offers are kept for each character.
KEPT = 50


class Considered(Struct, frozen=True):
    """Something that a character could have done of itself.

    `at` is the time, in clock seconds, of the last of the `times` that it was considered with the same end. `what` says
    what it was, `why` why it was taken or not.
    """

    at: float
    what: str
    taken: bool
    why: str
    times: int = 1


class Offered(Struct, frozen=True):
    """An accepted event of a character's own: when it was accepted, in clock seconds, and what is asked of it.

    `holds` tells whether its reason still holds, and must not wait. `undone` is called when it came to nothing. `stops`
    says why what it began goes no further, empty when it may.
    """

    at: float
    holds: Callable[[], bool]
    undone: Callable[[], None]
    stops: Callable[[], str] = str


class Reasons:
    """The last offers of one character, and those that are accepted and not carried out yet."""

    __slots__ = ("_open", "_ring")

    def __init__(self) -> None:
        self._ring: list[Considered] = []
        #: By the id of an event.
        self._open: dict[str, Offered] = {}

    @property
    def latest(self) -> Sequence[Considered]:
        """The last offers, the newest first."""
        return tuple(reversed(self._ring))

    def is_open_at(self, before: float = -math.inf) -> bool:
        """Tell whether an accepted offer still waits, once those that were accepted before this time have expired."""
        if self._open:
            self.expire(before)
        return bool(self._open)

    def note(self, at: float, what: str, why: str, *, taken: bool) -> None:
        """Keep an offer with its end. One that is refused as it was the last time is counted with that."""
        place = next((place for place in reversed(range(len(self._ring))) if self._ring[place].what == what), -1)
        if place >= 0 and not taken and (self._ring[place].why, self._ring[place].taken) == (why, False):
            last = self._ring[place]
            del self._ring[place]
            self._ring.append(replace(last, at=at, times=last.times + 1))
        else:
            self._ring.append(Considered(at, what, taken, why))
            del self._ring[:-KEPT]

    def begin(self, event_id: str, offered: Offered) -> None:
        """Take note of an accepted event."""
        self._open[event_id] = offered

    def holds(self, event_id: str) -> bool:
        """Tell whether the reason for the event still holds. Nothing is known of one from before a restart."""
        return event_id in self._open and self._open[event_id].holds()

    def why_stopped(self, event_id: str) -> str:
        """Return why what the event began goes no further, empty when it may."""
        return self._open[event_id].stops() if event_id in self._open else BEFORE_A_RESTART

    def end(self, event_id: str, *, done: bool) -> None:
        """Take note that the run of the event is over."""
        if (known := self._open.pop(event_id, None)) is not None and not done:
            known.undone()

    def expire(self, before: float) -> None:
        """Count events that were accepted before this time, in clock seconds, as come to nothing."""
        for event_id in [event_id for event_id, offered in self._open.items() if offered.at < before]:
            self.end(event_id, done=False)
