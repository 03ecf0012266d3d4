"""Nobody who waits for a server is forgotten: not when another leaves, not when its settings or its circuit change."""

from __future__ import annotations

from random import Random

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience.admission.attempt import AdmissionRequest, Attempt
from mud_assistant.resilience.admission.breaker import BreakerConfig
from mud_assistant.resilience.admission.upstream import Upstream, UpstreamConfig
from mud_assistant.resilience.call import CallTarget
from mud_assistant.resilience.errors import CircuitOpen
from mud_assistant.resilience.pipeline import Pipeline

TARGET = CallTarget("https://model.test:443", "key 1", "a")


class Line:
    """Those who want to be let in to one server, in the order of their coming; what was said to them."""

    def __init__(self, clock: Clock, config: UpstreamConfig) -> None:
        self.clock = clock
        self.pipeline = Pipeline(clock, Random(1))  # noqa: S311  (no secret)
        self.upstream: Upstream = self.pipeline.upstream(TARGET.origin, config)
        self.quota = self.pipeline.quota(TARGET)
        self.said: list[Attempt | BaseException | None] = []

    def come(self, group: str = "", tokens: int = 0) -> Deferred[Attempt]:
        number = len(self.said)
        self.said.append(None)

        def say(result: Attempt | Failure) -> None:
            self.said[number] = result.value if isinstance(result, Failure) else result

        entered = self.upstream.enter(AdmissionRequest(group, self.quota, tokens))
        entered.addBoth(say)
        return entered

    def are_in(self) -> list[bool]:
        return [isinstance(said, Attempt) for said in self.said]


def test_who_waits_for_a_start_is_not_forgotten_when_another_leaves() -> None:
    line = Line(Clock(), UpstreamConfig(start_seconds=1.0, start_burst=1))
    line.come()
    leaves = line.come()
    line.come()
    leaves.cancel()
    line.clock.advance(1.0)
    assert line.are_in() == [True, False, True]


def test_who_waits_for_a_cool_down_is_not_forgotten_when_another_leaves() -> None:
    line = Line(Clock(), UpstreamConfig())
    line.quota.cool(10.0, "busy")
    leaves = line.come()
    line.come()
    leaves.cancel()
    line.clock.advance(10.0)
    assert line.are_in() == [False, True]
    assert line.clock.getDelayedCalls() == []


def test_when_the_last_one_leaves_no_timer_is_left() -> None:
    line = Line(Clock(), UpstreamConfig())
    line.quota.cool(10.0, "busy")
    line.come().cancel()
    assert line.clock.getDelayedCalls() == []


def test_who_waits_for_a_cool_down_goes_when_the_configuration_changes() -> None:
    line = Line(Clock(), UpstreamConfig())
    line.quota.cool(10.0, "busy")
    line.come()
    line.pipeline.configuration_changed(TARGET.origin)
    assert line.are_in() == [True]
    assert line.clock.getDelayedCalls() == []


def test_a_change_of_configuration_concerns_one_server() -> None:
    line = Line(Clock(), UpstreamConfig())
    line.quota.cool(10.0, "busy")
    line.come()
    line.pipeline.configuration_changed("https://another.test:443")
    assert line.are_in() == [False]
    line.clock.advance(10.0)
    assert line.are_in() == [True]


class Restless(Clock):
    """Its time goes on between two looks at it, as real time does."""

    def seconds(self) -> float:
        self.rightNow += 0.001
        return self.rightNow


@pytest.mark.parametrize("looks", range(40))
def test_a_circuit_that_opens_while_someone_is_let_in_turns_them_away(looks: int) -> None:
    line = Line(Restless(), UpstreamConfig(BreakerConfig(failure_threshold=1, hang_seconds=10.0)))
    line.come()
    hangs_at = line.upstream.breaker.next_change()
    assert hangs_at is not None
    line.clock.rightNow = hangs_at - looks / 1000
    line.come()
    assert isinstance(line.said[1], Attempt | CircuitOpen)
    assert len(line.upstream.queue) == 0
