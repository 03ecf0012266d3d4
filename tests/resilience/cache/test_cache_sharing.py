"""Many callers, one work: who hears what, and when the work ends."""

from __future__ import annotations

import gc
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.python.failure import Failure

from mud_assistant.resilience.cache import Cache
from tests.guards import FlushFailures
from tests.resilience.cache.callers import MAX_BYTES, Outcome, Source, holds, put, ready


@pytest.fixture
def cache() -> Cache[str, str]:
    return Cache(Clock(), max_bytes=MAX_BYTES, ttl_seconds=60, size_of=len)


@pytest.fixture
def source() -> Source:
    return Source()


def test_all_who_ask_meanwhile_share_one_work(cache: Cache[str, str], source: Source) -> None:
    outcomes = [Outcome(cache.get("k", source.make)) for _ in range(3)]
    other = Outcome(cache.get("other", source.make))
    source.gates[0].callback("v")
    assert [outcome.results for outcome in outcomes] == [["v"]] * 3
    assert other.pending
    assert len(source.gates) == 2


def test_a_failure_reaches_everyone_and_is_not_kept(cache: Cache[str, str], source: Source) -> None:
    outcomes = [Outcome(cache.get("k", source.make)) for _ in range(3)]
    error = KeyError("x")
    source.gates[0].errback(error)
    assert [outcome.errors for outcome in outcomes] == [[error]] * 3
    put(cache, "k", "v")


def test_a_make_that_raises_before_it_returns_a_coroutine_fails_like_any_other(cache: Cache[str, str]) -> None:
    def make() -> Coroutine[Deferred[Any], Any, str]:
        raise ZeroDivisionError

    assert [type(error) for error in Outcome(cache.get("k", make)).errors] == [ZeroDivisionError]
    assert cache.stats.in_flight == 0


def test_a_make_that_fails_at_once_fails_like_any_other(cache: Cache[str, str]) -> None:
    async def make() -> str:
        raise ZeroDivisionError

    assert [type(error) for error in Outcome(cache.get("k", make)).errors] == [ZeroDivisionError]


def test_a_size_that_cannot_be_told_leaves_nobody_waiting() -> None:
    cache: Cache[str, str] = Cache(Clock(), max_bytes=10, ttl_seconds=60, size_of=int)
    assert [type(error) for error in Outcome(cache.get("k", ready("not a number"))).errors] == [ValueError]
    assert cache.stats.in_flight == 0


def test_the_callbacks_of_one_caller_do_not_touch_another(cache: Cache[str, str], source: Source) -> None:
    first = cache.get("k", source.make)
    first.addCallback(lambda value: value + "!")
    second = Outcome(cache.get("k", source.make))
    source.gates[0].callback("v")
    assert (Outcome(first).results, second.results) == (["v!"], ["v"])
    assert Outcome(cache.get("k", source.make)).results == ["v"]


def test_a_caller_that_takes_its_failure_does_not_take_it_from_another(cache: Cache[str, str], source: Source) -> None:
    seen: list[Failure] = []
    first, second = cache.get("k", source.make), cache.get("k", source.make)
    first.addErrback(seen.append)
    second.addErrback(seen.append)
    source.gates[0].errback(KeyError("x"))
    assert seen[0] is not seen[1]
    assert seen[0].value is seen[1].value


def test_a_caller_that_cancels_leaves_alone(cache: Cache[str, str], source: Source) -> None:
    first, second = (Outcome(cache.get("k", source.make)) for _ in range(2))
    first.deferred.cancel()
    assert [type(error) for error in first.errors] == [CancelledError]
    assert second.pending
    source.gates[0].callback("v")
    assert second.results == ["v"]
    assert source.cancelled == 0
    assert holds(cache, "k")


def test_the_last_caller_that_cancels_ends_the_work(cache: Cache[str, str], source: Source) -> None:
    outcomes = [Outcome(cache.get("k", source.make)) for _ in range(2)]
    for outcome in outcomes:
        outcome.deferred.cancel()
        outcome.deferred.cancel()
    assert [type(error) for outcome in outcomes for error in outcome.errors] == [CancelledError] * 2
    assert source.cancelled == 1
    assert cache.stats.in_flight == 0


def test_work_that_cancels_its_caller_again_while_it_is_cancelled_does_no_harm(cache: Cache[str, str]) -> None:
    async def make() -> str:
        try:
            return await Deferred()
        finally:
            outcome.deferred.cancel()

    outcome = Outcome(cache.get("k", make))
    with capturedLogs() as logged:
        outcome.deferred.cancel()
    assert logged == []
    assert [type(error) for error in outcome.errors] == [CancelledError]
    assert cache.stats.in_flight == 0


