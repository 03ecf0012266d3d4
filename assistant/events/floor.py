"""Decides which assistant of a process speaks when: pauses between lines, one answer to a line to everybody."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

#: How long an assistant waits for its turn at most, in seconds: waiting must not exceed the time limit of its tool.
MAX_WAIT = 6.0
#: How many claims and rooms are kept; the oldest go first.
MAX_KEPT = 500


class Floor:
    """The turns and claims of all assistants of a process, one object for all. Its times are on `clock`."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        #: When the next line may be spoken in a room, by the room's identity.
        self._free: dict[str, float] = {}
        #: Who claimed what, and until when.
        self._claims: dict[tuple[str, ...], tuple[str, float]] = {}

    def turn(self, room: str, pause_seconds: float) -> Deferred[None] | None:
        """Take the next turn to speak in `room`. None means now; a Deferred fires when the turn comes.

        The next line comes `pause_seconds` later. An unknown room, an empty string, has no turns. Cancelling gives up
        the wait.
        """
        now = self._clock.seconds()
        if not room or pause_seconds <= 0:
            return None
        wait = min(MAX_WAIT, max(0.0, self._free.pop(room, now) - now))
        self._free[room] = now + wait + pause_seconds
        if len(self._free) > MAX_KEPT:
            del self._free[next(iter(self._free))]
        if wait <= 0:
            return None
        come: Deferred[None] = Deferred(lambda _: timer.cancel())
        timer = self._clock.callLater(wait, come.callback, None)
        return come

    def claim(self, what: tuple[str, ...], who: str, seconds: float) -> bool:
        """Tell whether the assistant `who` holds this claim. The first that asks gets it, for `seconds`."""
        now = self._clock.seconds()
        holder, until = self._claims.pop(what, (who, now))
        if until <= now:
            holder = who
        self._claims[what] = (holder, now + seconds if holder == who else until)
        if len(self._claims) > MAX_KEPT:
            del self._claims[next(iter(self._claims))]
        return holder == who
