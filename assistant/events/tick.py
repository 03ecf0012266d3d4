"""Decides when to think: at once after a trigger, once for a burst, else by a timer; one run at a time.

    trigger, idle                     -> run now
    trigger, a run is going           -> run again when it is over
    trigger, join_seconds not over    -> run when they are
    many of the process at once       -> a few milliseconds later, when it is its turn (`scheduler.py`)
    timer (awake 5 s, asleep 60 s)    -> run, which takes in what was only overheard
    something is due before that      -> run when it is (`next_at`)
    the model could not be asked      -> pause: 5 s, doubling to 60 s, randomly up to a half shorter, or until a
                                         little after the time the provider named; then run
    5 crashed runs in a row           -> emergency stop, until a person clears it

The timer only wakes. A flag of `Tick` makes sure that only one run goes at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.events.outcome import Cancelled, Failed, Outcome
from mud_assistant.assistant.events.scheduler import Scheduler, Slot
from mud_assistant.resilience import Launcher

#: How many runs crash in a row before the emergency stop.
MAX_CRASHES = 5
#: First and longest pause after the model could not be asked, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
#: How long after its last trigger an assistant counts as awake, in seconds.
STAYS_AWAKE = 300.0
#: What is due comes at least so long after the last look, in seconds.
LEAST_IDLE = 1.0

_log = Logger()


class TickPace(Struct, frozen=True):
    """The intervals of the tick, in seconds. `next_at` returns when something is due before that, given the time."""

    join_seconds: float = 0.25
    awake_seconds: float = 5.0
    asleep_seconds: float = 60.0
    next_at: Callable[[float], float] = lambda _: math.inf


class Tick:
    """The scheduler of one assistant's runs, which calls `run`. All its timers are on `clock`.

    `scheduler` is shared with the other ticks of the process.
    """

    def __init__(
        self,
        run: Callable[[], Coroutine[Deferred[Any], Any, Outcome]],
        clock: IReactorTime,
        pace: TickPace,
        name: str,
        random: Random,
        *,
        scheduler: Scheduler,
    ) -> None:
        self._random = random
        self._run = run
        self._clock = clock
        self._pace = pace
        self._name = name
        self._launcher = Launcher()
        self._scheduler = scheduler
        #: The timer for the next run, then its turn. None during a run, and when no run is to come.
        self._next: IDelayedCall | None = None
        self._turn: Slot | None = None
        self._started = False
        self._busy = False
        self._wanted = False
        #: Whether a trigger came since the last run began.
        self._triggered = False
        self._last_trigger = float("-inf")
        self._last_start = float("-inf")
        self._pause = 0.0
        self._paused_until = 0.0
        self._crashes = 0
        self._idle_waiters: list[Deferred[None]] = []
        #: Called when the emergency stop is set.
        self.on_emergency: Callable[[], None] = lambda: None

    @property
    def started(self) -> bool:
        """Whether it ticks: from `start` until `stop` or `halt`."""
        return self._started

    @property
    def busy(self) -> bool:
        """Whether a run is going."""
        return self._busy

    @property
    def paused(self) -> bool:
        """Whether the model could not be asked lately, and the next try is still ahead."""
        return self._clock.seconds() < self._paused_until

    @property
    def stopped_by_errors(self) -> bool:
        """Whether the emergency stop is set."""
        return self._crashes >= MAX_CRASHES

    def start(self, *, at_once: bool = False) -> None:
        """Begin to tick. `at_once` begins with a run, for what an earlier process left."""
        if not self._started:
            self._scheduler.joins()
        self._started = True
        self._wanted = at_once
        self._schedule()

    def stop(self) -> Deferred[None]:
        """Stop ticking and cancel the current run. Fires when it is over."""
        self.halt()
        return self._launcher.stop()

    def halt(self) -> None:
        """Begin no more runs. The current run may go on to its end."""
        if self._started:
            self._scheduler.leaves()
        self._started = False
        self._wanted = False
        self._cancel_next()

    def release(self) -> None:
        """Hold nothing of the assistant any more, once it has stopped for good: it holds this tick."""
        self._run = _is_over
        self._pace = TickPace()
        self.on_emergency = lambda: None

    def wake(self) -> None:
        """Run as soon as possible, because a trigger was accepted."""
        self._wanted = self._triggered = True
        self._last_trigger = self._clock.seconds()
        if self._turn is None or not self._turn.is_urgent:
            self._schedule()

    def clear_errors(self) -> None:
        """Lift the emergency stop."""
        self._crashes = 0
        self._schedule()

    def resume(self) -> None:
        """End a pause that began because the model failed, so that it is asked again."""
        if self.paused:
            self._pause = self._paused_until = 0.0
            self._schedule()

    def settled(self) -> Deferred[None]:
        """Return a Deferred that fires when no run is going and none is wanted now.

        A pause counts as settled, although its run comes later.
        """
        waiter: Deferred[None] = Deferred()
        self._idle_waiters.append(waiter)
        self._tell_settled()
        return waiter

    def _schedule(self) -> None:
        """Set the one timer for the next run."""
        self._cancel_next()
        if not self._started or self._busy or self.stopped_by_errors:
            return
        self._next = self._clock.callLater(self._delay(), self._enter)

    def _delay(self) -> float:
        now = self._clock.seconds()
        if self._wanted:
            joined = self._last_start + self._pace.join_seconds
            return max(0.0, joined - now, self._paused_until - now)
        awake = now - self._last_trigger < STAYS_AWAKE
        idle = self._pace.awake_seconds if awake else self._pace.asleep_seconds
        return max(self._paused_until - now, min(idle, max(LEAST_IDLE, self._pace.next_at(now) - now)))

    def _enter(self) -> None:
        """Begin a run when it is this assistant's turn."""
        self._next = None
        self._turn = self._scheduler.begin(self._begin, is_urgent=self._triggered)

    def _begin(self) -> None:
        self._turn = None
        self._busy = True
        self._wanted = self._triggered = False
        self._last_start = self._clock.seconds()
        self._launcher.launch(self._one_run(), f"tick of {self._name}")

    async def _one_run(self) -> None:
        outcome: Outcome | None = None
        try:
            outcome = await self._run()
        finally:
            self._busy = False
            self._learn(outcome)
            self._schedule()
            self._tell_settled()

    def _learn(self, outcome: Outcome | None) -> None:
        """Pause after an outage, count crashes, forget both after a good run. None means the run raised."""
        if isinstance(outcome, Cancelled):
            return
        crashed = outcome is None or (isinstance(outcome, Failed) and outcome.bug)
        self._crashes = self._crashes + 1 if crashed else 0
        if self.stopped_by_errors:
            _log.critical("{name} stops after {count} crashed runs in a row", name=self._name, count=self._crashes)
            self.on_emergency()
        if crashed or isinstance(outcome, Failed):
            self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
            now = self._clock.seconds()
            wish = outcome.retry_at if isinstance(outcome, Failed) and outcome.retry_at is not None else now
            # A random pause, so that assistants stopped by one outage do not all come back at the same moment.
            by_chance = self._random.uniform(0.5, 1.0) * self._pause
            self._paused_until = max(now + by_chance, wish + self._pause - by_chance)
            self._wanted = True
        else:
            self._pause = self._paused_until = 0.0

    def _tell_settled(self) -> None:
        if self._busy or (self._wanted and not self.paused and not self.stopped_by_errors):
            return
        waiters, self._idle_waiters = self._idle_waiters, []
        for waiter in waiters:
            waiter.callback(None)

    def _cancel_next(self) -> None:
        if self._next is not None and self._next.active():
            self._next.cancel()
        if self._turn is not None:
            self._turn.cancel()
        self._next = self._turn = None


async def _is_over() -> Outcome:
    """Run nothing."""
    return Cancelled()
