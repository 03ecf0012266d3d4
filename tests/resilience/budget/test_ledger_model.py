"""The ledger against a small reference model, in any order of steps."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from twisted.internet.task import Clock

from mud_assistant.resilience.amounts import Account, Allowance, Amount
from mud_assistant.resilience.budget.ledger import Ledger, Reservation
from mud_assistant.resilience.errors import BudgetSpent
from tests.effort import times

DAY = 86_400
NAMES = ("all", "assistant:1", "player:7")

Sum = tuple[int, int, Decimal]
"""Calls, tokens and money, exactly."""

NOTHING: Sum = (0, 0, Decimal(0))

amounts = st.builds(
    Amount, st.integers(0, 3), st.integers(0, 50), st.integers(0, 2000).map(lambda thousandths: thousandths / 1000)
)
allowances = st.builds(
    Allowance,
    st.none() | st.integers(0, 8),
    st.none() | st.integers(0, 150),
    st.none() | st.integers(0, 60).map(lambda tenths: tenths / 10),
)
accounts = st.lists(st.builds(Account, st.sampled_from(NAMES), allowances), max_size=3, unique_by=lambda a: a.name)
picks = st.integers(0, 1000)


def exact(amount: Amount) -> Sum:
    return amount.calls, amount.tokens, Decimal(str(amount.money))


def plus(one: Sum, other: Sum) -> Sum:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def fits(total: Sum, allowance: Allowance) -> bool:
    calls, tokens, money = total
    return (
        (allowance.calls is None or calls <= allowance.calls)
        and (allowance.tokens is None or tokens <= allowance.tokens)
        and (allowance.money is None or money <= Decimal(str(allowance.money)))
    )


@dataclass
class Open:
    """A reservation of the model."""

    real: Reservation
    day: int
    names: list[str]
    estimate: Sum


class LedgerAgainstModel(RuleBasedStateMachine):
    """`spent` is of the present day; what is reserved is the sum over the open reservations of that day."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.set_by = 0.0
        self.day = 0
        self.ledger = Ledger(self.clock.seconds, self._wall)
        self.spent: dict[str, Sum] = {}
        self.open: list[Open] = []

    @rule(accounts=accounts, estimate=amounts)
    def reserve(self, accounts: list[Account], estimate: Amount) -> None:
        short = self._short(accounts, exact(estimate))
        if short is None:
            real = self.ledger.reserve(accounts, estimate)
            self.open.append(Open(real, self.day, [account.name for account in accounts], exact(estimate)))
            return
        with pytest.raises(BudgetSpent) as caught:
            self.ledger.reserve(accounts, estimate)
        assert caught.value.account == short
        assert caught.value.resets_at == self.clock.seconds() + (self.day + 1) * DAY - self._wall()

    @rule(accounts=accounts)
    def check(self, accounts: list[Account]) -> None:
        refused = self.ledger.check(accounts)
        assert (refused and refused.account) == self._short(accounts, (1, 1, Decimal(0)))

    @precondition(lambda self: self.open)
    @rule(pick=picks, actual=amounts)
    def settle(self, pick: int, actual: Amount) -> None:
        ended = self.open.pop(pick % len(self.open))
        ended.real.settle(actual)
        for name in ended.names if ended.day == self.day else []:
            self.spent[name] = plus(self.spent.get(name, NOTHING), exact(actual))

    @precondition(lambda self: self.open)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        self.open.pop(pick % len(self.open)).real.release()

    @precondition(lambda self: self.open)
    @rule(pick=picks, estimate=amounts)
    def change(self, pick: int, estimate: Amount) -> None:
        """What a call is thought to cost by now is set aside for it, whether there is room or not."""
        changed = self.open[pick % len(self.open)]
        changed.real.change(estimate)
        changed.estimate = exact(estimate)

    @rule(accounts=accounts, amount=amounts)
    def look_for_room(self, accounts: list[Account], amount: Amount) -> None:
        assert self.ledger.has_room(accounts, amount) == (self._short(accounts, exact(amount)) is None)

    @rule(hours=st.integers(1, 30))
    def advance(self, hours: int) -> None:
        self.clock.advance(hours * 3600)
        self._turn()

    @rule(hours=st.integers(-30, 30))
    def set_the_wall_clock(self, hours: int) -> None:
        self.set_by += hours * 3600
        self._turn()

    @rule()
    def restart(self) -> None:
        """A new process counts what was on its way as spent, on the day that was the latest."""
        exported = self.ledger.export()
        self._turn()
        self.spent = {name: plus(self.spent.get(name, NOTHING), self._reserved(name)) for name in NAMES}
        self.ledger = Ledger(self.clock.seconds, self._wall)
        self.ledger.restore(exported)
        self.open.clear()

    @invariant()
    def every_account_is_as_in_the_model(self) -> None:
        for name in NAMES:
            assert exact(self.ledger.spent(name)) == self.spent.get(name, NOTHING)
            assert exact(self.ledger.reserved(name)) == self._reserved(name)

    @invariant()
    def only_accounts_of_the_day_are_held(self) -> None:
        shown = {state.name for state in self.ledger.snapshot()}
        assert {name for opened in self.open if opened.day == self.day for name in opened.names} <= shown
        assert {name for name, spent in self.spent.items() if spent != NOTHING} <= shown
        assert shown <= set(NAMES)

    def teardown(self) -> None:
        for opened in self.open:
            opened.real.release()
        assert all(self.ledger.reserved(name) == Amount() for name in NAMES)

    def _wall(self) -> float:
        return self.clock.seconds() + self.set_by

    def _turn(self) -> None:
        """The ledger looks at the wall clock when it is asked something, as the invariants do after each step."""
        day = int(self._wall() // DAY)
        if day > self.day:
            self.day = day
            self.spent.clear()

    def _reserved(self, name: str) -> Sum:
        total = NOTHING
        for opened in self.open:
            if opened.day == self.day and name in opened.names:
                total = plus(total, opened.estimate)
        return total

    def _short(self, accounts: list[Account], estimate: Sum) -> str | None:
        """The first account without room."""
        for account in accounts:
            used = plus(self.spent.get(account.name, NOTHING), self._reserved(account.name))
            if not fits(plus(used, estimate), account.allowance):
                return account.name
        return None


TestLedgerAgainstModel = LedgerAgainstModel.TestCase
TestLedgerAgainstModel.settings = settings(max_examples=times(60), stateful_step_count=50, deadline=None)
