from __future__ import annotations

from math import inf, nan

import pytest

from mud_assistant.resilience.amounts import Allowance, Amount, amount_from


def test_amounts_add_up() -> None:
    assert Amount(1, 2, 0.1) + Amount(3, 4, 0.2) == Amount(4, 6, 0.3)


def test_what_is_left_is_never_below_zero() -> None:
    assert Amount(3, 2, 0.3) - Amount(1, 4, 0.1) == Amount(2, 0, 0.2)
    assert Amount(0, 0, 0.1) - Amount(1, 1, 0.2) == Amount()


@pytest.mark.parametrize(
    ("calls", "tokens", "money"), [(-1, 0, 0.0), (0, -1, 0.0), (0, 0, -0.1), (0, 0, nan), (0, 0, inf)]
)
def test_an_amount_that_means_nothing_is_refused(calls: int, tokens: int, money: float) -> None:
    with pytest.raises(ValueError, match="finite and not below zero"):
        Amount(calls, tokens, money)


@pytest.mark.parametrize("money", [-0.1, nan])
def test_a_limit_that_means_nothing_is_refused(money: float) -> None:
    with pytest.raises(ValueError, match="not below zero"):
        Allowance(money=money)


def test_money_is_compared_to_a_billionth() -> None:
    allowance = Allowance(money=1.0)
    assert allowance.exceeded(Amount(money=1.000_000_000_4)) is None
    assert allowance.exceeded(Amount(money=1.000_000_001)) == ("money", 1.0)


def test_an_amount_comes_back_from_its_plain_form() -> None:
    amount = Amount(1, 2, 0.3)
    assert amount_from(amount.plain()) == amount
    assert amount_from({"calls": 1, "tokens": 2, "money": 3}) == Amount(1, 2, 3.0)
