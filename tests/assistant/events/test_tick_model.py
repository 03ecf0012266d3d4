"""The tick against a reference model of its table, side by side on one clock, in any order of steps.

The model keeps every fact there was, and works out from all of them when the next run may begin. Chance is the tick's
own: the model knows the bounds of it, and the test at the end that the bounds are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from random import Random
from statistics import median
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.events.outcome import (
    Answered,
    Cancelled,
    Failed,
    Limit,
    LimitReached,
    NothingToDo,
    Outcome,
)
from mud_assistant.assistant.events.scheduler import Scheduler
from mud_assistant.assistant.events.tick import FIRST_PAUSE, LONGEST_PAUSE, MAX_CRASHES, STAYS_AWAKE, Tick, TickPace
from tests.effort import times
from tests.guards import FlushFailures
from tests.histories import run_histories

PACE = TickPace()
#: Hypothesis also draws constants of the modules that happen to be loaded, so what a fixed seed gives depends on what
#: ran before. These are enough runs for every count below, whatever the constants are.
RUNS, STEPS_EACH, STEPS = times(200), 50, times(4_000)
GOOD: list[Outcome] = [Answered(("say",)), NothingToDo(), LimitReached(Limit.TIME)]
#: What a run that raises comes to.
RAISES = None
#: Quarters of seconds, which floats hold exactly.
after = st.sampled_from([0.0] * 6 + [0.25, 0.25, 2.0, 5.0, 5.0, 10.0, 29.75, 60.0, 60.0, 400.0])
_NEAR = 1e-6


@dataclass(frozen=True)
class Fact:
    """`what` is "start", "halt", "wake", "clear", "begin" or "end", the last with its outcome."""

    at: float
    what: str
    outcome: Outcome | None = None


def crashed(fact: Fact) -> bool:
    """Whether the run ended by a fault of ours."""
    return fact.outcome is RAISES or (isinstance(fact.outcome, Failed) and fact.outcome.bug)


class Model:
    """The tick as its table has it, worked out from the facts each time."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def ends(self) -> list[Fact]:
        """The ends of runs that say anything: a cancelled one does not."""
        return [fact for fact in self.facts if fact.what == "end" and not isinstance(fact.outcome, Cancelled)]

    @property
    def is_stopped(self) -> bool:
        """Whether the last five runs crashed, all of them since a person looked."""
        row = 0
        for fact in self.facts:
            if fact.what == "clear":
                row = 0
            elif fact.what == "end" and not isinstance(fact.outcome, Cancelled):
                row = row + 1 if crashed(fact) else 0
        return row >= MAX_CRASHES

    @property
    def is_started(self) -> bool:
        return next((fact.what == "start" for fact in reversed(self.facts) if fact.what in {"start", "halt"}), False)

    @property
    def is_busy(self) -> bool:
        return next((fact.what == "begin" for fact in reversed(self.facts) if fact.what in {"begin", "end"}), False)

    def is_wanted(self) -> bool:
        """Whether a run is to come before the timer's."""
        wanted = False
        for fact in self.facts:
            if fact.what in {"begin", "halt", "start"}:
                wanted = False
            elif fact.what == "end":
                wanted = wanted or crashed(fact) or isinstance(fact.outcome, Failed)
            elif fact.what == "wake":
                wanted = True
        return wanted

    def pause(self) -> float:
        """How long the last failure makes it pause at most, 0 after a good run."""
        row = 0
        for fact in reversed(self.ends()):
            if not crashed(fact) and not isinstance(fact.outcome, Failed):
                break
            row += 1
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (min(row, 10) - 1)) if row else 0.0

    def paused(self) -> tuple[float, float]:
        """The earliest and the latest end of the pause."""
        pause = self.pause()
        if not pause:
            return 0.0, 0.0
        last = self.ends()[-1]
        wish = last.outcome.retry_at if isinstance(last.outcome, Failed) and last.outcome.retry_at else last.at
        return max(last.at + pause / 2, wish), max(last.at + pause, wish + pause / 2)

    def next_run(self) -> tuple[float, float]:
        """The earliest and the latest time of the next run; infinite when none is to come."""
        if not self.is_started or self.is_busy or self.is_stopped:
            return inf, inf
        earliest, latest = self.paused()
        looked = max(fact.at for fact in self.facts if fact.what != "begin")
        if self.is_wanted():
            begun = max((fact.at for fact in self.facts if fact.what == "begin"), default=-inf)
            soonest = max(looked, begun + PACE.join_seconds)
        else:
            woken = max((fact.at for fact in self.facts if fact.what == "wake"), default=-inf)
            soonest = looked + (PACE.awake_seconds if looked - woken < STAYS_AWAKE else PACE.asleep_seconds)
        return max(soonest, earliest), max(soonest, latest)


