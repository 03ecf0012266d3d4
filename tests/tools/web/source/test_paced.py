"""Not too fast, in turn, and never for longer than it is worth."""

from __future__ import annotations

from collections.abc import Awaitable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.source.answers import ErrorInfo, PageSource
from mud_assistant.tools.web.source.paced import Paced
from mud_assistant.tools.web.source.state import Bucket, ProviderState, Rate, kinds_of_reader
from tests.effort import times
from tests.tools.web.scripted import HIT, QUERY, Asked, Heard, Scripted, ScriptedReader, error, read_part


def state_of(clock: Clock, rate: Rate | None = None, **options: Any) -> ProviderState:
    return ProviderState(clock.seconds, Random(1), rate, **options)  # noqa: S311  (jitter)


class Gate:
    """A provider behind a gate."""

    def __init__(self, *answers: Any, **rate: Any) -> None:
        self.clock = Clock()
        self.provider = Scripted("a", *answers)
        self.pace = Paced(self.provider, state_of(self.clock, Rate(**rate)), self.clock)

    def ask(self) -> Heard:
        return Heard(self.pace.ask(QUERY))


def test_a_burst_goes_at_once_and_the_rest_in_step() -> None:
    paced = Gate(seconds=2.0, burst=3)
    heard = [paced.ask() for _ in range(5)]
    assert len(paced.provider.asked) == 3
    paced.clock.advance(1.9)
    assert len(paced.provider.asked) == 3
    paced.clock.advance(0.2)
    assert len(paced.provider.asked) == 4
    paced.clock.advance(2.0)
    assert all(one.value == (HIT,) for one in heard)
    assert not paced.clock.getDelayedCalls()


def test_a_full_queue_refuses_and_says_when() -> None:
    paced = Gate(seconds=1.0, burst=1, queue=2)
    for _ in range(3):
        paced.ask()
    refused = paced.ask()
    assert (refused.kind, refused.error.retry_at) == (ErrorKind.RATE_LIMITED, 3.0)
    paced.clock.pump([1, 1])
    assert paced.pace.waiting == 0


def test_nobody_waits_longer_than_it_is_worth() -> None:
    paced = Gate(seconds=6.0, burst=1, patience_seconds=10.0)
    paced.ask()
    second = paced.ask()
    assert paced.ask().kind is ErrorKind.RATE_LIMITED
    paced.clock.advance(6)
    assert second.value == (HIT,)


def test_a_wish_holds_those_who_come_and_sends_away_those_who_would_wait_too_long() -> None:
    paced = Gate(error(ErrorKind.RATE_LIMITED, "slow down", retry_at=9.0), (HIT,), seconds=1.0, burst=1)
    first, second, third = paced.ask(), paced.ask(), paced.ask()
    assert first.kind is ErrorKind.RATE_LIMITED
    fourth = paced.ask()
    assert (fourth.kind, fourth.error.retry_at) == (ErrorKind.RATE_LIMITED, 11.0)
    assert "slow down" in fourth.error.message
    paced.clock.advance(8.5)
    assert not second.done
    paced.clock.advance(0.5)
    assert second.value == (HIT,)
    paced.clock.advance(1.0)
    assert third.value == (HIT,)


def test_a_wish_heard_while_others_wait_sends_the_last_away() -> None:
    paced = Gate(None, (HIT,), seconds=4.0, burst=1, patience_seconds=10.0)
    paced.ask()
    waiting = [paced.ask(), paced.ask()]
    paced.provider.waiting[0].errback(error(ErrorKind.QUOTA, "all gone", retry_at=9.0))
    assert not waiting[0].done
    assert (waiting[1].kind, waiting[1].error.retry_at) == (ErrorKind.QUOTA, 13.0)
    paced.clock.advance(9)
    assert waiting[0].value == (HIT,)
    assert not paced.clock.getDelayedCalls()


def test_too_fast_without_a_time_is_left_alone_for_a_little() -> None:
    paced = Gate(error(ErrorKind.RATE_LIMITED), (HIT,), seconds=0.0, unsaid_seconds=4.0)
    paced.ask()
    waiting = paced.ask()
    paced.clock.advance(3.9)
    assert not waiting.done
    paced.clock.advance(0.1)
    assert waiting.value == (HIT,)


def test_what_one_site_wishes_does_not_stop_our_own_reader() -> None:
    clock = Clock()
    reader = ScriptedReader("direct", error(ErrorKind.RATE_LIMITED, retry_at=3600.0))
    paced = Paced(PageSource(reader), state_of(clock, cools=kinds_of_reader("direct")), clock)
    for _ in range(2):
        assert Heard(paced.ask("https://e.org/")).error is reader.answer
    assert len(reader.asked) == 2


def test_nobody_overtakes_those_whose_turn_a_busy_reactor_has_not_told_yet() -> None:
    paced = Gate(seconds=1.0, burst=2)
    heard = [paced.ask() for _ in range(3)]
    paced.clock.rightNow += 5.0
    heard.append(paced.ask())
    assert len(paced.provider.asked) == 2
    paced.clock.advance(0)
    assert [one.done for one in heard] == [True] * 4
    assert not paced.clock.getDelayedCalls()


def test_new_settings_forget_a_wish() -> None:
    paced = Gate(error(ErrorKind.QUOTA, retry_at=9.0), (HIT,), seconds=1.0, burst=5)
    paced.ask()
    waiting = paced.ask()
    paced.pace.change_configuration()
    assert waiting.value == (HIT,)
    assert not paced.clock.getDelayedCalls()


