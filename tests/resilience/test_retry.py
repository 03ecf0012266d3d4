"""One call and its attempts: what ends it, and that each attempt is ended whatever happens."""

from __future__ import annotations

from random import Random

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience import (
    Attempt,
    AttemptFunction,
    Call,
    CallTarget,
    Deadline,
    Pipeline,
    RetryConfig,
    Verdict,
)

TARGET = CallTarget("http://a")


class Down(Exception):
    """The server failed."""


def judge(error: Exception) -> Verdict:
    if not isinstance(error, Down):
        raise TypeError("this judge knows nothing else")
    return Verdict("down", is_failure=True, may_retry=True)


class Calls:
    """A pipeline on a clock, and what calls through it came to."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.pipeline = Pipeline(self.clock, Random(1))  # noqa: S311  (jitter)
        self.upstream = self.pipeline.upstream(TARGET.origin)
        self.results: list[object] = []

    def start(self, attempt: AttemptFunction[str], seconds: float = 60) -> Deferred[str]:
        call = Call(TARGET, judge, retry=RetryConfig(base_delay=1.0))
        called = Deferred.fromCoroutine(self.pipeline.call(attempt, call, Deadline.after(self.clock, seconds)))
        called.addBoth(lambda result: self.results.append(result.value if isinstance(result, Failure) else result))
        return called

    def assert_nothing_left(self) -> None:
        assert self.upstream.breaker.permits_out == 0
        assert self.upstream.in_flight.used == 0
        assert len(self.upstream.queue) == 0
        assert self.clock.getDelayedCalls() == []


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_attempts_are_made_until_one_succeeds(calls: Calls) -> None:
    outcomes: list[str | Exception] = [Down(), Down(), "fine"]

    async def attempt(_: Attempt) -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    calls.start(attempt)
    calls.clock.advance(1)
    calls.clock.advance(2)
    assert calls.results == ["fine"]
    assert [ended.how for ended in calls.upstream.breaker.recent] == ["failure", "failure", "success"]
    calls.assert_nothing_left()


def test_the_last_failure_is_raised_when_no_attempt_is_left(calls: Calls) -> None:
    failures = [Down("one"), Down("two"), Down("three")]
    last = failures[-1]

    async def attempt(_: Attempt) -> str:
        raise failures.pop(0)

    calls.start(attempt)
    calls.clock.pump([1, 1, 1, 1])
    assert calls.results == [last]
    assert calls.upstream.breaker.failures_in_a_row == 1
    calls.assert_nothing_left()


def test_a_circuit_that_opens_in_between_stops_it_with_what_had_happened(calls: Calls) -> None:
    made: list[Down] = []

    async def attempt(_: Attempt) -> str:
        made.append(Down())
        raise made[-1]

    calls.start(attempt)
    calls.upstream.breaker.trip("other calls failed")
    calls.clock.pump([1, 1, 1])
    assert calls.results == made
    assert len(made) == 1
    calls.assert_nothing_left()


def test_an_attempt_that_makes_another_error_of_its_cancellation_is_not_blamed_nor_made_again(calls: Calls) -> None:
    made = 0

    async def attempt(_: Attempt) -> str:
        nonlocal made
        made += 1
        try:
            await Deferred()
        except CancelledError as error:
            raise Down from error
        return "never"

    calls.start(attempt).cancel()
    calls.clock.pump([1, 1, 1])
    assert made == 1
    assert [type(result) for result in calls.results] == [CancelledError]
    assert calls.upstream.breaker.failures_in_a_row == 0
    calls.assert_nothing_left()


def test_a_judge_that_fails_leaks_no_permit(calls: Calls) -> None:
    async def attempt(_: Attempt) -> str:
        raise KeyError

    calls.start(attempt)
    assert [type(result) for result in calls.results] == [TypeError]
    calls.assert_nothing_left()


def test_no_attempt_is_begun_that_its_deadline_would_cut_before_the_pause_is_over(calls: Calls) -> None:
    async def attempt(_: Attempt) -> str:
        raise Down

    calls.start(attempt, seconds=0.001)
    assert [type(result) for result in calls.results] == [Down]
    calls.assert_nothing_left()
