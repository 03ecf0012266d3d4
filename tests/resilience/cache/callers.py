"""Both ends of a cache under test: the source of its values and those who wait for them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from mud_assistant.resilience.cache import Cache

MAX_BYTES = 10


class Source:
    """Makes values on demand: each work waits at a gate of its own."""

    def __init__(self) -> None:
        self.gates: list[Deferred[str]] = []
        self.cancelled = 0

    async def make(self) -> str:
        gate: Deferred[str] = Deferred()
        self.gates.append(gate)
        try:
            return await gate
        except CancelledError:
            self.cancelled += 1
            raise


class Outcome:
    """What came out of a Deferred; the failure is taken off it."""

    def __init__(self, deferred: Deferred[str]) -> None:
        self.deferred = deferred
        self.results: list[str] = []
        self.errors: list[BaseException] = []
        deferred.addCallbacks(self.results.append, self._failed)

    def _failed(self, failure: Failure) -> None:
        assert failure.value is not None
        self.errors.append(failure.value)

    @property
    def pending(self) -> bool:
        return not self.results and not self.errors


def ready(value: str) -> Callable[[], Coroutine[Deferred[Any], Any, str]]:
    async def make() -> str:
        return value

    return make


def put(cache: Cache[str, str], key: str, value: str, ttl_seconds: float | None = None) -> None:
    assert Outcome(cache.get(key, ready(value), ttl_seconds)).results == [value]


def holds(cache: Cache[str, str], key: str) -> bool:
    """Whether a value is kept; a miss leaves none behind."""
    missed = ready("x" * (MAX_BYTES + 1))
    return len(str(cache.get(key, missed).result)) <= MAX_BYTES
