from __future__ import annotations

import pytest

from mud_assistant.assistant.config.schema import AllowanceConfig, BudgetConfig
from mud_assistant.assistant.loop.spending import TOTAL, Billing
from mud_assistant.resilience import Account, Allowance
from mud_assistant.tools import Kind, Principal

SAGE = Principal("assistant:1", "Sage", Kind.ASSISTANT)
BUDGET = BudgetConfig(
    total=AllowanceConfig(calls=100), assistant=AllowanceConfig(tokens=50), player=AllowanceConfig(money=0.5)
)


def test_all_who_pay_have_their_own_allowance() -> None:
    caller = Billing(BUDGET).caller(SAGE, Principal("player:7", "Ann"))
    assert caller.accounts == (
        Account(TOTAL, Allowance(calls=100)),
        Account("assistant:1", Allowance(tokens=50)),
        Account("player:7", Allowance(money=0.5)),
    )


def test_an_assistant_takes_its_own_turn_whoever_asked_it() -> None:
    assert Billing(BUDGET).caller(SAGE, Principal("player:7", "Ann")).name == "assistant:1"
    assert Billing(BUDGET).caller(SAGE, None).name == "assistant:1"


def test_nobody_else_pays_when_nobody_asked() -> None:
    caller = Billing(BUDGET).caller(SAGE, None)
    assert [account.name for account in caller.accounts] == [TOTAL, "assistant:1"]


@pytest.mark.parametrize(
    ("kind", "is_urgent"), [(Kind.PLAYER, True), (Kind.OPERATOR, True), (Kind.ASSISTANT, False), (Kind.WORLD, False)]
)
def test_a_person_who_waits_comes_first(kind: Kind, is_urgent: bool) -> None:
    assert Billing().caller(SAGE, Principal("someone:1", "Someone", kind)).is_urgent is is_urgent
    assert not Billing().caller(SAGE, None).is_urgent


def test_without_a_budget_nothing_is_limited() -> None:
    caller = Billing().caller(SAGE, Principal("player:7", "Ann"))
    assert {account.allowance for account in caller.accounts} == {Allowance()}
