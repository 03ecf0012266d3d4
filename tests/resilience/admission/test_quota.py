from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from mud_assistant.resilience import CoolingDown, RateLimitSnapshot, Revoked
from mud_assistant.resilience.admission.quota import Credential, Quota


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quota(clock: Clock) -> Quota:
    return Quota("sage", clock.seconds, Credential("k1"))


def test_a_new_one_refuses_nothing(quota: Quota) -> None:
    assert quota.refusal(1_000_000, 0.0) is None
    assert quota.ready_at(1, 0.0) == 0.0


def test_a_key_that_was_refused_is_told_with_what_the_server_said(quota: Quota) -> None:
    quota.credential.revoked = "who are you?"
    refusal = quota.refusal(1, float("inf"))
    assert isinstance(refusal, Revoked)
    assert refusal.why == "who are you?"


def test_a_refused_key_is_refused_for_every_model(quota: Quota, clock: Clock) -> None:
    other = Quota("other", clock.seconds, quota.credential)
    quota.credential.revoked = "who are you?"
    assert isinstance(other.refusal(1, 0.0), Revoked)


def test_cooling_is_waited_for_as_long_as_patience_lasts(quota: Quota, clock: Clock) -> None:
    assert quota.cool(60.0, "slow down")
    refusal = quota.refusal(1, 59.9)
    assert isinstance(refusal, CoolingDown)
    assert (refusal.until, refusal.why) == (60.0, "slow down")
    assert "60 s: slow down" in str(refusal)
    assert quota.refusal(1, 60.0) is None
    assert quota.ready_at(1, 0.0) == 60.0
    clock.advance(60)
    assert quota.refusal(1, 0.0) is None


def test_only_a_longer_wish_is_news(quota: Quota) -> None:
    assert quota.cool(60.0, "first")
    assert not quota.cool(60.0, "second")
    assert not quota.cool(30.0, "third")
    assert (quota.cool_until, quota.cool_why) == (60.0, "first")
    assert quota.cool(61.0, "fourth")
    assert quota.cool_why == "fourth"


@pytest.mark.parametrize("which", ["requests", "tokens"])
def test_a_limit_that_is_used_up_is_a_refusal_too(quota: Quota, which: str) -> None:
    empty = RateLimitSnapshot(0, 100, 300.0)
    quota.apply(quota.send(50), empty if which == "requests" else None, empty if which == "tokens" else None)
    refusal = quota.refusal(50, 60.0)
    assert isinstance(refusal, CoolingDown)
    assert refusal.until == 300.0
    assert "used up" in refusal.why
    assert quota.refusal(50, 300.0) is None


def test_the_longest_of_all_waits_counts(quota: Quota) -> None:
    quota.apply(quota.send(1), RateLimitSnapshot(0, 100, 5.0), RateLimitSnapshot(0, 100, 9.0))
    quota.cool(7.0, "slow down")
    assert quota.ready_at(1, 0.0) == 9.0


def test_forgiving_forgets_everything(quota: Quota) -> None:
    quota.credential.revoked = "who are you?"
    quota.cool(60.0, "slow down")
    quota.apply(quota.send(1), RateLimitSnapshot(0, 100, 5.0), RateLimitSnapshot(0, 100, 9.0))
    quota.forgive()
    assert quota.refusal(1, 0.0) is None
    assert (quota.cool_why, quota.requests.left, quota.tokens.left) == ("", None, None)


def test_each_response_is_matched_with_what_its_request_took(quota: Quota) -> None:
    first = quota.send(100)
    quota.send(40)
    quota.apply(first, RateLimitSnapshot(9, 10, 60.0), RateLimitSnapshot(900, 1000, 60.0))
    assert (quota.requests.left, quota.tokens.left) == (8, 860)
