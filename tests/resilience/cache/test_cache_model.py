"""The cache against a small reference model, in any order of steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience.cache import Cache, CacheStats
from tests.effort import times

MAX_BYTES = 10
TTL_SECONDS = 5

Value = tuple[str, int, int]
"""Key, number of the work, size in bytes."""

keys = st.sampled_from("abc")
picks = st.integers(0, 1000)
ttls = st.sampled_from([None, 0, 2, 9])


class WorkFailed(Exception):
    """What a work fails with."""


@dataclass
class Caller:
    """Somebody who waits; `expected` is what the model says it hears."""

    expected: list[object] = field(default_factory=list)
    heard: list[object] = field(default_factory=list)
    deferred: Deferred[Value] | None = None

    def follow(self, deferred: Deferred[Value]) -> None:
        def failed(failure: Failure) -> None:
            self.heard.append(type(failure.value))

        self.deferred = deferred
        deferred.addCallbacks(self.heard.append, failed)


@dataclass
class Work:
    """One work of the model, with the real gate behind which it waits."""

    key: str
    number: int
    ttl_seconds: float
    stubborn: bool
    callers: list[Caller] = field(default_factory=list)
    gate: Deferred[int] = field(default_factory=Deferred)
    cancelled: bool = False
    ended: bool = False

    async def make(self) -> Value:
        try:
            size = await self.gate
        except CancelledError:
            self.cancelled = True
            if not self.stubborn:
                raise
            size = 1
        finally:
            self.ended = True
        return self.key, self.number, size


@dataclass
class Held:
    """A value of the model."""

    value: Value
    expires_at: float


class CacheAgainstModel(RuleBasedStateMachine):
    """`works` are those somebody waits for, `joinable` what a new caller joins, `held` in order of use."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.cache: Cache[str, Value] = Cache(self.clock, MAX_BYTES, TTL_SECONDS, lambda value: value[2])
        self.held: dict[str, Held] = {}
        self.works: list[Work] = []
        self.joinable: dict[str, Work] = {}
        self.all_works: list[Work] = []
        self.callers: list[Caller] = []
        self.hits = self.misses = self.shared = self.evicted = 0

    @rule(key=keys, ttl_seconds=ttls, stubborn=st.booleans())
    def get(self, key: str, ttl_seconds: float | None, stubborn: bool) -> None:
        caller = Caller()
        self.callers.append(caller)
        new = self._expect(key, caller, TTL_SECONDS if ttl_seconds is None else ttl_seconds, stubborn)
        caller.follow(self.cache.get(key, self._forbidden if new is None else new.make, ttl_seconds))

    @rule(key=keys, size=st.integers(0, MAX_BYTES + 2))
    def get_what_is_made_at_once(self, key: str, size: int) -> None:
        caller = Caller()
        self.callers.append(caller)
        new = self._expect(key, caller, TTL_SECONDS, stubborn=False)
        if new is None:
            caller.follow(self.cache.get(key, self._forbidden))
            return
        new.gate.callback(size)
        self._expect_end(new, size)
        caller.follow(self.cache.get(key, new.make))

    @precondition(lambda self: self.works)
    @rule(pick=picks, size=st.integers(0, MAX_BYTES + 2))
    def finish(self, pick: int, size: int) -> None:
        work = self.works[pick % len(self.works)]
        self._expect_end(work, size)
        work.gate.callback(size)

    @precondition(lambda self: self.works)
    @rule(pick=picks)
    def fail(self, pick: int) -> None:
        work = self.works[pick % len(self.works)]
        self._expect_end(work, None)
        work.gate.errback(WorkFailed())

    @precondition(lambda self: any(not caller.heard for caller in self.callers))
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        waiting = [caller for caller in self.callers if not caller.heard]
        caller = waiting[pick % len(waiting)]
        caller.expected.append(CancelledError)
        work = next(work for work in self.works if caller in work.callers)
        work.callers.remove(caller)
        if not work.callers:
            self._remove(work)
        assert caller.deferred is not None
        caller.deferred.cancel()
        assert work.cancelled == (not work.callers)

    @rule(seconds=st.integers(1, 6))
    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def clear(self) -> None:
        works = list(self.works)
        for work in works:
            for caller in work.callers:
                caller.expected.append(CancelledError)
            self._remove(work)
        self.held.clear()
        self.cache.clear()
        assert all(work.cancelled for work in works)

    @invariant()
    def every_caller_heard_what_it_should(self) -> None:
        assert [caller.heard for caller in self.callers] == [caller.expected for caller in self.callers]

    @invariant()
    def only_work_that_is_waited_for_runs(self) -> None:
        assert [work for work in self.all_works if not work.ended] == self.works

    @invariant()
    def the_numbers_agree(self) -> None:
        size = sum(held.value[2] for held in self.held.values())
        assert size <= MAX_BYTES
        assert self.cache.stats == CacheStats(
            len(self.held), size, self.hits, self.misses, self.shared, self.evicted, len(self.works)
        )

    def teardown(self) -> None:
        for work in list(self.works):
            work.gate.callback(1)
        assert all(len(caller.heard) == 1 for caller in self.callers)
        assert self.cache.stats.in_flight == 0
        assert self.clock.getDelayedCalls() == []

    async def _forbidden(self) -> Value:
        raise AssertionError("there is a value, or work under way")

    def _expect(self, key: str, caller: Caller, ttl_seconds: float, stubborn: bool) -> Work | None:
        """Let the model answer a caller; the new work when there has to be one."""
        held = self.held.pop(key, None)
        if held is not None and self.clock.seconds() < held.expires_at:
            self.held[key] = held
            self.hits += 1
            caller.expected.append(held.value)
            return None
        if key in self.joinable:
            self.shared += 1
            self.joinable[key].callers.append(caller)
            return None
        self.misses += 1
        work = Work(key, self.misses, ttl_seconds, stubborn, [caller])
        self.works.append(work)
        self.all_works.append(work)
        self.joinable[key] = work
        return work

    def _expect_end(self, work: Work, size: int | None) -> None:
        """Let the model end a work, with a value of some bytes or with a failure."""
        value = None if size is None else (work.key, work.number, size)
        for caller in work.callers:
            caller.expected.append(WorkFailed if value is None else value)
        if value is not None and self.joinable.get(work.key) is work:
            self._hold(work, value)
        self._remove(work)

    def _hold(self, work: Work, value: Value) -> None:
        now, size = self.clock.seconds(), value[2]
        self.held = {key: held for key, held in self.held.items() if now < held.expires_at}
        if size > MAX_BYTES or work.ttl_seconds == 0:
            return
        while sum(held.value[2] for held in self.held.values()) + size > MAX_BYTES:
            del self.held[next(iter(self.held))]
            self.evicted += 1
        self.held[work.key] = Held(value, now + work.ttl_seconds)

    def _remove(self, work: Work) -> None:
        self.works.remove(work)
        if self.joinable.get(work.key) is work:
            del self.joinable[work.key]


TestCacheAgainstModel = CacheAgainstModel.TestCase
TestCacheAgainstModel.settings = settings(max_examples=times(60), stateful_step_count=50, deadline=None)
