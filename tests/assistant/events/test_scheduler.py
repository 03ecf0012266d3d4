"""The turnstile on a Clock: many are spread, few never wait, and nobody who left is waited for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.assistant.events.scheduler import (
    APART_SECONDS,
    EACH,
    FEW,
    LULL_SECONDS,
    URGENT_IN_A_ROW,
    Scheduler,
    Slot,
)
from tests.guards import FlushFailures


class Line:
    """A turnstile, and who began when."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.scheduler = Scheduler(self.clock)
        for _ in range(FEW + 1):
            self.scheduler.joins()
        self.began: list[tuple[str, float]] = []

    def begin(self, name: str, *, is_urgent: bool = False) -> Slot | None:
        return self.scheduler.begin(self.beginning(name), is_urgent=is_urgent)

    def beginning(self, name: str) -> Callable[[], None]:
        return lambda: self.began.append((name, self.clock.seconds()))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.began]

    def pass_turns(self, count: int) -> None:
        self.clock.pump([APART_SECONDS] * count)


@pytest.fixture
def line() -> Line:
    return Line()


def test_one_that_is_alone_begins_at_once_and_leaves_no_timer(line: Line) -> None:
    for number in range(100):
        assert line.begin(str(number)) is None
        assert line.began[-1] == (str(number), line.clock.seconds())
        assert not line.clock.getDelayedCalls()
        line.clock.advance(2 * LULL_SECONDS)


def test_a_few_at_once_begin_at_once_and_leave_no_timer(line: Line) -> None:
    assert [line.begin(str(number)) for number in range(FEW)] == [None] * FEW
    assert len(line.began) == FEW
    assert not line.clock.getDelayedCalls()


