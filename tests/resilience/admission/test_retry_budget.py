from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from mud_assistant.resilience.admission.capacity import RetryBudget, RetryBudgetConfig

CONFIG = RetryBudgetConfig(share=0.1, per_second=0.0, most=2.0)


def spent(budget: RetryBudget, tries: int) -> int:
    """How many of so many retries may be made."""
    return sum(budget.spend() for _ in range(tries))


def test_it_begins_full_and_ends() -> None:
    assert spent(RetryBudget(Clock().seconds, CONFIG), 5) == 2


def test_ten_calls_earn_a_retry() -> None:
    budget = RetryBudget(Clock().seconds, CONFIG)
    spent(budget, 2)
    for _ in range(9):
        budget.called()
    assert not budget.spend()
    budget.called()
    assert budget.left == pytest.approx(1.0)


def test_time_earns_too() -> None:
    clock = Clock()
    budget = RetryBudget(clock.seconds, RetryBudgetConfig(share=0.0, per_second=0.5, most=2.0))
    spent(budget, 2)
    clock.advance(1.9)
    assert not budget.spend()
    clock.advance(0.2)
    assert budget.spend()
    assert not budget.spend()


def test_no_more_is_kept_than_the_most() -> None:
    clock = Clock()
    budget = RetryBudget(clock.seconds, RetryBudgetConfig(share=1.0, per_second=1.0, most=2.0))
    for _ in range(100):
        budget.called()
    clock.advance(100)
    assert budget.left == 2.0
    assert spent(budget, 9) == 2


def test_when_everything_fails_there_are_little_more_requests_than_calls() -> None:
    """Upstream requests are at most 1.2 times the calls, once the first burst is over."""
    clock = Clock()
    budget = RetryBudget(clock.seconds)
    retries = 0
    for _ in range(1000):
        clock.advance(0.1)
        budget.called()
        retries += spent(budget, 2)
    assert 1000 + retries <= 1.2 * 1000


def test_looking_costs_nothing() -> None:
    budget = RetryBudget(Clock().seconds)
    assert [budget.left for _ in range(3)] == [10.0, 10.0, 10.0]
