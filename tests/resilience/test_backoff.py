from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.resilience.call import RETRYABLE, RetryConfig, ceiling, delay

CONFIG = RetryConfig()


def test_the_documented_defaults() -> None:
    assert (CONFIG.max_attempts, CONFIG.base_delay, CONFIG.max_delay, CONFIG.exponential_base) == (3, 1.0, 30.0, 2.0)
    assert CONFIG.retryable_status_codes == RETRYABLE
    assert {408, 409, 429, 500, 503, 529, 599} <= RETRYABLE
    assert not {400, 401, 402, 403, 404, 405, 413, 422} & RETRYABLE


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 1.0), (2, 2.0), (3, 4.0), (5, 16.0), (6, 30.0), (10_000, 30.0)])
def test_the_longest_delay_doubles_up_to_the_most(attempt: int, seconds: float) -> None:
    assert ceiling(attempt, CONFIG) == seconds


def test_the_longest_delay_follows_the_configuration() -> None:
    assert ceiling(3, RetryConfig(base_delay=0.5, exponential_base=3.0)) == 4.5
    assert ceiling(1, RetryConfig(base_delay=50.0)) == 30.0


@given(st.integers(1, 100), st.floats(0, 100), st.integers())
def test_chance_is_within_bounds_and_on_top_of_the_wish(attempt: int, retry_after: float, seed: int) -> None:
    seconds = delay(attempt, CONFIG, Random(seed), retry_after)  # noqa: S311  (jitter)
    assert retry_after <= seconds <= retry_after + ceiling(attempt, CONFIG)


@pytest.mark.parametrize("retry_after", [0.0, 20.0, 60.0])
def test_chance_is_full_so_that_those_who_failed_together_come_back_apart(retry_after: float) -> None:
    random = Random(1)  # noqa: S311  (jitter)
    delays = sorted(delay(6, CONFIG, random, retry_after) - retry_after for _ in range(1000))
    assert delays[0] < 1
    assert delays[-1] > 29
    assert 13 < sum(delays) / 1000 < 17


def test_the_same_seed_gives_the_same_delay() -> None:
    one, other = Random(7), Random(7)  # noqa: S311  (jitter)
    assert delay(3, CONFIG, one) == delay(3, CONFIG, other)
