"""A breaker under test, on a clock of its own, with everything it told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from twisted.internet.task import Clock

from mud_assistant.resilience.admission.breaker import BreakerConfig, Change, CircuitBreaker, CircuitState, Permit
from mud_assistant.resilience.errors import CircuitOpen

NAME = "https://model.test:443"

End = Callable[[Permit], None]
ENDS: list[End] = [
    lambda permit: permit.success(),
    lambda permit: permit.failure("late"),
    lambda permit: permit.give_back(),
]


class Circuit:
    """Calls are made in words: `fails(5)` makes five calls, one after the other, which fail at once."""

    def __init__(self, config: BreakerConfig | None = None, seed: int = 1) -> None:
        self.clock = Clock()
        self.changes: list[Change] = []
        chance = Random(seed)  # noqa: S311  (no secret)
        self.breaker = CircuitBreaker(NAME, self.clock.seconds, chance, config, self.changes.append)

    @property
    def state(self) -> str:
        """As a string, which mypy does not take for unchanging once it was compared."""
        return self.breaker.state

    @property
    def states(self) -> list[CircuitState]:
        """Those it was told to have gone to."""
        return [change.after for change in self.changes]

    def begins(self, count: int, *, is_repeat: bool = False) -> list[Permit]:
        return [self.breaker.acquire(is_repeat=is_repeat) for _ in range(count)]

    def fails(self, count: int = 1, *, after: float = 0.0, is_repeat: bool = False) -> None:
        for _ in range(count):
            permit = self.breaker.acquire(is_repeat=is_repeat)
            self.clock.advance(after)
            permit.failure("it broke")

    def succeeds(self, count: int = 1, *, after: float = 0.0) -> None:
        for _ in range(count):
            permit = self.breaker.acquire()
            self.clock.advance(after)
            permit.success()

    def opens(self) -> None:
        """Fails until it is open, and is then at the beginning of the open time."""
        while self.state == CircuitState.CLOSED:
            self.fails()
        assert self.state == CircuitState.OPEN

    def probes(self) -> Permit:
        """Waits until it is half-open; the first probe."""
        self.clock.advance(self.breaker.retry_after())
        assert self.state == CircuitState.HALF_OPEN
        return self.breaker.acquire()

    def refuses(self) -> float:
        """That a call is turned away, and for how many seconds it is told to stay away."""
        with pytest.raises(CircuitOpen) as caught:
            self.breaker.acquire()
        assert caught.value.name == NAME
        return caught.value.retry_after
