"""What many callers do to one server together, simulated on a Clock: hours in seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.resilience import (
    Attempt,
    BreakerConfig,
    Call,
    Caller,
    CallTarget,
    Deadline,
    InFlightConfig,
    Pipeline,
    RateLimitSnapshot,
    ResilienceError,
    RetryConfig,
    UpstreamConfig,
    Verdict,
)
from mud_assistant.resilience.admission.capacity import RetryBudgetConfig
from mud_assistant.resilience.admission.pace import LearnedPace
from tests.heap_clock import HeapClock
from tests.resilience.quotas import Bucket, FixedWindow, Server

TARGET = CallTarget("https://model.example", "key", "model")
#: Nothing but the retries themselves: no breaker, no cap, no budget of retries, no spacing of starts.
BARE = UpstreamConfig(
    BreakerConfig(failure_threshold=1_000_000, hang_seconds=None),
    InFlightConfig(most=100_000, first=100_000),
    RetryBudgetConfig(most=1_000_000),
    queue=100_000,
    start_seconds=0,
)


class Down(Exception):
    """The server failed."""


class Throttled(Exception):
    """The server asked to wait until `until`."""

    def __init__(self, until: float) -> None:
        super().__init__(until)
        self.until = until


def judge(error: Exception) -> Verdict:
    if isinstance(error, Throttled):
        return Verdict("429", may_retry=True, throttled=True, not_before=error.until)
    return Verdict("down", is_failure=True, may_retry=isinstance(error, Down))


def start(
    pipeline: Pipeline, make: Callable[[Attempt], Deferred[None]], name: str, target: CallTarget = TARGET
) -> None:
    """One call with nothing but its retries, left alone to succeed or fail."""

    async def one(attempt: Attempt) -> None:
        await make(attempt)

    call = Call(target, judge, Caller(name), retry=RetryConfig(), upstream=BARE)
    called = Deferred.fromCoroutine(pipeline.call(one, call, Deadline.after(pipeline.clock, 120)))
    called.addErrback(lambda failure: failure.trap(Down, Throttled, ResilienceError) and None)


def run_until(clock: HeapClock, end: float, step: float) -> None:
    while clock.seconds() < end:
        clock.advance(step)


def slots(times: list[float], seconds: float) -> tuple[float, int]:
    """The mean and the highest number of times in the 100 ms slots of so many seconds."""
    counted = Counter(int(at * 10) for at in times if at < seconds)
    return sum(counted.values()) / (seconds * 10), max(counted.values())


def test_after_a_common_failure_no_moment_gets_more_than_three_times_the_mean() -> None:
    clock = HeapClock()
    pipeline = Pipeline(clock, Random(1))  # noqa: S311  (jitter)
    retries: list[float] = []

    def attempt(_: Attempt) -> Deferred[None]:
        if clock.seconds() > 0:
            retries.append(clock.seconds())
        return deferLater(clock, 0, fail_down)

    for number in range(2000):
        start(pipeline, attempt, f"assistant:{number}")
    run_until(clock, 3.1, 0.001)
    assert len(retries) == 4000
    mean, highest = slots(retries, 3.0)
    assert highest <= 3 * mean


def test_after_a_common_wish_to_wait_they_do_not_come_back_together() -> None:
    clock = HeapClock()
    pipeline = Pipeline(clock, Random(2))  # noqa: S311  (jitter)
    retries: list[float] = []

    def attempt(_: Attempt) -> Deferred[None]:
        if clock.seconds() < 20:
            return deferLater(clock, 0.1, fail_throttled, 20.0)
        retries.append(clock.seconds() - 20)
        return deferLater(clock, 0.1)

    for number in range(2000):
        start(pipeline, attempt, f"assistant:{number}")
    run_until(clock, 40, 0.01)
    assert len(retries) == 2000
    mean, highest = slots(retries, 1.0)
    assert highest <= 3 * mean


def fail_down() -> None:
    raise Down


def fail_throttled(until: float) -> None:
    raise Throttled(until)


def test_none_of_ten_thousand_attempts_comes_before_its_wish() -> None:
    clock, chance = HeapClock(), Random(3)  # noqa: S311  (wishes)
    pipeline = Pipeline(clock, Random(4))  # noqa: S311  (jitter)
    wishes: dict[str, float] = {}
    early: list[str] = []
    attempts = 0

    def attempt_of(name: str) -> Callable[[Attempt], Deferred[None]]:
        def attempt(_: Attempt) -> Deferred[None]:
            nonlocal attempts
            attempts += 1
            if clock.seconds() < wishes.get(name, 0.0):
                early.append(name)
            wishes[name] = clock.seconds() + chance.uniform(0.01, 10)
            return deferLater(clock, 0, fail_throttled, wishes[name])

        return attempt

    for number in range(4000):
        start(pipeline, attempt_of(str(number)), str(number), CallTarget(TARGET.origin, "key", f"model {number}"))
        clock.advance(0.05)
    run_until(clock, 300, 0.05)
    assert attempts >= 10_000
    assert early == []


@pytest.mark.parametrize("kind", [FixedWindow, Bucket])
def test_a_quota_that_headers_tell_of_is_used_and_not_overrun(kind: type[FixedWindow | Bucket]) -> None:
    taken, refused, minutes = demand(kind, minutes=10, tells=True)
    assert taken >= 0.9 * 60 * minutes
    assert refused <= 0.05 * (taken + refused)


@pytest.mark.parametrize("kind", [FixedWindow, Bucket])
def test_a_quota_that_is_not_told_is_learned(kind: type[FixedWindow | Bucket]) -> None:
    """Finding it out costs one volley of refusals, so the share is taken over half an hour."""
    taken, refused, minutes = demand(kind, minutes=30, tells=False)
    assert taken >= 0.9 * 60 * minutes
    assert refused <= 0.05 * (taken + refused)


@pytest.mark.parametrize(("refused", "seconds"), [((12,), 0.0), ((12, 13), 0.0), ((3, 15), 8.0), ((3, 15, 27), 16.0)])
def test_a_refusal_slows_for_no_longer_than_the_server_asked(refused: tuple[int, ...], seconds: float) -> None:
    """One caller who asks again and again; a server that answers in 10 ms, and asks for 2 s where it refuses.

    When it refuses what came after such a wait, calls are quick again `seconds` after the last one.
    """
    clock, asked, last = HeapClock(), 0, 0.0
    waits: list[tuple[float, float]] = []
    pipeline = Pipeline(clock, Random(5))  # noqa: S311  (jitter)

    async def attempt(_: Attempt) -> None:
        nonlocal asked, last
        asked += 1
        await deferLater(clock, 0.01)
        if asked - 1 in refused:
            last = clock.seconds() + 2
            raise Throttled(last)

    async def caller() -> None:
        while clock.seconds() < 60:
            began = clock.seconds()
            await pipeline.call(attempt, Call(TARGET, judge, Caller("Ann")), Deadline.after(clock, 60))
            waits.append((began, clock.seconds() - began))

    calling = Deferred.fromCoroutine(caller())
    run_until(clock, 61, 0.005)
    assert calling.called
    assert asked > len(refused) + 1000
    # What chance adds to a wait, so that not all come back at once, is up to 2 s here.
    quick_from = last + 2 + seconds
    assert max(wait for began, wait in waits if began >= quick_from) < (0.1 if seconds else 0.02)
    assert max(wait for began, wait in waits if began > last + 2) < 0.6


@given(st.lists(st.tuples(st.floats(0.01, 30), st.booleans(), st.floats(0, 30)), max_size=80))
def test_a_learned_pace_is_never_below_what_was_just_served(happened: list[tuple[float, bool, float]]) -> None:
    pace, now, since, served = LearnedPace(), 0.0, None, 0
    for pause, is_refused, asked in happened:
        now += pause
        pace.send(now)
        if not is_refused:
            pace.accepted()
            served += 1
            continue
        if since is not None and now < since:
            continue
        pace.refused(now, now + asked)
        ends = now + asked
        if since is None:
            assert pace.ready_at(ends) == ends
        elif served:
            assert pace.ready_at(ends) - now <= max(asked, (ends - since) / served) + 1e-6
        since, served = ends, 0


def test_a_learned_pace_rises_within_seconds() -> None:
    pace = LearnedPace()
    for second in (0.0, 10.0):
        pace.send(second)
        pace.accepted()
        pace.refused(second, second + 3)
    pace.send(13.0)
    assert pace.ready_at(13.0) == 16.0
    assert pace.ready_at(14.5) < 16.0
    pace.send(33.0)
    assert pace.ready_at(33.0) < 33.1


def demand(kind: Callable[[HeapClock], Server], minutes: int, *, tells: bool) -> tuple[int, int, int]:
    """How many requests of 200 callers who always want one were taken and refused, and over how many minutes."""
    clock, chance = HeapClock(), Random(7)  # noqa: S311  (latencies and jitter)
    pipeline, server = Pipeline(clock, chance), kind(clock)
    counted: Counter[bool] = Counter()

    async def attempt(attempt: Attempt) -> None:
        answered = server.ask()
        counted[answered.taken] += 1
        await deferLater(clock, chance.uniform(0.5, 1.5))
        if tells:
            attempt.note_limits(RateLimitSnapshot(answered.left, server.per_minute, answered.reset_at), None)
        if not answered.taken:
            raise Throttled(answered.reset_at)

    async def caller(name: str) -> None:
        while True:
            call = Call(TARGET, judge, Caller(name))
            try:
                await pipeline.call(attempt, call, Deadline.after(clock, 120))
            except (ResilienceError, Throttled) as error:
                await deferLater(clock, max(0.0, getattr(error, "until", 0.0) - clock.seconds()) + chance.uniform(2, 5))

    callers = [Deferred.fromCoroutine(caller(f"assistant:{number}")) for number in range(200)]
    run_until(clock, 60 * minutes, 0.05)
    for running in callers:
        running.addErrback(lambda _: None)
        running.cancel()
    assert clock.pending() == 0
    return counted[True], counted[False], minutes
