"""The circuit breaker against its reference model, side by side on one clock, in any order of steps."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from mud_assistant.resilience.admission.breaker import BreakerConfig, CircuitState, Permit
from mud_assistant.resilience.errors import CircuitOpen
from tests.effort import times
from tests.histories import run_histories
from tests.resilience.admission.breaker_model import Fact, Model, row
from tests.resilience.admission.circuits import Circuit

STEPS = times(6_000)
RUNS = 600
STEPS_EACH = 50
CONFIGS = [
    BreakerConfig(),
    BreakerConfig(failure_threshold=2, reset_jitter=0.5, hang_seconds=20.0),
    BreakerConfig(failure_threshold=2, success_threshold=5, half_open_permits=3),
    BreakerConfig(failure_threshold=3, success_threshold=2, half_open_permits=3, hang_seconds=None),
    BreakerConfig(failure_threshold=4, hang_seconds=10.0, reset_timeout=5.0),
    BreakerConfig(failure_threshold=1, reset_growth=3.0, max_reset_timeout=100.0, hang_seconds=11.0),
]

picks = st.integers(0, 11)
#: Quarters of seconds, which floats hold exactly; most steps follow each other at once.
after = st.sampled_from([0.0] * 10 + [0.25, 2.0, 5.0, 5.0, 9.75, 10.0, 29.75, 30.0, 61.0, 400.0])


class BreakerAgainstModel(RuleBasedStateMachine):
    """Every rule lets some time pass first, in which nobody looks at the breaker."""

    steps = 0
    #: How often each change of state was seen, over all runs.
    changes: ClassVar[Counter[tuple[CircuitState, CircuitState]]] = Counter()

    @initialize(config=st.sampled_from(CONFIGS), seed=st.integers(0, 3))
    def begin(self, config: BreakerConfig, seed: int) -> None:
        self.circuit = Circuit(config, seed)
        self.breaker = self.circuit.breaker
        self.model = Model(config, seed)
        self.permits: dict[int, Permit] = {}
        self.begun = 0
        BreakerAgainstModel.steps -= 1  # the look at the beginning is no step

    @rule(after=after, count=st.integers(1, 3), is_repeat=st.sampled_from([False, False, True]))
    def acquire(self, after: float, count: int, is_repeat: bool) -> None:
        self._pass(after)
        for _ in range(count):
            self._acquire(is_repeat=is_repeat)

    @rule(
        after=after,
        count=st.integers(1, 4),
        each=st.sampled_from([0.0, 0.0, 4.75, 5.0]),
        how=st.sampled_from(["failure", "success"]),
    )
    def make_calls(self, after: float, count: int, each: float, how: str) -> None:
        """Calls one after the other, which take some time each."""
        self._pass(after)
        for _ in range(count):
            if self._acquire():
                self._pass(each)
                self._do(how, self.begun - 1)

    @precondition(lambda self: self.permits)
    @rule(after=after, pick=picks, what=st.sampled_from(["success", "failure", "give_back", "heard", "heard"]))
    def hear_or_end(self, after: float, pick: int, what: str) -> None:
        self._pass(after)
        self._do(what, sorted(self.permits)[pick % len(self.permits)])

    @rule(after=after)
    def wait(self, after: float) -> None:
        self._pass(after)

    @rule(pick=picks, short_by=st.sampled_from([0.0, 0.0, 0.25]))
    def wait_for_a_boundary(self, pick: int, short_by: float) -> None:
        """Exactly to one of the times at which something may change, or to just before it."""
        now = self.circuit.clock.seconds()
        moments = sorted(at - short_by for at in self._moments() if at - short_by > now)
        if moments:
            self._pass(moments[pick % len(moments)] - now)

    @rule(after=after, luck=picks)
    def trip(self, after: float, luck: int) -> None:
        """Seldom, as everything is forgotten then."""
        if luck:
            return
        self._pass(after)
        self.breaker.trip("tripped")
        self.model.facts.append(Fact(self.circuit.clock.seconds(), "trip"))

    @invariant()
    def both_say_the_same(self) -> None:
        now = self.circuit.clock.seconds()
        history = self.model.history(now)
        last = history[-1]
        assert self.breaker.state is last.state
        assert self.breaker.room() == self.model.room(last)
        assert self.breaker.retry_after() == pytest.approx(self.model.retry_after(last, now), abs=1e-6)
        assert self.breaker.failures_in_a_row == (row(last.told) if last.state is CircuitState.CLOSED else 0)
        assert self.breaker.permits_out == len(self.model.out()) == len(self.permits)
        told = [(change.at, change.before, change.after) for change in self.circuit.changes]
        assert told == [(s.since, b.state, s.state) for b, s in pairwise(history)]
        BreakerAgainstModel.steps += 1

    def teardown(self) -> None:
        if hasattr(self, "circuit"):
            self.changes.update((change.before, change.after) for change in self.circuit.changes)

    def _pass(self, seconds: float) -> None:
        self.circuit.clock.advance(seconds)

    def _acquire(self, *, is_repeat: bool = False) -> bool:
        now = self.circuit.clock.seconds()
        last = self.model.history(now)[-1]
        if self.model.room(last) == 0:
            with pytest.raises(CircuitOpen) as caught:
                self.breaker.acquire(is_repeat=is_repeat)
            assert caught.value.retry_after == pytest.approx(self.model.retry_after(last, now), abs=1e-6)
            return False
        self.permits[self.begun] = self.breaker.acquire(is_repeat=is_repeat)
        self.model.facts.append(Fact(now, "acquire", self.begun, is_repeat))
        self.begun += 1
        return True

    def _do(self, what: str, call: int) -> None:
        self.model.facts.append(Fact(self.circuit.clock.seconds(), what, call))
        permit = self.permits[call] if what == "heard" else self.permits.pop(call)
        if what == "failure":
            permit.failure("it broke")
        else:
            getattr(permit, what)()

    def _moments(self) -> set[float]:
        """The end of the open time, and of silences."""
        last = self.model.history(self.circuit.clock.seconds())[-1]
        silent = {fact.call: fact.at for fact in self.model.facts if fact.call in self.permits}
        return {
            *([last.until] if last.state is CircuitState.OPEN else []),
            *(at + (self.model.config.hang_seconds or 0.0) for at in silent.values()),
        }


def test_there_is_no_divergence() -> None:
    BreakerAgainstModel.steps = 0
    BreakerAgainstModel.changes.clear()
    run_histories(BreakerAgainstModel, RUNS, STEPS_EACH)
    assert BreakerAgainstModel.steps >= STEPS
    natural = [
        (CircuitState.CLOSED, CircuitState.OPEN),
        (CircuitState.OPEN, CircuitState.HALF_OPEN),
        (CircuitState.HALF_OPEN, CircuitState.OPEN),
        (CircuitState.HALF_OPEN, CircuitState.CLOSED),
    ]
    assert all(BreakerAgainstModel.changes[change] >= 100 for change in natural)
