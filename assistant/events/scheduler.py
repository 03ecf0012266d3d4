"""Spreads the work of a process's assistants over time, so that the game does not stall when many wake at once.

    a few want to go on          -> each at once, with no timer and no delay
    many, after a common wake-up -> FEW at once, then EACH in one turn of the reactor, APART_SECONDS after the last

After a start of the game, an outage, or a line that all hear, hundreds of runs would begin in one turn of the reactor,
and hundreds of answers would be acted on in another. Runs pass here when they begin, and again with each answer
(docs/performance.md). With at most FEW assistants, no run ever waits.

One commit of the journal lets many go on as well. Those pass through `CallsInTurn`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorFromThreads, IReactorTime

#: How many go on at once when none went on for LULL_SECONDS.
FEW = 8
#: How many of those that wait go on in one turn of the reactor.
EACH = 4
#: The pause before the next ones go on, in seconds: what has arrived meanwhile is dealt with first.
APART_SECONDS = 0.001
#: How long none must have gone on before FEW may again, in seconds. Far longer than the work of one turn.
LULL_SECONDS = 0.01
#: How many urgent ones go on before one of the others does.
URGENT_IN_A_ROW = 8
#: How many calls from threads are made in one turn of the reactor. Each may let a run go on, which takes up to 1 ms.
CALLS_EACH = 8


class Slot:
    """A place in the queue."""

    def __init__(self, go: Callable[[], None], leave: Callable[[Slot], None], *, is_urgent: bool) -> None:
        self.go = go
        self.is_urgent = is_urgent
        self._leave = leave

    def cancel(self) -> None:
        """Leave the queue. No effect once the turn was granted."""
        self._leave(self)


class Scheduler:
    """The scheduler that all assistants of a process share. It has a timer only while its queue is not empty.

    Urgent are runs that a trigger woke, and runs that got an answer from their model. They go first, but after
    URGENT_IN_A_ROW of them one of the others goes. Equals go in order of arrival.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        #: How many assistants there are.
        self._living = 0
        #: The queues, in order. They are dictionaries because a turn may leave from the middle.
        self._urgent: dict[Slot, None] = {}
        self._others: dict[Slot, None] = {}
        self._urgent_in_a_row = 0
        #: How many more may go on in this turn of the reactor, and when the last one did.
        self._room = FEW
        self._last = float("-inf")
        self._timer: IDelayedCall | None = None

    @property
    def waiting(self) -> int:
        """How many turns wait."""
        return len(self._urgent) + len(self._others)

    @property
    def living(self) -> int:
        """How many assistants there are."""
        return self._living

    def joins(self) -> None:
        """Count one more assistant."""
        self._living += 1

    def leaves(self) -> None:
        """Count one assistant less."""
        self._living -= 1

    def begin(self, run: Callable[[], None], *, is_urgent: bool) -> Slot | None:
        """Call `run` at once and return None, or return the turn in which it will be called later."""
        if self._living > FEW and not self._has_room():
            return self._wait(run, is_urgent=is_urgent)
        self._room -= 1
        run()
        self._last = self._clock.seconds()
        return None

    def step(self) -> Deferred[None] | None:
        """Return None when a run may go on with its answer at once, else a Deferred that fires when it may.

        Cancelling the Deferred gives up the turn.
        """
        return self._turn(is_urgent=True) if self._living > FEW else None

    def turn(self) -> Deferred[None] | None:
        """Return None when work outside a run may go on at once, else a Deferred that fires when it may.

        Cancelling the Deferred gives up the turn.
        """
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
        """Tell whether one more may go on in this turn of the reactor."""
        if self._timer is not None:
            return False
        if self._clock.seconds() - self._last >= LULL_SECONDS:
            self._room = FEW
        return self._room > 0

    def _wait(self, go: Callable[[], None], *, is_urgent: bool) -> Slot:
        turn = Slot(go, self._leave, is_urgent=is_urgent)
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

    def _next(self) -> Slot:
        """Take the next turn out of its queue and return it."""
        first = self._urgent if self._urgent_in_a_row < URGENT_IN_A_ROW else self._others
        line = first or self._urgent or self._others
        turn = next(iter(line))
        del line[turn]
        self._urgent_in_a_row = self._urgent_in_a_row + 1 if turn.is_urgent else 0
        return turn

    def _come_back(self) -> None:
        """Start the timer when turns wait, and stop it when none does."""
        if self._timer is None and self.waiting:
            self._timer = self._clock.callLater(APART_SECONDS, self._open)
        elif self._timer is not None and not self.waiting:
            self._timer.cancel()
            self._timer = None

    def _leave(self, turn: Slot) -> None:
        self._line(turn).pop(turn, None)
        self._come_back()

    def _line(self, turn: Slot) -> dict[Slot, None]:
        return self._urgent if turn.is_urgent else self._others


class CallsInTurn:
    """Calls in the reactor's thread, in the order in which they came, `CALLS_EACH` of them in one of its turns."""

    def __init__(self, reactor: IReactorFromThreads) -> None:
        self._reactor = reactor
        # Both are for the reactor's thread only. `_made` counts from the last turn that was known to have begun.
        self._waiting: deque[Callable[[], object]] = deque()
        self._made = 0

    def put(self, calls: Iterable[Callable[[], object]]) -> None:
        """Have the calls made. It may be called on any thread."""
        self._reactor.callFromThread(self._add, calls)

    def _add(self, calls: Iterable[Callable[[], object]]) -> None:
        self._waiting.extend(calls)
        if self._made < CALLS_EACH:
            self._make()

    def _make(self) -> None:
        try:
            while self._waiting and self._made < CALLS_EACH:
                self._made += 1
                self._waiting.popleft()()
        finally:
            if self._waiting or self._made == CALLS_EACH:
                self._reactor.callFromThread(self._begin_turn)

    def _begin_turn(self) -> None:
        self._made = 0
        self._make()
