"""A coroutine is run as `Deferred.fromCoroutine` runs it, and its failure frees what it held at once."""

from __future__ import annotations

import gc
from contextvars import ContextVar
from traceback import extract_tb
from typing import Any
from weakref import ref

import pytest
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.python.failure import Failure

from mud_assistant.resilience.coroutines import CoroutineRunner, run

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")


class Held:
    """Something that a coroutine has in hand."""


async def returns(awaited: Deferred[int]) -> int:
    return await awaited + 1


def error_in(failed: Deferred[Any]) -> BaseException:
    seen: list[Failure] = []
    failed.addErrback(seen.append)
    [failure] = seen
    assert failure.value is not None
    return failure.value


@pytest.mark.parametrize("is_late", [True, False])
def test_the_result_is_that_of_the_coroutine(is_late: bool) -> None:
    awaited: Deferred[int] = Deferred() if is_late else succeed(6)
    outcome = run(returns(awaited))
    if is_late:
        assert not outcome.called
        awaited.callback(6)
    assert outcome.result == 7


@pytest.mark.parametrize("is_late", [True, False])
def test_an_error_comes_through_and_tells_where_it_was_raised(is_late: bool) -> None:
    awaited: Deferred[int] = Deferred() if is_late else fail(KeyError("x"))
    outcome = run(returns(awaited))
    if is_late:
        awaited.errback(KeyError("x"))
    error = error_in(outcome)
    assert isinstance(error, KeyError)
    assert [frame.name for frame in extract_tb(error.__traceback__)] == ["returns"]


def test_cancelling_cancels_what_it_waits_for() -> None:
    awaited: Deferred[int] = Deferred()
    outcome = run(returns(awaited))
    outcome.cancel()
    assert isinstance(error_in(outcome), CancelledError)
    assert awaited.called


def test_whoever_cancels_does_not_wait_for_the_clean_up() -> None:
    cleaned: Deferred[int] = Deferred()
    ended: list[int] = []

    async def work() -> int:
        try:
            return await Deferred[int]()
        finally:
            ended.append(await cleaned)

    outcome = run(work())
    outcome.cancel()
    assert isinstance(error_in(outcome), CancelledError)
    assert not ended
    cleaned.callback(1)
    assert ended == [1]


def test_whoever_cancels_within_a_cancellation_cancels_nothing_twice() -> None:
    cancelled: list[bool] = []

    def cancel(_: Deferred[int]) -> None:
        cancelled.append(True)
        running.cancel()

    running, ended = CoroutineRunner(returns(Deferred(cancel))), list[Failure]()
    running.start(ended.append)
    running.cancel()
    assert cancelled == [True]
    assert [failure.type for failure in ended] == [CancelledError]


def test_a_coroutine_may_recover_from_its_cancellation() -> None:
    async def work() -> int:
        try:
            return await Deferred[int]()
        except CancelledError:
            return 3

    outcome = run(work())
    outcome.cancel()
    assert outcome.result == 3


def test_it_has_a_context_of_its_own() -> None:
    awaited: Deferred[int] = Deferred()

    async def work() -> str:
        NAME.set("Ann")
        await awaited
        return NAME.get()

    outcome = run(work())
    assert NAME.get() == "nobody"
    awaited.callback(1)
    assert outcome.result == "Ann"


@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_failure_leaves_nothing_to_the_garbage_collector(is_late: bool, is_wrapped: bool) -> None:
    held = Held()
    gone = ref(held)
    awaited: Deferred[int] = Deferred() if is_late else fail(KeyError("x"))
    waits = [awaited]

    async def inner(holding: Held) -> int:
        try:
            return await waits.pop()
        except KeyError as error:
            if not is_wrapped:
                raise
            raise ValueError(holding) from error

    async def outer(holding: Held) -> int:
        return await run(inner(holding))

    gc.disable()
    try:
        outcome = run(outer(held))
        del held
        if is_late:
            awaited.errback(KeyError("x"))
        outcome.addErrback(lambda _: None)
        del outcome, awaited
        assert gone() is None
    finally:
        gc.enable()


def test_an_error_that_is_its_own_cause_ends_the_coroutine() -> None:
    async def fails() -> None:
        error = ValueError("again")
        raise error from error

    assert str(error_in(run(fails()))) == "again"