def test_many_begin_a_few_in_each_turn_of_the_reactor_in_the_order_of_their_coming(line: Line) -> None:
    everybody = [str(number) for number in range(201)]
    for name in everybody:
        line.begin(name)
    assert line.scheduler.waiting == len(everybody) - FEW
    turns = 0
    while line.clock.getDelayedCalls():
        before = len(line.began)
        line.pass_turns(1)
        assert 1 <= len(line.began) - before <= EACH
        turns += 1
    assert line.names == everybody
    assert turns == -(-(len(everybody) - FEW) // EACH)


def test_work_that_takes_its_time_does_not_let_more_begin_in_the_same_turn() -> None:
    clock = Clock()
    scheduler = Scheduler(clock)
    for _ in range(3 * FEW):
        scheduler.joins()
    began: list[float] = []

    def slow() -> None:
        clock.rightNow += 2 * LULL_SECONDS  # as a busy processor would, and not as a turn of the reactor
        began.append(clock.seconds())

    for _ in range(3 * FEW):
        scheduler.begin(slow, is_urgent=True)
    assert len(began) == FEW
    clock.advance(APART_SECONDS)
    assert len(began) == FEW + EACH


def test_those_a_word_woke_go_before_the_others(line: Line) -> None:
    for number in range(FEW + 4):
        line.begin(f"timer {number}")
    line.begin("word", is_urgent=True)
    line.pass_turns(1)
    assert line.names[FEW] == "word"


def test_the_others_are_not_kept_waiting_for_ever(line: Line) -> None:
    for _ in range(FEW):
        line.begin("first", is_urgent=True)
    line.begin("timer")
    for _ in range(1000):
        for _ in range(EACH):
            line.begin("word", is_urgent=True)
        line.pass_turns(1)
        if "timer" in line.names:
            break
    assert line.names.index("timer") - FEW == URGENT_IN_A_ROW


def test_one_that_leaves_does_not_begin_and_the_last_one_takes_the_timer_along(line: Line) -> None:
    turns = [line.begin(str(number)) for number in range(FEW + 3)]
    gone, stays, last = turns[FEW:]
    assert gone is not None
    assert stays is not None
    assert last is not None
    gone.cancel()
    gone.cancel()
    line.pass_turns(1)
    assert line.names[FEW:] == [str(FEW + 1), str(FEW + 2)]
    stays.cancel()  # has begun: nothing happens
    assert not line.clock.getDelayedCalls()
    line.clock.advance(2 * LULL_SECONDS)
    for number in range(FEW):
        line.begin(f"more {number}")
    waiting = line.begin("waiting")
    assert waiting is not None
    waiting.cancel()
    assert line.scheduler.waiting == 0
    assert not line.clock.getDelayedCalls()


def test_one_that_fails_keeps_nobody_else_from_beginning(line: Line) -> None:
    def failing() -> None:
        raise ZeroDivisionError

    for number in range(FEW):
        line.begin(str(number))
    line.scheduler.begin(failing, is_urgent=False)
    line.begin("next")
    with pytest.raises(ZeroDivisionError):
        line.pass_turns(1)
    line.pass_turns(1)
    assert line.names[-1] == "next"


def test_one_that_another_begins_takes_its_own_turn(line: Line) -> None:
    def again() -> None:
        line.began.append(("outer", line.clock.seconds()))
        line.begin("inner")

    for _ in range(2 * FEW):
        line.scheduler.begin(again, is_urgent=False)
    while line.clock.getDelayedCalls():
        before = len(line.began)
        line.pass_turns(1)
        assert len(line.began) - before <= EACH
    assert line.names.count("inner") == line.names.count("outer") == 2 * FEW


def test_steps_pass_without_a_deferred_while_there_are_few(line: Line) -> None:
    assert [line.scheduler.step() for _ in range(FEW)] == [None] * FEW
    assert line.scheduler.step() is not None


def test_a_volley_of_answers_is_acted_on_a_few_in_each_turn_before_runs_that_begin(line: Line) -> None:
    """Each answer is read in a callback of its own, one after the other in one turn of the reactor."""

    def goes_on(_: None, name: str) -> None:
        line.began.append((name, line.clock.seconds()))

    for number in range(100):
        line.begin(f"run {number}")
    for number in range(100):
        line.clock.rightNow += APART_SECONDS / 2  # reading it
        turn = line.scheduler.step()
        assert turn is not None
        turn.addCallback(goes_on, f"step {number}")
    assert line.names == [f"run {number}" for number in range(FEW)]
    while line.clock.getDelayedCalls():
        before = len(line.began)
        line.pass_turns(1)
        assert len(line.began) - before <= EACH
    assert line.names[FEW : FEW + URGENT_IN_A_ROW] == [f"step {number}" for number in range(URGENT_IN_A_ROW)]
    assert len(line.began) == 200


def test_whoever_awaits_its_turn_is_told_and_may_give_it_up(line: Line, flush_failures: FlushFailures) -> None:
    told: list[str] = []
    for _ in range(FEW):
        line.scheduler.turn()
    gives_up, waits = line.scheduler.turn(), line.scheduler.turn()
    assert gives_up is not None
    assert waits is not None

    def gave_up(failure: Failure) -> None:
        failure.trap(CancelledError)
        told.append("gave up")

    gives_up.addCallbacks(lambda _: told.append("went on"), gave_up)
    waits.addCallback(lambda _: told.append("waited"))
    gives_up.cancel()
    line.pass_turns(3)
    assert told == ["gave up", "waited"]
    assert not line.clock.getDelayedCalls()
    assert not flush_failures()


def test_where_few_live_no_run_waits_and_the_start_of_a_game_waits_all_the_same(line: Line) -> None:
    line.scheduler.leaves()
    for number in range(100):
        assert line.begin(str(number)) is None
        assert line.scheduler.step() is None
    assert not line.clock.getDelayedCalls()
    line.clock.advance(2 * LULL_SECONDS)
    assert [line.scheduler.turn() for _ in range(FEW)] == [None] * FEW
    assert line.scheduler.turn() is not None
    line.scheduler.joins()
    assert line.begin("one more") is not None
