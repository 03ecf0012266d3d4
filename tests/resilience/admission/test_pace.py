from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.resilience.admission.pace import RateLimitSnapshot, RateLimitWindow


def told(remaining: int, limit: int | None = 100, reset_at: float | None = 10.0) -> RateLimitWindow:
    """An allowance of which a response has said this at second 0."""
    allowance = RateLimitWindow()
    allowance.apply(RateLimitSnapshot(remaining, limit, reset_at), allowance.send(1, 0.0))
    return allowance


def test_what_nothing_is_known_of_waits_for_nothing() -> None:
    allowance = RateLimitWindow()
    assert allowance.left is None
    assert allowance.ready_at(1, 5.0) == 5.0
    allowance.send(1000, 5.0)
    assert allowance.ready_at(1, 5.0) == 5.0


def test_a_burst_may_go_while_more_than_half_is_left() -> None:
    allowance = told(100)
    for left in range(99, 49, -1):
        assert allowance.ready_at(1, 0.0) == 0.0
        allowance.send(1, 0.0)
        assert allowance.left == left
    assert allowance.ready_at(1, 0.0) > 0.0


def test_the_lower_half_is_spread_over_the_time_to_the_reset() -> None:
    allowance = told(10)
    now, starts = 0.0, []
    for _ in range(10):
        now = allowance.ready_at(1, now)
        allowance.send(1, now)
        starts.append(round(now, 6))
    assert starts == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]


def test_nothing_left_waits_for_the_reset_and_is_full_again_then() -> None:
    allowance = told(0)
    assert allowance.ready_at(1, 3.0) == 10.0
    assert allowance.ready_at(1, 10.0) == 10.0
    assert allowance.left == 100


def test_a_limit_nobody_named_is_forgotten_at_its_reset() -> None:
    allowance = told(0, limit=None)
    assert allowance.ready_at(1, 9.9) == 10.0
    assert allowance.ready_at(1, 10.0) == 10.0
    assert allowance.left is None


def test_without_a_reset_nothing_is_waited_for() -> None:
    assert told(0, reset_at=None).ready_at(1, 0.0) == 0.0


def test_more_than_a_full_limit_goes_as_it_is() -> None:
    """It would never fit: the server is to say what it thinks of it."""
    assert told(100).ready_at(500, 1.0) == 1.0
    assert told(99).ready_at(500, 1.0) == 10.0


def test_nothing_at_all_waits_for_nothing() -> None:
    assert told(0).ready_at(0, 1.0) == 1.0


def test_what_was_sent_after_the_response_counts_off() -> None:
    allowance = RateLimitWindow()
    first = allowance.send(10, 0.0)
    allowance.send(5, 0.1)
    allowance.apply(RateLimitSnapshot(80, 100, 10.0), first)
    assert allowance.left == 75


def test_an_older_response_is_no_news() -> None:
    allowance = RateLimitWindow()
    first, second = allowance.send(1, 0.0), allowance.send(1, 0.0)
    allowance.apply(RateLimitSnapshot(50, 100, 10.0), second)
    allowance.apply(RateLimitSnapshot(90, 100, 10.0), first)
    assert allowance.left == 50


@given(st.lists(st.tuples(st.integers(0, 40), st.floats(0, 3)), max_size=60))
def test_no_more_is_sent_in_a_window_than_the_server_said(sends: list[tuple[int, float]]) -> None:
    allowance = told(30, limit=40, reset_at=20.0)
    now, in_window = 0.0, 0
    for amount, pause in sends:
        now = max(now + pause, allowance.ready_at(amount, now + pause))
        if now >= 20.0:
            break
        allowance.send(amount, now)
        in_window += amount
    assert in_window <= 30
