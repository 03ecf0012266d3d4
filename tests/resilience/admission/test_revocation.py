"""A refusal that holds for a while: by itself, and in the pipeline with many callers."""

from __future__ import annotations

from random import Random

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.resilience import Attempt, Call, Caller, CallTarget, Deadline, NotThere, Pipeline, Revoked, Verdict
from mud_assistant.resilience.admission.quota import MISSING, Revocation

ORIGIN = "http://server.test:1"


def test_it_holds_for_five_minutes_doubled_up_to_an_hour() -> None:
    bar, now = Revocation(), 0.0
    for pause in (300, 600, 1200, 2400, 3600, 3600):
        assert bar.refused("no", now)
        assert bar.holds(now + pause - 1)
        assert not bar.refused("no", now + pause - 1)  # sent before
        now += pause
        assert not bar.holds(now)
        assert bar.asked()
        assert bar.holds(now)
        assert not bar.asked()
    bar.lift()
    assert not bar.holds(now)
    assert bar.refused("no", now)
    assert not bar.holds(now + 300)


def test_one_that_ends_undecided_lets_another_find_out() -> None:
    bar = Revocation()
    bar.refused("no", 0.0)
    assert bar.asked()
    bar.undecided()
    assert not bar.holds(300.0)
    assert bar.asked()


def test_one_that_was_set_by_hand_holds_for_ever() -> None:
    assert Revocation(revoked="no").holds(1e12)


class Refused(Exception):
    """What the scripted server raises."""


class Server:
    """Refuses with `verdict`, answers when it is None; None of `waits` waits for the test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.pipeline = Pipeline(self.clock, Random(1))  # noqa: S311  (jitter)
        self.verdict: Verdict | None = None
        self.asked = 0
        self.waits = False
        self.waiting: list[Deferred[None]] = []

    def call(self, lane: str = "sage", key: str = "k", asker: str = "") -> list[object]:
        """What comes of a call, as soon as it is there."""
        ends: list[object] = []
        call = Call(CallTarget(ORIGIN, key, lane), judge=lambda error: error.args[0], caller=Caller(asker))

        async def attempt(_: Attempt) -> str:
            self.asked += 1
            if self.waits:
                waits: Deferred[None] = Deferred()
                self.waiting.append(waits)
                await waits
            if self.verdict is not None:
                raise Refused(self.verdict)
            return "answer"

        calling = Deferred.fromCoroutine(self.pipeline.call(attempt, call, Deadline.after(self.clock, 60)))
        calling.addCallbacks(ends.append, lambda failure: ends.append(failure.value))
        return ends


@pytest.mark.parametrize(
    ("verdict", "refusal", "pauses"),
    [
        (Verdict("bad key", revokes=True), Revoked, (300, 600, 1200)),
        (Verdict("no such model", is_missing=True), NotThere, (60, 120, 240)),
    ],
)
def test_one_request_for_each_cool_down_however_many_call(
    verdict: Verdict, refusal: type[Exception], pauses: tuple[int, ...]
) -> None:
    server = Server()
    server.verdict = verdict
    for number, pause in enumerate(pauses, 1):
        server.waits = True
        ends = [server.call() for _ in range(50)] if number > 1 else [server.call()]
        assert server.asked == number
        server.waits = False
        server.waiting.pop().callback(None)
        assert all(isinstance(end[0], refusal | Refused) for end in ends)
        server.clock.advance(pause - 1)
        [told] = server.call()
        assert isinstance(told, refusal)
        assert "in 1 s" in str(told)
        server.clock.advance(1)
    server.verdict = None
    assert server.call() == ["answer"]
    assert [server.call() for _ in range(50)] == [["answer"]] * 50


def test_a_refused_key_is_of_every_model_and_a_missing_model_of_itself() -> None:
    server = Server()
    server.verdict = Verdict("bad key", revokes=True)
    server.call("sage")
    assert isinstance(server.call("other")[0], Revoked)
    assert isinstance(server.call(key="another")[0], Refused)
    server.pipeline.configuration_changed()
    server.verdict = Verdict("no such model", is_missing=True)
    server.call("sage")
    assert isinstance(server.call("sage")[0], NotThere)
    server.verdict = None
    assert server.call("other") == ["answer"]
    assert MISSING.first_seconds < Revocation().times.first_seconds


def test_a_model_is_missing_only_for_who_was_told_so() -> None:
    server = Server()
    server.verdict = Verdict("no such model", is_missing=True)
    server.call(asker="a program")
    assert isinstance(server.call(asker="a program")[0], NotThere)
    server.verdict = None
    assert server.call(asker="Sage") == ["answer"]
    assert isinstance(server.call(asker="a program")[0], NotThere), "who was told so asks again in their own time"
    server.clock.advance(MISSING.first_seconds)
    assert server.call(asker="a program") == ["answer"] == server.call(asker="Sage")


def test_of_many_askers_those_that_came_first_are_forgotten() -> None:
    server = Server()
    server.verdict = Verdict("no such model", is_missing=True)
    for number in range(1_001):
        server.call(asker=f"program {number}")
    assert isinstance(server.call(asker="program 1000")[0], NotThere)
    assert isinstance(server.call(asker="program 0")[0], Refused), "it is asked for"


def test_new_settings_lift_both_at_once_for_one_server_or_for_all() -> None:
    for origin in (ORIGIN, None):
        for verdict in (Verdict("bad key", revokes=True), Verdict("no such model", is_missing=True)):
            server = Server()
            server.verdict = verdict
            server.call()
            server.verdict = None
            assert server.call() != ["answer"]
            server.pipeline.configuration_changed(origin)
            assert server.call() == ["answer"]


def test_what_fails_otherwise_lets_the_next_one_find_out() -> None:
    server = Server()
    server.verdict = Verdict("bad key", revokes=True)
    server.call()
    server.clock.advance(300)
    server.verdict = Verdict("broken", is_failure=True)
    server.call()
    server.verdict = None
    assert server.call() == ["answer"]


def test_what_was_tried_in_vain_is_left_alone_for_a_while() -> None:
    server = Server()
    server.verdict = Verdict("conflict", may_retry=True, in_vain_seconds=30.0)
    ends = server.call()
    for _ in range(20):
        server.clock.advance(1)
    assert (len(ends), server.asked) == (1, 3)
    server.call()
    assert server.asked == 3 or server.clock.seconds() > 30
    server.verdict = None
    server.clock.advance(60)
    assert server.call() == ["answer"]
