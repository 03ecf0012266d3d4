from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from mud_assistant.resilience.cache import Cache, CacheStats
from tests.resilience.cache.callers import MAX_BYTES, Outcome, Source, holds, put


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> Cache[str, str]:
    return Cache(clock, max_bytes=MAX_BYTES, ttl_seconds=60, size_of=len)


@pytest.fixture
def source() -> Source:
    return Source()


def test_a_value_is_made_once_while_it_is_fresh(cache: Cache[str, str], clock: Clock, source: Source) -> None:
    first = Outcome(cache.get("k", source.make))
    source.gates[0].callback("v")
    clock.advance(59.9)
    second = Outcome(cache.get("k", source.make))
    assert (first.results, second.results, len(source.gates)) == (["v"], ["v"], 1)


def test_a_value_is_stale_when_its_time_has_passed_to_the_second(cache: Cache[str, str], clock: Clock) -> None:
    put(cache, "k", "old")
    clock.advance(60)
    put(cache, "k", "new")


def test_time_counts_from_the_arrival_and_not_from_the_question(
    cache: Cache[str, str], clock: Clock, source: Source
) -> None:
    cache.get("k", source.make)
    clock.advance(100)
    source.gates[0].callback("v")
    clock.advance(59)
    assert holds(cache, "k")


def test_the_caller_that_starts_the_work_may_set_the_time_to_live(cache: Cache[str, str], clock: Clock) -> None:
    put(cache, "long", "v", ttl_seconds=1000)
    put(cache, "none", "v", ttl_seconds=0)
    clock.advance(999)
    assert holds(cache, "long")
    assert not holds(cache, "none")


def test_none_is_a_value_as_any_other(clock: Clock) -> None:
    cache: Cache[str, None] = Cache(clock, max_bytes=10, ttl_seconds=60, size_of=lambda _: 1)

    async def make() -> None:
        return None

    cache.get("k", make)
    cache.get("k", make)
    assert (cache.stats.hits, cache.stats.misses) == (1, 1)


def test_the_least_recently_used_goes_first(cache: Cache[str, str]) -> None:
    put(cache, "a", "1234")
    put(cache, "b", "1234")
    assert holds(cache, "a")
    put(cache, "c", "1234")
    assert [key for key in "abc" if holds(cache, key)] == ["a", "c"]
    assert (cache.stats.bytes, cache.stats.evicted) == (8, 1)


def test_as_many_go_as_a_large_one_needs(cache: Cache[str, str]) -> None:
    for key in "abc":
        put(cache, key, "123")
    put(cache, "d", "1234567")
    assert [key for key in "abcd" if holds(cache, key)] == ["c", "d"]


def test_a_value_that_fills_the_bound_is_kept_and_a_larger_one_is_not(cache: Cache[str, str]) -> None:
    put(cache, "a", "x" * MAX_BYTES)
    put(cache, "b", "x" * (MAX_BYTES + 1))
    assert holds(cache, "a")
    assert not holds(cache, "b")
    assert cache.stats.evicted == 0


def test_what_expired_goes_before_what_is_fresh(cache: Cache[str, str], clock: Clock) -> None:
    put(cache, "fresh", "1234")
    put(cache, "stale", "1234", ttl_seconds=1)
    clock.advance(1)
    assert cache.stats.entries == 2
    put(cache, "new", "1234")
    assert holds(cache, "fresh")
    assert (cache.stats.entries, cache.stats.evicted) == (2, 0)


def test_the_numbers_tell_what_happened(cache: Cache[str, str], source: Source) -> None:
    put(cache, "a", "123")
    put(cache, "a", "123")
    cache.get("b", source.make)
    cache.get("b", source.make)
    assert cache.stats == CacheStats(entries=1, bytes=3, hits=1, misses=2, shared=1, evicted=0, in_flight=1)


def test_the_cache_leaves_no_timers(cache: Cache[str, str], clock: Clock) -> None:
    put(cache, "k", "v")
    assert clock.getDelayedCalls() == []
