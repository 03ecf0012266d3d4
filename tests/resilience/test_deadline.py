from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience import Deadline, DeadlineExceeded


def failure_of(deferred: Deferred[Any]) -> BaseException:
    seen: list[BaseException | None] = []

    def see(failure: Failure) -> None:
        seen.append(failure.value)

    deferred.addErrback(see)
    assert seen, "it has not failed"
    assert seen[0] is not None
    return seen[0]


def test_a_result_in_time_comes_through_and_leaves_no_timer() -> None:
    clock = Clock()
    work: Deferred[int] = Deferred()
    bound = Deadline.after(clock, 5).bound(work)
    clock.advance(4.9)
    work.callback(7)
    assert bound.result == 7
    assert clock.getDelayedCalls() == []


def test_an_error_in_time_comes_through_as_it_is() -> None:
    clock = Clock()
    work: Deferred[int] = Deferred()
    bound = Deadline.after(clock, 5).bound(work)
    work.errback(KeyError("x"))
    assert isinstance(failure_of(bound), KeyError)
    assert clock.getDelayedCalls() == []


def test_late_work_is_cancelled_and_named() -> None:
    clock = Clock()
    cancelled: list[bool] = []
    work: Deferred[int] = Deferred(lambda _: cancelled.append(True))
    bound = Deadline.after(clock, 5).bound(work)
    clock.advance(5)
    error = failure_of(bound)
    assert isinstance(error, DeadlineExceeded)
    assert error.seconds == 5
    assert cancelled == [True]


def test_work_that_ignores_cancellation_does_not_hold_the_caller() -> None:
    clock = Clock()

    work: Deferred[int] = Deferred(lambda deferred: deferred.callback(1))
    bound = Deadline.after(clock, 5).bound(work)
    clock.advance(5)
    assert isinstance(failure_of(bound), DeadlineExceeded)


def test_cancelling_the_bound_work_cancels_the_work_and_the_timer() -> None:
    clock = Clock()
    work: Deferred[int] = Deferred()
    bound = Deadline.after(clock, 5).bound(work)
    bound.cancel()
    assert isinstance(failure_of(bound), CancelledError)
    assert clock.getDelayedCalls() == []


def test_work_that_is_running_when_it_is_cancelled_is_cancelled_when_time_is_up() -> None:
    """Twisted does not stop a coroutine that is not waiting for anything at that moment."""
    clock = Clock()
    first, second = Deferred[None](), Deferred[None]()
    ended: list[float] = []

    async def work() -> None:
        await first
        bound.cancel()
        try:
            await second
        finally:
            ended.append(clock.seconds())

    bound = Deadline.after(clock, 5).bound(Deferred.fromCoroutine(work()))
    first.callback(None)
    assert isinstance(failure_of(bound), CancelledError)
    clock.advance(5)
    assert ended == [5]
    assert clock.getDelayedCalls() == []


def test_whoever_learns_first_that_time_is_up_may_cancel() -> None:
    clock = Clock()

    async def work() -> None:
        try:
            await Deferred[None]()
        finally:
            bound.cancel()

    bound = Deadline.after(clock, 5).bound(Deferred.fromCoroutine(work()))
    clock.advance(5)
    assert isinstance(failure_of(bound), CancelledError)


def test_remaining_never_goes_below_zero() -> None:
    clock = Clock()
    deadline = Deadline.after(clock, 2)
    clock.advance(5)
    assert deadline.remaining() == 0


def test_progress_puts_it_off_until_all_the_time_is_over() -> None:
    clock = Clock()
    deadline = Deadline.after(clock, 5, 12)
    bound: Deferred[None] = deadline.bound(Deferred())
    for _ in range(3):
        clock.advance(4)
        deadline.renew()
    assert isinstance(failure_of(bound), DeadlineExceeded)
    assert clock.getDelayedCalls() == []


def test_silence_ends_it_so_long_after_the_last_progress() -> None:
    clock = Clock()
    deadline = Deadline.after(clock, 5, 60)
    bound: Deferred[None] = deadline.bound(Deferred())
    clock.advance(4)
    deadline.renew()
    clock.advance(4.5)
    assert not bound.called
    clock.advance(0.5)
    assert "nothing heard within 5 s" in str(failure_of(bound))


def test_held_it_waits_to_the_end_and_renewed_it_counts_silence_again() -> None:
    clock = Clock()
    deadline = Deadline.after(clock, 5, 100)
    deadline.hold()
    bound: Deferred[None] = deadline.bound(Deferred())
    clock.advance(50)
    assert deadline.remaining() == 50
    deadline.renew()
    clock.advance(4.9)
    assert not bound.called
    clock.advance(0.1)
    assert isinstance(failure_of(bound), DeadlineExceeded)


def test_a_part_is_put_off_with_its_whole_and_never_held() -> None:
    clock = Clock()
    whole = Deadline.after(clock, 10, 60)
    part = whole.part(0.5)
    part.hold()
    assert part.remaining() == 5
    clock.advance(4)
    part.renew()
    assert (part.remaining(), whole.remaining()) == (5, 10)


def test_one_without_more_time_is_neither_put_off_nor_held() -> None:
    clock = Clock()
    deadline = Deadline.after(clock, 5)
    clock.advance(3)
    deadline.renew()
    deadline.hold()
    assert deadline.remaining() == 2
    assert deadline.part(0.5).remaining() == 1