def test_cancelling_leaves_the_queue() -> None:
    paced = Gate(seconds=1.0, burst=1)
    paced.ask()
    second, third = paced.ask(), paced.ask()
    second.cancel()
    assert isinstance(second.error, CancelledError)
    paced.clock.advance(1)
    assert third.value == (HIT,)
    third = paced.ask()
    third.cancel()
    assert not paced.clock.getDelayedCalls()


def test_cancelling_reaches_who_was_asked() -> None:
    paced = Gate(None)
    heard = paced.ask()
    heard.cancel()
    assert paced.provider.cancelled == 1


def test_a_reader_is_paced_too() -> None:
    clock = Clock()
    reader = ScriptedReader("r", "0123456789")
    paced = Paced(PageSource(reader), state_of(clock, Rate(burst=1)), clock)
    first, second = (Heard(read_part(paced, "https://e.org/", offset=2, max_length=3)) for _ in range(2))
    assert first.value.content == "234"
    assert not second.done
    clock.advance(1)
    assert second.value.content == "234"


@pytest.mark.parametrize("rate", [{"burst": 0}, {"seconds": -1.0}, {"queue": -1}])
def test_a_rate_that_never_lets_anybody_go_is_refused(rate: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rate"):
        Rate(**rate)


@given(
    st.floats(0.1, 10),
    st.integers(1, 5),
    st.lists(st.floats(0, 5), max_size=40),
)
def test_in_no_span_of_time_do_more_go_than_the_bucket_holds(seconds: float, burst: int, gaps: list[float]) -> None:
    bucket, now, went = Bucket(Rate(seconds, burst)), 0.0, []
    for gap in gaps:
        now = max(now + gap, bucket.ready_at())
        bucket.take(now)
        went.append(now)
    for n, first in enumerate(went):
        for m, last in enumerate(went[n:]):
            assert m + 1 <= burst + (last - first) / seconds + 1e-6


@given(st.integers(0, 6), st.integers(1, 4), st.none() | st.floats(0, 30))
def test_the_bucket_knows_when_the_one_behind_others_may_go(ahead: int, burst: int, wish: float | None) -> None:
    bucket, walked = Bucket(Rate(2.0, burst)), Bucket(Rate(2.0, burst))
    for one in (bucket, walked):
        one.take(0.0)
        one.hold(ErrorInfo(ErrorKind.QUOTA, "", retry_at=wish))
    for _ in range(ahead):
        walked.take(walked.ready_at())
    assert bucket.ready_at(ahead) == pytest.approx(walked.ready_at())


class PacingModel(RuleBasedStateMachine):
    """Whoever asks is answered, refused or waiting; never too fast, in order, and with no timer for nobody."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.rate = Rate(seconds=2.0, burst=2, queue=3, patience_seconds=9.0)
        self.pace = Paced(Asked(), state_of(self.clock, self.rate), self.clock)
        self.began: list[tuple[int, float]] = []
        self.running: list[tuple[int, Deferred[str]]] = []
        self.heard: dict[int, Heard] = {}
        self.quiet_until = 0.0
        self.number = 0

    @rule()
    def ask(self) -> None:
        number = self.number = self.number + 1

        def begin() -> Awaitable[str]:
            assert self.clock.seconds() >= self.quiet_until - 1e-6
            self.began.append((number, self.clock.seconds()))
            answer: Deferred[str] = Deferred()
            self.running.append((number, answer))
            return answer

        waiting = self.pace.waiting
        self.heard[number] = Heard(self.pace.ask(begin))
        if self.heard[number].done:
            assert self.heard[number].error.retry_at > self.clock.seconds()
        else:
            assert waiting < self.rate.queue or self.began[-1][0] == number

    @precondition(lambda self: self.running)
    @rule(pick=st.integers(0, 99), wish=st.none() | st.sampled_from([3.0, 8.0, 30.0]))
    def answer(self, pick: int, wish: float | None) -> None:
        number, answer = self.running.pop(pick % len(self.running))
        if wish is None:
            answer.callback("good")
            assert self.heard[number].value == "good"
        else:
            at = self.clock.seconds() + wish
            self.quiet_until = max(self.quiet_until, at)
            answer.errback(error(ErrorKind.RATE_LIMITED, retry_at=at))
            assert self.heard[number].kind is ErrorKind.RATE_LIMITED

    @rule(seconds=st.sampled_from([0.1, 1.0, 2.0, 7.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: self.heard)
    @rule(pick=st.integers(0, 99))
    def cancel(self, pick: int) -> None:
        open_ones = [number for number, heard in self.heard.items() if not heard.done]
        if open_ones:
            number = open_ones[pick % len(open_ones)]
            self.heard[number].cancel()
            self.running = [(n, answer) for n, answer in self.running if n != number]
            assert isinstance(self.heard[number].error, CancelledError)

    @invariant()
    def never_too_fast(self) -> None:
        times = [at for _, at in self.began]
        assert all(b - a >= self.rate.seconds - 1e-3 for a, b in zip(times, times[self.rate.burst :], strict=False))

    @invariant()
    def in_order(self) -> None:
        assert [number for number, _ in self.began] == sorted(number for number, _ in self.began)

    @invariant()
    def all_are_somewhere(self) -> None:
        open_ones = sum(not heard.done for heard in self.heard.values())
        assert open_ones == self.pace.waiting + len(self.running)
        assert len(self.clock.getDelayedCalls()) == (1 if self.pace.waiting else 0)


TestPacingModel = PacingModel.TestCase
TestPacingModel.settings = settings(max_examples=times(32), stateful_step_count=40, deadline=None)
