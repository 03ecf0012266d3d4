"""Two hundred assistants and a server that is down: real ticks, the real pipeline, a simulated hour."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.events.outcome import Answered, Failed, Outcome
from mud_assistant.assistant.events.scheduler import Scheduler
from mud_assistant.assistant.events.tick import Tick, TickPace
from mud_assistant.llm import LLMError, Unavailable
from mud_assistant.llm.verdicts import verdict_of
from mud_assistant.resilience import (
    Attempt,
    BreakerConfig,
    Call,
    Caller,
    CallTarget,
    CircuitOpen,
    CircuitState,
    Deadline,
    NotAdmitted,
    Pipeline,
    UpstreamConfig,
)

TARGET = CallTarget("http://model.example:11434", "", "qwen3")
ASSISTANTS = 200


class Simulated:
    """Assistants whose only act is to call a server that is dead until `alive_at`."""

    def __init__(self, alive_at: float = float("inf"), failure_threshold: int = 5) -> None:
        self.clock = Clock()
        self.chance = Random(11)  # noqa: S311  (jitter)
        self.pipeline = Pipeline(self.clock, self.chance)
        self.alive_at = alive_at
        self.sent: list[float] = []
        self.calls = 0
        self.answered: set[int] = set()
        self.open_from: list[float] = []
        scheduler = Scheduler(self.clock)
        self.ticks = [
            Tick(self.run_of(number), self.clock, TickPace(), str(number), self.chance, scheduler=scheduler)
            for number in range(200)
        ]
        config = UpstreamConfig(BreakerConfig(failure_threshold))
        self.breaker = self.pipeline.upstream(TARGET.origin, config).breaker
        told = self.breaker.on_change

        def changed(change: object) -> None:
            if self.breaker.state is CircuitState.OPEN:
                self.open_from.append(self.clock.seconds())
            assert told is not None
            told(change)  # type: ignore[arg-type]  # handed on as it came

        self.breaker.on_change = changed

    async def attempt(self, _: Attempt) -> None:
        self.sent.append(self.clock.seconds())
        await deferLater(self.clock, self.chance.uniform(0.0, 0.2))
        if self.clock.seconds() < self.alive_at:
            raise Unavailable("connection refused")

    def run_of(self, number: int) -> Callable[[], Coroutine[Deferred[Any], Any, Outcome]]:
        async def run() -> Outcome:
            self.calls += 1
            order = Call(TARGET, lambda error: verdict_of(error, self.clock.seconds()), Caller(str(number)))
            try:
                await self.pipeline.call(self.attempt, order, Deadline.after(self.clock, 120))
            except CancelledError:
                raise
            except CircuitOpen as refused:
                return Failed(str(refused), self.clock.seconds() + refused.retry_after)
            except (LLMError, NotAdmitted) as error:
                return Failed(str(error))
            self.answered.add(number)
            return Answered(("say",))

        return run

    def pass_time(self, seconds: float) -> None:
        for tick in self.ticks:
            tick.start()
            tick.wake()
        while self.clock.seconds() < seconds:
            self.clock.advance(0.25)

    def stop(self) -> None:
        for tick in self.ticks:
            tick.stop()
        assert self.clock.getDelayedCalls() == []
        assert self.breaker.permits_out == 0


@pytest.fixture
def dead() -> Simulated:
    return Simulated()


def test_a_dead_server_gets_two_requests_at_most_in_each_open_period(dead: Simulated) -> None:
    dead.pass_time(3600)
    periods = [*dead.open_from, dead.clock.seconds()]
    assert len(dead.open_from) >= 12
    for start, end in pairwise(periods):
        assert sum(start < at <= end for at in dead.sent) <= 2
    dead.stop()


def test_an_hour_of_failure_costs_at_most_a_fifth_more_requests_than_calls(dead: Simulated) -> None:
    dead.pass_time(3600)
    assert dead.calls >= ASSISTANTS
    assert len(dead.sent) <= 1.2 * dead.calls
    dead.stop()


def test_the_budget_of_retries_alone_keeps_to_that_too() -> None:
    """With a circuit that never opens every call goes through, and only the budget limits retries."""
    dead = Simulated(failure_threshold=1_000_000)
    dead.pass_time(3600)
    assert len(dead.sent) >= dead.calls
    assert len(dead.sent) <= 1.2 * dead.calls
    dead.stop()


def test_everybody_is_answered_soon_after_the_server_is_back() -> None:
    simulated = Simulated(alive_at=600)
    simulated.pass_time(600 + 144 + 60)
    assert len(simulated.answered) == ASSISTANTS
    assert simulated.breaker.state is CircuitState.CLOSED
    simulated.stop()