class TickAgainstModel(RuleBasedStateMachine):
    """Every rule lets some time pass first."""

    steps = 0
    #: After the provider's own time, and after a pause of ours: how much later a run began, as a share of the pause.
    after_wish: ClassVar[list[float]] = []
    after_pause: ClassVar[list[float]] = []
    stops = 0

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.clock, self.model = Clock(), Model()
        self.gate: Deferred[Outcome] | None = None
        self.tick = Tick(
            self._run,
            self.clock,
            PACE,
            "Sage",
            Random(seed),  # noqa: S311  (chance)
            scheduler=Scheduler(self.clock),
        )
        self._fact("start")
        self.tick.start()

    def teardown(self) -> None:
        """Leave no run behind: what is collected later would log in another test."""
        if hasattr(self, "tick"):
            self.over = self.tick.stop()

    async def _run(self) -> Outcome:
        now = self.clock.seconds()
        earliest, latest = self.model.next_run()
        assert earliest - _NEAR <= now <= latest + _NEAR
        self._count_spread(now)
        self._fact("begin")
        self.gate = Deferred()
        return await self.gate

    @rule(after=after, times=st.integers(1, 3))
    def wake(self, after: float, times: int) -> None:
        self._pass(after)
        for _ in range(times):
            self._fact("wake")
            self.tick.wake()

    @precondition(lambda self: self.gate is not None)
    @rule(
        after=after,
        outcome=st.sampled_from([*GOOD[:2], Failed("down"), Failed("bug", bug=True), Failed("bug", bug=True), RAISES]),
    )
    def end(self, after: float, outcome: Outcome | None) -> None:
        self._pass(after)
        self._end(outcome)

    @precondition(lambda self: self.gate is not None)
    @rule(wish=st.sampled_from([-5.0, 0.0, 2.0, 40.0, 90.0, 90.0, 600.0]))
    def end_with_a_wish(self, wish: float) -> None:
        self._end(Failed("slow down", retry_at=max(0.5, self.clock.seconds() + wish)))

    @precondition(lambda self: self.gate is not None)
    @rule(outcome=st.sampled_from([GOOD[2], Cancelled()]))
    def end_otherwise(self, outcome: Outcome) -> None:
        self._end(outcome)

    @rule(count=st.integers(1, MAX_CRASHES), between=st.sampled_from([None, None, *GOOD, Failed("down"), Cancelled()]))
    def crash_again_and_again(self, count: int, between: Outcome | None) -> None:
        """Some crashed runs, and what may come between them and the next ones."""
        for outcome in [Failed("bug", bug=True)] * count + ([between] if between else []):
            self._reach_a_run()
            if self.gate is not None:
                self._end(outcome)

    @rule(after=after)
    def wait(self, after: float) -> None:
        self._pass(after)

    @rule()
    def wait_for_the_next_run(self) -> None:
        self._reach_a_run()

    @rule(after=after, luck=st.integers(0, 5))
    def clear(self, after: float, luck: int) -> None:
        """A person lifts the emergency stop; seldom when there is none."""
        self._pass(after)
        if self.tick.stopped_by_errors or not luck:
            self._fact("clear")
            self.tick.clear_errors()

    @precondition(lambda self: self.gate is None)
    @rule(after=after, luck=st.integers(0, 5))
    def halt_and_start(self, after: float, luck: int) -> None:
        if luck:
            return
        self._fact("halt")
        self.tick.halt()
        self._pass(after)
        self._fact("start")
        self.tick.start()

    @invariant()
    def both_say_the_same(self) -> None:
        assert self.tick.stopped_by_errors is self.model.is_stopped
        assert self.tick.busy is self.model.is_busy is (self.gate is not None)
        assert self.tick.started is self.model.is_started
        latest = self.model.next_run()[1]
        assert latest >= self.clock.seconds() - _NEAR, "a run that is due has not begun"
        assert len(self.clock.getDelayedCalls()) == (0 if latest == inf else 1)
        TickAgainstModel.steps += 1

    def _fact(self, what: str, outcome: Outcome | None = None) -> None:
        self.model.facts.append(Fact(self.clock.seconds(), what, outcome))

    def _end(self, outcome: Outcome | None) -> None:
        assert self.gate is not None
        gate, self.gate = self.gate, None
        was_stopped = self.model.is_stopped
        self._fact("end", outcome)
        TickAgainstModel.stops += self.model.is_stopped and not was_stopped
        if outcome is RAISES:
            gate.errback(ZeroDivisionError())
        else:
            gate.callback(outcome)
        self._pass(0)

    def _pass(self, seconds: float) -> None:
        """Let time pass, in steps that end where something is due."""
        end = self.clock.seconds() + seconds
        while due := [call.getTime() for call in self.clock.getDelayedCalls() if call.getTime() <= end]:
            self.clock.advance(max(0.0, min(due) - self.clock.seconds()))
        self.clock.advance(max(0.0, end - self.clock.seconds()))

    def _reach_a_run(self) -> None:
        """Wait for the next run, when there is to be one."""
        while self.gate is None and self.clock.getDelayedCalls():
            self._pass(max(0.0, self.clock.getDelayedCalls()[0].getTime() - self.clock.seconds()))

    def _count_spread(self, now: float) -> None:
        """Keep by how much of its pause a run was late that nothing but the pause held back."""
        pause, ends = self.model.pause(), self.model.ends()
        if not pause or self.model.facts[-1] is not ends[-1]:
            return
        last = ends[-1]
        wish = last.outcome.retry_at if isinstance(last.outcome, Failed) else None
        if wish is not None and wish >= last.at + pause:
            self.after_wish.append((now - wish) / pause)
        elif wish is None:
            self.after_pause.append((now - last.at) / pause)


def test_there_is_no_divergence(flush_failures: FlushFailures) -> None:
    counted = TickAgainstModel
    counted.steps = counted.stops = 0
    counted.after_wish.clear()
    counted.after_pause.clear()
    run_histories(TickAgainstModel, RUNS, STEPS_EACH)
    flush_failures()
    assert counted.steps >= STEPS
    assert counted.stops >= 50
    for late, (least, most) in ((counted.after_wish, (0.0, 0.5)), (counted.after_pause, (0.5, 1.0))):
        assert len(late) >= 50
        assert least <= min(late) + _NEAR
        assert max(late) <= most + _NEAR
        assert least + 0.1 < median(late) < most - 0.1
