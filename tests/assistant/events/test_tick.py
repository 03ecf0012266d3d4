"""The tick on a Clock: hours pass in milliseconds, and nothing ever runs twice at once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, NothingToDo, Outcome
from mud_assistant.assistant.events.scheduler import APART_SECONDS, EACH, FEW, Scheduler
from mud_assistant.assistant.events.tick import FIRST_PAUSE, LONGEST_PAUSE, MAX_CRASHES, Tick, TickPace
from tests.guards import FlushFailures


class Unlucky(Random):
    """Chance that always gives the longest pause."""

    def uniform(self, a: float, b: float) -> float:
        return b


class Runs:
    """Counts runs; each ends with the next scripted outcome, or hangs until `finish`."""

    def __init__(self, clock: Clock, *outcomes: Outcome | Exception, hang: bool = False) -> None:
        self.clock = clock
        self.outcomes = list(outcomes)
        self.hang = hang
        self.started: list[float] = []
        self.open = 0
        self.gate: Deferred[None] = Deferred()

    async def __call__(self) -> Outcome:
        self.started.append(self.clock.seconds())
        self.open += 1
        assert self.open == 1, "two runs at once"
        try:
            if self.hang:
                self.gate = Deferred()
                await self.gate
            outcome = self.outcomes.pop(0) if self.outcomes else NothingToDo()
            if isinstance(outcome, Exception):
                raise outcome
        except CancelledError:
            return Cancelled()
        finally:
            self.open -= 1
        return outcome


@pytest.fixture
def clock() -> Clock:
    return Clock()


def ticking(clock: Clock, runs: Callable[[], object]) -> Tick:
    # Runs is such a function
    tick = Tick(runs, clock, TickPace(), "Sage", Unlucky(), scheduler=Scheduler(clock))  # type: ignore[arg-type]
    tick.start()
    return tick


def test_a_trigger_wakes_at_once(clock: Clock) -> None:
    runs = Runs(clock)
    ticking(clock, runs).wake()
    clock.advance(0)
    assert runs.started == [0]


def test_a_burst_is_joined_for_250_ms(clock: Clock) -> None:
    runs = Runs(clock)
    tick = ticking(clock, runs)
    for _ in range(10):
        tick.wake()
        clock.advance(0)
        clock.advance(0.02)
    assert runs.started == [0]
    clock.pump([0.01] * 10)
    assert runs.started == [0, pytest.approx(0.25)]
    clock.advance(1)
    assert len(runs.started) == 2


def test_triggers_during_a_run_make_one_run_after_it(clock: Clock) -> None:
    runs = Runs(clock, hang=True)
    tick = ticking(clock, runs)
    tick.wake()
    clock.advance(0)
    for _ in range(5):
        tick.wake()
        clock.advance(1)
    assert len(runs.started) == 1
    runs.gate.callback(None)
    clock.advance(0)
    assert len(runs.started) == 2


def test_without_triggers_it_ticks_every_60_s_asleep_and_5_s_awake(clock: Clock) -> None:
    runs = Runs(clock)
    tick = ticking(clock, runs)
    clock.pump([1] * 121)
    assert runs.started == [60, 120]
    runs.started.clear()
    tick.wake()
    clock.pump([1] * 11)
    assert runs.started == [122, 127, 132]
    clock.pump([1] * 400)
    runs.started.clear()
    clock.pump([1] * 120)
    assert len(runs.started) == 2


def test_an_outage_pauses_longer_and_longer_and_the_run_comes_back_by_itself(clock: Clock) -> None:
    runs = Runs(clock, *[Failed("down")] * 6, Answered(("say",)))
    tick = ticking(clock, runs)
    tick.wake()
    clock.pump([0.5] * 600)
    gaps = [later - earlier for earlier, later in zip(runs.started, runs.started[1:], strict=False)]
    assert gaps[:6] == [FIRST_PAUSE, 10, 20, 40, LONGEST_PAUSE, LONGEST_PAUSE]
    assert not tick.paused


def test_a_trigger_does_not_break_a_pause(clock: Clock) -> None:
    runs = Runs(clock, Failed("down"))
    tick = ticking(clock, runs)
    tick.wake()
    clock.advance(0)
    assert tick.paused
    tick.wake()
    clock.advance(FIRST_PAUSE - 0.1)
    assert len(runs.started) == 1
    clock.advance(0.1)
    assert len(runs.started) == 2


def test_a_pause_lasts_as_long_as_the_provider_wishes(clock: Clock) -> None:
    runs = Runs(clock, Failed("slow down", retry_at=90.0))
    ticking(clock, runs).wake()
    clock.pump([0, *[1] * 90])
    assert runs.started == [0, 90]


def test_a_run_that_raises_is_logged_and_the_tick_goes_on(clock: Clock, flush_failures: FlushFailures) -> None:
    runs = Runs(clock, ZeroDivisionError())
    ticking(clock, runs).wake()
    clock.pump([0, *[1] * 10])
    assert len(runs.started) == 3
    assert len(flush_failures(ZeroDivisionError)) == 1


def test_five_crashed_runs_in_a_row_stop_it_until_a_person_clears_it(
    clock: Clock, flush_failures: FlushFailures
) -> None:
    runs = Runs(clock, *[Failed("bug", bug=True)] * MAX_CRASHES)
    tick = ticking(clock, runs)
    tick.wake()
    clock.pump([1] * 1000)
    assert len(runs.started) == MAX_CRASHES
    assert tick.stopped_by_errors
    flush_failures()
    tick.clear_errors()
    clock.pump([1] * 100)
    assert len(runs.started) > MAX_CRASHES


def test_failures_that_are_not_ours_never_stop_it(clock: Clock) -> None:
    runs = Runs(clock, *[Failed("down")] * 30)
    tick = ticking(clock, runs)
    tick.wake()
    clock.pump([5] * 500)
    assert len(runs.started) > 30
    assert not tick.stopped_by_errors


def test_stop_cancels_the_run_and_leaves_no_timer(clock: Clock) -> None:
    runs = Runs(clock, hang=True)
    tick = ticking(clock, runs)
    tick.wake()
    clock.advance(0)
    stopped = tick.stop()
    assert stopped.called
    assert runs.open == 0
    assert clock.getDelayedCalls() == []
    clock.advance(1000)
    assert len(runs.started) == 1


def test_settled_waits_for_the_run_and_for_a_wanted_one(clock: Clock) -> None:
    runs = Runs(clock, hang=True)
    tick = ticking(clock, runs)
    assert tick.settled().called
    tick.wake()
    settled = tick.settled()
    clock.advance(0)
    assert not settled.called
    runs.gate.callback(None)
    assert settled.called


def test_settled_does_not_wait_for_a_pause_to_end(clock: Clock) -> None:
    runs = Runs(clock, Failed("down"))
    tick = ticking(clock, runs)
    tick.wake()
    settled = tick.settled()
    clock.advance(0)
    assert settled.called


class Crowd:
    """Ticks of one process that share a turnstile; what each run did is in `began`."""

    def __init__(self, clock: Clock, count: int) -> None:
        self.scheduler = Scheduler(clock)
        self.clock = clock
        self.began: list[int] = []
        self.ticks = [self._tick(number) for number in range(count)]

    def _tick(self, number: int) -> Tick:
        async def run() -> Outcome:
            self.began.append(number)
            return NothingToDo()

        return Tick(run, self.clock, TickPace(), str(number), Unlucky(), scheduler=self.scheduler)

    def pass_turns(self) -> int:
        """The most runs that began in one turn, until nobody waited."""
        most = 0
        while self.scheduler.waiting:
            before = len(self.began)
            self.clock.advance(APART_SECONDS)
            most = max(most, len(self.began) - before)
        return most


def test_a_common_start_is_spread_and_everybody_runs_once(clock: Clock) -> None:
    crowd = Crowd(clock, 200)
    for tick in crowd.ticks:
        tick.start(at_once=True)
    clock.advance(0)
    assert crowd.began == list(range(FEW))
    assert crowd.pass_turns() == EACH
    assert crowd.began == list(range(200))
    assert not any(tick.busy for tick in crowd.ticks)


def test_a_word_passes_before_those_who_wait_and_keeps_its_turn_when_another_comes(clock: Clock) -> None:
    crowd = Crowd(clock, 200)
    for tick in crowd.ticks:
        tick.start(at_once=True)
    clock.advance(0)
    crowd.ticks[150].wake()
    crowd.ticks[180].wake()
    clock.advance(0)
    crowd.ticks[150].wake()
    clock.advance(APART_SECONDS)
    assert crowd.began[FEW : FEW + 2] == [150, 180]
    crowd.pass_turns()
    assert sorted(crowd.began) == list(range(200))


def test_what_waits_for_its_turn_is_not_settled(clock: Clock) -> None:
    crowd = Crowd(clock, FEW + 1)
    for tick in crowd.ticks:
        tick.start()
        tick.wake()
    clock.advance(0)
    settled = crowd.ticks[FEW].settled()
    assert not settled.called
    crowd.pass_turns()
    assert settled.called


@pytest.mark.parametrize("end", [Tick.stop, Tick.halt], ids=["stop", "halt"])
def test_the_end_of_one_that_waits_leaves_nothing_behind(clock: Clock, end: Callable[[Tick], object]) -> None:
    crowd = Crowd(clock, FEW + 3)
    for tick in crowd.ticks:
        tick.start()
        tick.wake()
    clock.advance(0)
    end(crowd.ticks[-2])
    crowd.pass_turns()
    assert sorted(crowd.began) == [*range(FEW + 1), FEW + 2]
    for tick in crowd.ticks:
        end(tick)
    assert crowd.scheduler.waiting == 0
    assert not clock.getDelayedCalls()


def test_an_emergency_stop_lifted_while_others_wait_gives_no_second_run(clock: Clock) -> None:
    crowd = Crowd(clock, FEW + 2)
    for tick in crowd.ticks:
        tick.start(at_once=True)
    clock.advance(0)
    crowd.ticks[-1].clear_errors()
    clock.advance(0)
    crowd.pass_turns()
    assert sorted(crowd.began) == list(range(FEW + 2))


def test_where_few_are_started_none_waits_and_whoever_stops_is_not_counted(clock: Clock) -> None:
    crowd = Crowd(clock, 3 * FEW)
    for tick in crowd.ticks:
        tick.start()
        tick.start()
    for tick in crowd.ticks[FEW:]:
        tick.halt()
        tick.stop()
    for _ in range(10):
        for tick in crowd.ticks[:FEW]:
            tick.wake()
        clock.advance(0)
        assert crowd.scheduler.waiting == 0
        clock.advance(0.25)
    assert len(crowd.began) == 10 * FEW
