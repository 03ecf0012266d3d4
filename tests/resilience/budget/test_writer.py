"""The ledger is written down before a call with a limit leaves, once for many, and nobody is held up without need."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.python.failure import Failure

from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
    BudgetSpent,
    BudgetUnkept,
    Call,
    Caller,
    CallTarget,
    Deadline,
    DeadlineExceeded,
    Ledger,
    NotAdmitted,
    Pipeline,
    RetryConfig,
    UpstreamConfig,
    Verdict,
)
from mud_assistant.resilience.admission.capacity import InFlightConfig

ONE = Amount(calls=1, tokens=10)
FREE = Account("all", Allowance())
TARGET = CallTarget("http://a")


class Down(Exception):
    """The server failed."""


class Disk:
    """Keeps what it is given when it is told to; `writes` are those it was asked for, `kept` the last that was done."""

    def __init__(self) -> None:
        self.writes: list[Mapping[str, Any]] = []
        self.gates: list[Deferred[None]] = []
        self.kept: Mapping[str, Any] | None = None

    async def keep(self, exported: Mapping[str, Any]) -> None:
        self.writes.append(exported)
        self.gates.append(Deferred())
        await self.gates[-1]
        self.kept = exported

    def done(self) -> None:
        self.gates.pop(0).callback(None)

    def full(self) -> None:
        self.gates.pop(0).errback(OSError("the disk is full"))

    def calls_written(self) -> list[int]:
        return [write["spent"].get("all", {"calls": 0})["calls"] for write in self.writes]


class Desk:
    """A pipeline on a clock, before a server whose attempts wait until they are let go."""

    def __init__(self) -> None:
        self.clock, self.disk = Clock(), Disk()
        self.ledger = Ledger(self.clock.seconds, self.clock.seconds)
        self.pipeline = Pipeline(self.clock, Random(1), self.ledger, self.disk.keep)  # noqa: S311  (jitter)
        self.attempts: list[Deferred[str]] = []
        self.used = ONE
        self.ends: list[object] = []

    async def attempt(self, attempt: Attempt) -> str:
        self.attempts.append(Deferred())
        attempt.used = self.used
        return await self.attempts[-1]

    def call(self, *accounts: Account, seconds: float = 60.0) -> Deferred[str]:
        def judge(error: Exception) -> Verdict:
            assert isinstance(error, Down)
            return Verdict("down", is_failure=True, may_retry=True)

        many = UpstreamConfig(in_flight=InFlightConfig(most=100, first=100), start_seconds=0.0)
        call = Call(TARGET, judge, Caller("x", accounts=accounts), ONE, RetryConfig(base_delay=1.0), many)
        deadline = Deadline.after(self.clock, seconds)
        made = Deferred.fromCoroutine(self.pipeline.call(self.attempt, call, deadline))
        made.addBoth(lambda result: self.ends.append(result.value if isinstance(result, Failure) else result))
        return made


@pytest.fixture
def desk() -> Desk:
    return Desk()


def limited(calls: int) -> Account:
    return Account("all", Allowance(calls=calls))


@pytest.mark.parametrize("allowance", [Allowance(calls=9), Allowance(tokens=99), Allowance(money=9.0)])
def test_a_call_with_a_limit_leaves_when_what_it_may_cost_is_written_down(desk: Desk, allowance: Allowance) -> None:
    desk.call(FREE, Account("player", allowance))
    assert desk.attempts == []
    assert desk.disk.writes == [{"day": 0, "spent": {"all": ONE.plain(), "player": ONE.plain()}}]
    desk.disk.done()
    assert len(desk.attempts) == 1


def test_a_call_without_a_limit_leaves_at_once_and_is_written_down_when_it_is_over(desk: Desk) -> None:
    desk.call(FREE)
    assert (len(desk.attempts), desk.disk.writes) == (1, [])
    desk.attempts[0].callback("fine")
    assert desk.ends == ["fine"]
    assert desk.disk.calls_written() == [1]
    desk.disk.done()


def test_nobody_waits_for_the_settlement_and_what_was_estimated_wrongly_is_put_right(desk: Desk) -> None:
    desk.used = Amount(calls=1, tokens=300)
    desk.call(limited(9))
    desk.disk.done()
    desk.attempts[0].callback("fine")
    assert desk.ends == ["fine"]
    desk.disk.done()
    assert desk.disk.kept == {"day": 0, "spent": {"all": desk.used.plain()}}


def test_what_is_there_already_is_not_written_again(desk: Desk) -> None:
    desk.call(limited(9))
    desk.disk.done()
    desk.attempts[0].callback("fine")  # it used what was estimated
    assert (desk.disk.calls_written(), desk.disk.gates) == ([1], [])


def test_fifty_at_once_are_written_down_together(desk: Desk) -> None:
    for _ in range(50):
        desk.call(limited(60))
    desk.disk.done()
    assert len(desk.attempts) == 1
    desk.disk.done()
    assert len(desk.attempts) == 50
    assert desk.disk.calls_written() == [1, 50]


def test_a_write_does_not_let_those_go_that_came_after_it_began(desk: Desk) -> None:
    desk.call(limited(9))
    desk.call(limited(9))
    desk.disk.done()
    desk.call(limited(9))
    assert len(desk.attempts) == 1
    desk.disk.done()
    assert len(desk.attempts) == 2
    desk.disk.done()
    assert len(desk.attempts) == 3


def test_what_cannot_be_written_down_is_not_made_and_costs_nothing(desk: Desk) -> None:
    with capturedLogs() as logged:
        for _ in range(3):
            desk.call(limited(9))
        desk.disk.full()
        desk.disk.full()
        desk.disk.full()  # what was released is to be written as well
    assert desk.attempts == []
    assert [str(end) for end in desk.ends] == [
        "the call was not made: what it may cost could not be written down (the disk is full)"
    ] * 3
    assert all(isinstance(end, BudgetUnkept) and isinstance(end.__cause__, OSError) for end in desk.ends)
    assert len({id(end) for end in desk.ends}) == 3
    assert issubclass(BudgetUnkept, NotAdmitted)
    assert desk.ledger.reserved("all") == desk.ledger.spent("all") == Amount()
    assert [event["log_event"] for event in logged] == ["budget"]
    assert desk.pipeline.snapshot().upstreams[0].recent == ()


def test_after_a_failure_the_next_write_is_made_and_the_log_says_that_it_goes_on(desk: Desk) -> None:
    desk.call(limited(9))
    desk.disk.full()
    desk.disk.full()
    with capturedLogs() as logged:
        desk.call(limited(9))
        desk.disk.done()
    assert len(desk.attempts) == 1
    assert [event["log_format"] for event in logged] == ["what is spent can be written down again"]


def test_what_a_failed_write_left_there_is_not_taken_for_known(desk: Desk) -> None:
    desk.call(limited(9))
    desk.disk.done()
    desk.call(limited(9))
    desk.disk.full()
    assert desk.disk.calls_written() == [1, 2, 1]
    desk.disk.done()
    desk.attempts[0].callback("fine")
    assert desk.disk.calls_written() == [1, 2, 1, 1]
    desk.disk.done()
    desk.call(limited(9))
    desk.disk.done()
    assert (len(desk.attempts), desk.disk.calls_written()) == (2, [1, 2, 1, 1, 2])


def test_who_leaves_while_it_is_written_makes_no_request_and_the_write_goes_on(desk: Desk) -> None:
    desk.call(limited(9)).cancel()
    assert isinstance(desk.ends[0], CancelledError)
    assert desk.ledger.reserved("all") == Amount()
    desk.disk.done()
    assert desk.attempts == []
    desk.disk.done()
    assert desk.disk.calls_written() == [1, 0]


def test_who_leaves_before_it_is_written_lets_the_others_go_on(desk: Desk) -> None:
    desk.call(limited(9))
    leaving = desk.call(limited(9))
    desk.call(limited(9))
    leaving.cancel()
    desk.disk.done()
    desk.disk.done()
    assert (len(desk.attempts), desk.disk.calls_written()) == (2, [1, 2])


def test_what_one_gave_back_while_it_was_written_serves_another(desk: Desk) -> None:
    leaving = desk.call(limited(1))
    leaving.cancel()
    desk.call(limited(1))
    assert desk.attempts == []
    desk.disk.done()
    assert (len(desk.attempts), desk.disk.calls_written()) == (1, [1])


def test_a_write_that_takes_too_long_is_held_and_its_late_failure_is_nobodys(desk: Desk) -> None:
    desk.call(limited(9), seconds=5.0)
    desk.clock.advance(5.0)
    assert isinstance(desk.ends[0], DeadlineExceeded)
    desk.disk.full()
    desk.disk.done()
    assert desk.disk.kept == {"day": 0, "spent": {}}
    assert desk.clock.getDelayedCalls() == []


def test_a_clean_stop_waits_for_the_last_spending(desk: Desk) -> None:
    desk.call(FREE)
    desk.call(FREE)
    desk.attempts[0].callback("fine")
    stopped: list[None] = []
    desk.call(FREE)  # while the first is being written
    desk.attempts[1].callback("fine")
    desk.attempts[2].callback("fine")
    Deferred.fromCoroutine(desk.pipeline.write_ledger()).addCallback(stopped.append)
    desk.disk.done()
    assert (stopped, desk.disk.calls_written()) == ([], [2, 3])
    desk.disk.done()
    assert (stopped, len(desk.disk.writes)) == ([None], 2)


def test_a_clean_stop_does_not_fail_with_the_disk(desk: Desk) -> None:
    desk.call(FREE)
    desk.attempts[0].callback("fine")
    stopped: list[None] = []
    Deferred.fromCoroutine(desk.pipeline.write_ledger()).addCallback(stopped.append)
    desk.disk.full()
    desk.disk.full()
    assert stopped == [None]


def test_an_attempt_after_one_that_cost_something_is_paid_for_again(desk: Desk) -> None:
    desk.call(limited(2))
    desk.disk.done()
    desk.attempts[0].errback(Down())
    desk.clock.advance(1.0)
    assert len(desk.attempts) == 1
    assert desk.disk.calls_written() == [1, 2]
    assert desk.pipeline.upstream(TARGET.origin).in_flight.used == 0
    desk.disk.done()
    assert len(desk.attempts) == 2
    desk.attempts[1].callback("fine")
    assert (desk.ends, desk.ledger.spent("all").calls, desk.ledger.reserved("all")) == (["fine"], 2, Amount())


def test_an_attempt_for_which_nothing_is_left_is_not_made_and_blames_nobody(desk: Desk) -> None:
    desk.call(limited(1))
    desk.disk.done()
    desk.attempts[0].errback(Down())
    desk.clock.advance(1.0)
    assert len(desk.attempts) == 1
    assert isinstance(desk.ends[0], Down)
    assert isinstance(desk.ends[0].__cause__, BudgetSpent)
    assert desk.ledger.spent("all").calls == 1
    upstream = desk.pipeline.upstream(TARGET.origin)
    assert [ended.how for ended in upstream.breaker.recent if ended.how == "failure"] == ["failure"]
    assert (upstream.breaker.permits_out, upstream.in_flight.used) == (0, 0)


def test_an_attempt_after_a_free_one_needs_no_more_money(desk: Desk) -> None:
    desk.used = Amount()
    desk.call(limited(1))
    desk.disk.done()
    desk.attempts[0].errback(Down())
    desk.used = ONE
    desk.clock.advance(1.0)
    desk.attempts[1].callback("fine")
    assert (desk.ends, desk.disk.calls_written()) == (["fine"], [1])
