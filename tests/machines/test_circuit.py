"""The circuit drawn in docs/machines.md is the breaker: every event in every state it reaches."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from twisted.internet.task import Clock

from mud_assistant.resilience import BreakerConfig, CircuitBreaker, CircuitOpen, CircuitState
from tests.machines.drawing import Edge, assert_same, states


class DrivenCircuit:
    """A breaker that changes with the first call, on a clock of its own."""

    def __init__(self) -> None:
        self.clock = Clock()
        config = BreakerConfig(failure_threshold=1, success_threshold=1, reset_timeout=10.0, hang_seconds=5.0)
        self.breaker = CircuitBreaker("server", self.clock.seconds, Random(1), config)  # noqa: S311  (jitter)

    def call(self, end: str) -> None:
        """Make a call that ends so. A circuit that refuses it is left as it is."""
        try:
            permit = self.breaker.acquire()
        except CircuitOpen:
            return
        if end == "hang":
            self.clock.advance(5.0)
        elif end == "success":
            permit.success()
        else:
            permit.failure(end)


CIRCUIT: dict[str, Callable[[DrivenCircuit], None]] = {
    "a call succeeds": lambda driven: driven.call("success"),
    "a call fails": lambda driven: driven.call("down"),
    "a call hangs": lambda driven: driven.call("hang"),
    "every call hangs": lambda driven: driven.breaker.trip("all hang"),
    "the reset time is over": lambda driven: driven.clock.advance(10.0),
}


def test_the_circuit() -> None:
    found: set[Edge] = set()
    paths: dict[CircuitState, tuple[str, ...]] = {CircuitState.CLOSED: ()}
    waiting = [CircuitState.CLOSED]
    while waiting:
        before = waiting.pop()
        for why, happens in CIRCUIT.items():
            driven = DrivenCircuit()
            for step in paths[before]:
                CIRCUIT[step](driven)
            assert driven.breaker.state is before
            happens(driven)
            after = driven.breaker.state
            if after is not before:
                found.add((before.value, after.value, why))
            if after not in paths:
                paths[after] = (*paths[before], why)
                waiting.append(after)
    assert states(found) == {state.value for state in CircuitState}
    assert_same("The circuit of a server", found)
