"""Some requests at once, then as many as are earned again; and a fixed number of keys, however many come."""

from __future__ import annotations

from twisted.internet.task import Clock

from mud_assistant.assistant.http_server.token_bucket import TokenBucket, TokenBuckets


def test_who_waits_as_long_as_they_were_told_is_let_through() -> None:
    clock = Clock()
    clock.advance(1_700_000_000.1)
    bucket = TokenBucket(clock.seconds, 3.0, 2)
    for _ in range(1_000):
        while not (wait := bucket.take()):
            pass
        clock.advance(wait)
        assert bucket.take() == 0
    clock.advance(3_600)
    assert bucket.left() == 2


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    clock = Clock()
    bucket = TokenBucket(clock.seconds, 1.0, 2)
    clock.rightNow = -60.0
    assert [bucket.take() for _ in range(3)] == [0, 0, 1.0]


def test_buckets_have_a_fixed_size() -> None:
    clock = Clock()
    clock.advance(1_000)
    buckets = TokenBuckets(clock.seconds, 1.0, 2, max_keys=10)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 1.0]
    assert buckets.left("a") == 0
    clock.advance(0.75)
    assert buckets.take("a") == 0.25
    for number in range(1_000):
        buckets.take(f"10.0.0.{number}")
        buckets.left(f"10.0.1.{number}")
    assert len(buckets) == 10
