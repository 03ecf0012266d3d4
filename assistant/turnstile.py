"""Lets the work of a process's assistants go on a little at a time, so that many who wake in one moment stall nothing.

    a few wish to go on          -> each at once, with no timer and no delay
    many, after a common wake-up -> FEW at once, then EACH in one turn of the reactor, APART_SECONDS after the last

After a start of the game, an outage, or a word that everybody hears, hundreds of runs would begin in one turn of the
reactor, and hundreds of answers be acted on in another. Runs pass here when they begin, and again with each answer
(docs/performance.md). Where no more than FEW assistants live, no run ever waits.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

#: How many go on at once where nobody did for a while.
FEW = 8
#: How many of those who wait go on in one turn of the reactor.
EACH = 4
#: How long after those the next ones do, in seconds: what has arrived meanwhile is dealt with first.
APART_SECONDS = 0.001
#: The while, in seconds: far longer than what one does in its turn.
LULL_SECONDS = 0.01
#: How many of the urgent go on before one of the others does.
URGENT_IN_A_ROW = 8


class Turn:
    """Somebody who waits."""

    def __init__(self, go: Callable[[], None], leave: Callable[[Turn], None], *, is_urgent: bool) -> None:
        self.go = go
        self.is_urgent = is_urgent
        self._leave = leave

    def cancel(self) -> None:
        """Go on never; nothing when it has gone."""
        self._leave(self)


class Turnstile:
    """One for all assistants of a process. Holds a timer only while somebody waits.

    The urgent are runs that somebody's word woke, and those that have an answer in their hands. They go first, but not
    for ever; among equals the order is that of coming.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        #: How many assistants there are.
        self._living = 0
        #: Who waits, in order: dictionaries, because anybody may leave from the middle.
        self._urgent: dict[Turn, None] = {}
        self._others: dict[Turn, None] = {}
        self._urgent_in_a_row = 0
        #: How many more may go on in this turn of the reactor, and when the last one did.
        self._room = FEW
        self._last = float("-inf")
        self._timer: IDelayedCall | None = None

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._urgent) + len(self._others)

    @property
    def living(self) -> int:
        """How many assistants there are."""
        return self._living

    def joins(self) -> None:
        """Another assistant lives."""
        self._living += 1

    def leaves(self) -> None:
        """One lives no more."""
        self._living -= 1

    def begin(self, run: Callable[[], None], *, is_urgent: bool) -> Turn | None:
        """None when `run` was called at once; else the turn of somebody for whom it will be called later."""
        if self._living > FEW and not self._has_room():
            return self._wait(run, is_urgent=is_urgent)
        self._room -= 1
        run()
        self._last = self._clock.seconds()
        return None

    def step(self) -> Deferred[None] | None:
        """None when a run may go on with the answer it got; else it fires when it may. Cancelling gives the turn up."""
        return self._turn(is_urgent=True) if self._living > FEW else None

    def turn(self) -> Deferred[None] | None:
        """The same for whoever has no run yet."""
        return self._turn(is_urgent=False)

    def _turn(self, *, is_urgent: bool) -> Deferred[None] | None:
        if self._has_room():
            self._room -= 1
            self._last = self._clock.seconds()
            return None
        come: Deferred[None] = Deferred(lambda _: turn.cancel())
        turn = self._wait(lambda: come.callback(None), is_urgent=is_urgent)
        return come

    def _has_room(self) -> bool:
        """Whether one more may go on in this turn of the reactor."""
        if self._timer is not None:
            return False
        if self._clock.seconds() - self._last >= LULL_SECONDS:
            self._room = FEW
        return self._room > 0

    def _wait(self, go: Callable[[], None], *, is_urgent: bool) -> Turn:
        turn = Turn(go, self._leave, is_urgent=is_urgent)
        self._line(turn)[turn] = None
        self._come_back()
        return turn

    def _open(self) -> None:
        """Let the next ones go on."""
        self._timer = None
        self._room = EACH
        try:
            while self._room > 0 and self.waiting:
                self._room -= 1
                self._next().go()
        finally:
            self._last = self._clock.seconds()
            self._come_back()

    def _next(self) -> Turn:
        """Whose turn it is, no longer waiting."""
        first = self._urgent if self._urgent_in_a_row < URGENT_IN_A_ROW else self._others
        line = first or self._urgent or self._others
        turn = next(iter(line))
        del line[turn]
        self._urgent_in_a_row = self._urgent_in_a_row + 1 if turn.is_urgent else 0
        return turn

    def _come_back(self) -> None:
        """Open again a little later, as long as somebody waits."""
        if self._timer is None and self.waiting:
            self._timer = self._clock.callLater(APART_SECONDS, self._open)
        elif self._timer is not None and not self.waiting:
            self._timer.cancel()
            self._timer = None

    def _leave(self, turn: Turn) -> None:
        self._line(turn).pop(turn, None)
        self._come_back()

    def _line(self, turn: Turn) -> dict[Turn, None]:
        return self._urgent if turn.is_urgent else self._others