def test_who_asks_after_that_starts_anew(cache: Cache[str, str], source: Source) -> None:
    Outcome(cache.get("k", source.make)).deferred.cancel()
    again = Outcome(cache.get("k", source.make))
    source.gates[1].callback("v")
    assert again.results == ["v"]


def test_who_asks_while_the_work_is_being_cancelled_starts_anew(cache: Cache[str, str]) -> None:
    again: list[Outcome] = []

    async def make() -> str:
        try:
            return await Deferred()
        finally:
            again.append(Outcome(cache.get("k", ready("new"))))

    Outcome(cache.get("k", make)).deferred.cancel()
    assert again[0].results == ["new"]
    assert holds(cache, "k")


def test_work_that_ignores_its_cancellation_works_for_nobody(cache: Cache[str, str]) -> None:
    gate: Deferred[str] = Deferred()

    async def make() -> str:
        with suppress(CancelledError):
            await Deferred()
        return await gate

    outcome = Outcome(cache.get("k", make))
    outcome.deferred.cancel()
    assert not outcome.pending
    gate.callback("late")
    assert not holds(cache, "k")


def test_a_late_failure_is_logged_for_debugging_only(cache: Cache[str, str], flush_failures: FlushFailures) -> None:
    async def make() -> str:
        try:
            return await Deferred()
        except CancelledError:
            raise KeyError("secret") from None

    with capturedLogs() as logged:
        Outcome(cache.get("k", make)).deferred.cancel()
        gc.collect()
    assert [(event["log_level"], event["kind"]) for event in logged] == [(LogLevel.debug, "KeyError")]
    assert flush_failures() == []


def test_a_plain_cancellation_is_not_logged(cache: Cache[str, str], source: Source) -> None:
    with capturedLogs() as logged:
        Outcome(cache.get("k", source.make)).deferred.cancel()
        gc.collect()
    assert logged == []


def test_a_callback_may_ask_again(cache: Cache[str, str], source: Source) -> None:
    again: list[Outcome] = []
    first = cache.get("k", source.make)
    first.addCallback(lambda _: again.append(Outcome(cache.get("k", source.make))))
    cache.get("k", source.make)
    source.gates[0].callback("v")
    assert again[0].results == ["v"]
    assert len(source.gates) == 1


def test_a_callback_that_asks_again_after_a_failure_starts_anew(cache: Cache[str, str], source: Source) -> None:
    first, second = (Outcome(cache.get("k", source.make)) for _ in range(2))
    third = Outcome(cache.get("k", source.make).addErrback(lambda _: cache.get("k", source.make)))
    source.gates[0].errback(KeyError())
    assert (len(first.errors), len(second.errors), third.pending) == (1, 1, True)
    source.gates[1].callback("v")
    assert third.results == ["v"]


def test_a_callback_may_make_another_caller_leave(cache: Cache[str, str], source: Source) -> None:
    first = cache.get("k", source.make)
    second = Outcome(cache.get("k", source.make))
    first.addCallback(lambda _: second.deferred.cancel())
    source.gates[0].callback("v")
    assert [type(error) for error in second.errors] == [CancelledError]
    assert holds(cache, "k")


def test_work_may_make_its_own_caller_leave_before_it_first_waits(source: Source) -> None:
    cache: Cache[str, str] = Cache(Clock(), max_bytes=10, ttl_seconds=60, size_of=len)

    async def make() -> str:
        cache.clear()
        return await source.make()

    outcome = Outcome(cache.get("k", make))
    assert [type(error) for error in outcome.errors] == [CancelledError]
    assert source.cancelled == 1
    assert cache.stats.in_flight == 0


def test_clear_forgets_values_and_ends_work(cache: Cache[str, str], source: Source) -> None:
    put(cache, "kept", "v")
    outcomes = [Outcome(cache.get(key, source.make)) for key in ("a", "a", "b", "c")]
    cache.clear()
    assert [type(error) for outcome in outcomes for error in outcome.errors] == [CancelledError] * 4
    assert source.cancelled == 3
    assert (cache.stats.entries, cache.stats.bytes, cache.stats.in_flight) == (0, 0, 0)


def test_who_asks_while_it_is_cleared_starts_anew(cache: Cache[str, str], source: Source) -> None:
    outcome = Outcome(cache.get("k", source.make).addErrback(lambda _: cache.get("k", source.make)))
    cache.clear()
    assert outcome.pending
    source.gates[1].callback("v")
    assert outcome.results == ["v"]


def test_who_asks_then_for_another_value_does_not_join_work_about_to_be_cancelled(
    cache: Cache[str, str], source: Source
) -> None:
    first = Outcome(cache.get("a", source.make).addErrback(lambda _: cache.get("b", source.make)))
    second = Outcome(cache.get("b", source.make))
    cache.clear()
    assert (first.pending, second.pending) == (True, False)
    source.gates[2].callback("v")
    assert first.results == ["v"]
