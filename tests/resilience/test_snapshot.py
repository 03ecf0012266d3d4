from __future__ import annotations

from random import Random

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
    BreakerConfig,
    Call,
    Caller,
    CallTarget,
    CircuitState,
    Deadline,
    InFlightConfig,
    Ledger,
    Pipeline,
    RateLimitSnapshot,
    UpstreamConfig,
    Verdict,
)
from mud_assistant.resilience.snapshot import quota_state, upstream_state
from tests.resilience.admission.door import SICK, Door


def test_a_server_as_it_is() -> None:
    door = Door(breaker=BreakerConfig(failure_threshold=2), cap=2)
    for name in "abcd":
        door.ask(name)
    door.clock.advance(3)
    door.fail("a")
    state = upstream_state(door.upstream)
    assert (state.origin, state.state, state.open_for) == ("http://a:1", CircuitState.CLOSED, 0.0)
    assert (state.permits_out, state.in_flight, state.in_flight_limit, state.waiting) == (2, 2, 2, 1)
    assert (state.failures_in_a_row, state.retries_left) == (1, 10.0)
    assert [(ended.at, ended.how, ended.cause) for ended in state.recent] == [(3.0, "failure", "down")]


def test_how_long_a_circuit_stays_open_counts_down() -> None:
    door = Door(breaker=BreakerConfig(failure_threshold=1, reset_timeout=30.0))
    door.ask("a")
    door.fail("a", SICK)
    door.clock.advance(10)
    assert (upstream_state(door.upstream).state, upstream_state(door.upstream).open_for) == (CircuitState.OPEN, 20.0)
    door.clock.advance(20)
    assert (upstream_state(door.upstream).state, upstream_state(door.upstream).open_for) == (
        CircuitState.HALF_OPEN,
        0.0,
    )


def test_a_limit_as_it_is() -> None:
    door = Door()
    door.quota.cool(12.0, "slow down")
    door.clock.advance(2)
    state = quota_state("http://a:1", door.quota)
    assert (state.origin, state.credential, state.lane, state.revoked) == ("http://a:1", "k", "sage", "")
    assert (state.cools_for, state.cool_why) == (10.0, "slow down")
    assert (state.requests_left, state.tokens_left) == (None, None)
    door.clock.advance(10)
    state = quota_state("http://a:1", door.quota)
    assert (state.cools_for, state.cool_why) == (0.0, "")


def test_what_is_left_is_never_less_than_nothing() -> None:
    """A prompt may be larger than a whole limit, and limits without a reset are not waited for."""
    door = Door()
    door.quota.apply(door.quota.send(1), RateLimitSnapshot(0, 100, None), RateLimitSnapshot(100, 100, 60.0))
    door.quota.send(500)
    state = quota_state("http://a:1", door.quota)
    assert (state.requests_left, state.tokens_left) == (0, 0)


def test_what_is_left_is_of_now() -> None:
    """Nobody asked since the reset: the limit is full again all the same."""
    door = Door()
    door.quota.apply(door.quota.send(1), RateLimitSnapshot(0, 100, 60.0), RateLimitSnapshot(0, None, 60.0))
    door.clock.advance(60)
    state = quota_state("http://a:1", door.quota)
    assert (state.requests_left, state.tokens_left) == (100, None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_everything_of_a_process_at_one_moment(clock: Clock) -> None:
    clock.advance(5)
    pipeline = Pipeline(clock, Random(1), Ledger(clock.seconds, lambda: 0.0))  # noqa: S311  (jitter)
    gate: Deferred[str] = Deferred()

    async def attempt(attempt: Attempt) -> str:
        attempt.used = Amount(1, 70)
        return await gate

    def call(origin: str, lane: str) -> Call:
        caller = Caller("sage", accounts=(Account("ann", Allowance(calls=9)),))
        config = UpstreamConfig(in_flight=InFlightConfig(most=3))
        return Call(CallTarget(origin, "k", lane), lambda _: Verdict(""), caller, Amount(1, 100), upstream=config)

    for origin, lane in (("http://b:1", "m"), ("http://a:1", "m"), ("http://a:1", "n")):
        Deferred.fromCoroutine(pipeline.call(attempt, call(origin, lane), Deadline.after(clock, 60)))
    during = pipeline.snapshot()
    assert during.at == 5.0
    assert [(one.origin, one.in_flight, one.in_flight_limit) for one in during.upstreams] == [
        ("http://a:1", 2, 3),
        ("http://b:1", 1, 3),
    ]
    assert [(one.origin, one.lane) for one in during.quotas] == [
        ("http://b:1", "m"),
        ("http://a:1", "m"),
        ("http://a:1", "n"),
    ]
    assert [(one.name, one.spent, one.reserved) for one in during.accounts] == [("ann", Amount(), Amount(3, 300))]
    gate.callback("done")
    after = pipeline.snapshot()
    assert [one.in_flight for one in after.upstreams] == [0, 0]
    assert [(one.spent, one.reserved) for one in after.accounts] == [(Amount(3, 210), Amount())]
    assert clock.getDelayedCalls() == []


def test_nothing_was_asked_yet(clock: Clock) -> None:
    snapshot = Pipeline(clock, Random(1)).snapshot()  # noqa: S311  (jitter)
    assert (snapshot.upstreams, snapshot.quotas, snapshot.accounts) == ((), (), ())
