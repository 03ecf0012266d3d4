"""Amounts that calls use up, and limits on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from sys import float_info

from msgspec import Struct

#: Sums of money are rounded to this many digits, finer than the comparison, so that an added amount can be taken off.
_SUM_DIGITS = 12
#: Money is compared to this many digits: ten times 0.1 fits 1.0.
_COMPARED_DIGITS = 9


class Amount(Struct, frozen=True):
    """How much is used; `money` in the owner's currency. Raises ValueError for values below zero or not finite."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __post_init__(self) -> None:
        """Reject values that would make a sum meaningless."""
        if self.calls < 0 or self.tokens < 0 or not 0 <= self.money < inf:
            raise ValueError(f"an amount is finite and not below zero: {self}")

    def __add__(self, other: Amount) -> Amount:
        """Return the sum of both."""
        if other is NOTHING:
            return self
        if self is NOTHING:
            return other
        money = round(self.money + other.money, _SUM_DIGITS)
        return Amount(self.calls + other.calls, self.tokens + other.tokens, money)

    def __sub__(self, other: Amount) -> Amount:
        """Return what is left without `other`; each part is at least zero."""
        money = max(0.0, round(self.money - other.money, _SUM_DIGITS))
        return Amount(max(0, self.calls - other.calls), max(0, self.tokens - other.tokens), money)

    def plain(self) -> dict[str, int | float]:
        """Return the amount as JSON values, which `amount_from` reads."""
        return {"calls": self.calls, "tokens": self.tokens, "money": self.money}


#: The amount of zero.
NOTHING = Amount()


@dataclass(slots=True)
class Sum:
    """A running total, changed in place because additions are far more frequent than reads.

    Money ends at the largest float.
    """

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def add(self, amount: Amount) -> None:
        """Add an amount."""
        self.calls += amount.calls
        self.tokens += amount.tokens
        if amount.money:
            self.money = min(float_info.max, round(self.money + amount.money, _SUM_DIGITS))

    def take(self, amount: Amount) -> None:
        """Subtract an amount that was added before."""
        self.calls -= amount.calls
        self.tokens -= amount.tokens
        if amount.money:
            self.money = max(0.0, round(self.money - amount.money, _SUM_DIGITS))

    def amount(self) -> Amount:
        """Return the total as an Amount."""
        return Amount(self.calls, self.tokens, self.money)

    def plain_with(self, other: Sum) -> dict[str, int | float]:
        """Return the sum of both in the form of `Amount.plain`; an empty dict when it is zero."""
        calls, tokens = self.calls + other.calls, self.tokens + other.tokens
        money = min(float_info.max, round(self.money + other.money, _SUM_DIGITS))
        return {"calls": calls, "tokens": tokens, "money": money} if calls or tokens or money else {}


def add_up(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of the amounts."""
    total = Sum()
    for one in amounts:
        total.add(one)
    return total.amount()


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be used in a day; None is unlimited. Raises ValueError for a limit below zero."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        """Reject limits below zero, which could never be kept."""
        if not all(limit is None or limit >= 0 for limit in (self.calls, self.tokens, self.money)):
            raise ValueError("a limit is not below zero")

    @property
    def is_limited(self) -> bool:
        """Whether at least one of the three has a limit."""
        return self.calls is not None or self.tokens is not None or self.money is not None

    def exceeded(self, amount: Amount) -> tuple[str, float] | None:
        """Return the first of calls, tokens and money that `amount` exceeds, with its limit; None when all fits."""
        if self.calls is not None and amount.calls > self.calls:
            return "calls", self.calls
        if self.tokens is not None and amount.tokens > self.tokens:
            return "tokens", self.tokens
        if self.money is not None and round(amount.money - self.money, _COMPARED_DIGITS) > 0:
            return "money", self.money
        return None


class Account(Struct, frozen=True):
    """A named account with an allowance of its own for each day, such as "all", "assistant:1" or "player:7"."""

    name: str
    allowance: Allowance


def amount_from(plain: object) -> Amount:
    """Read an amount that `Amount.plain` gave, from JSON. Raises ValueError with a sentence when it is not one."""
    match plain:
        case {"calls": int(calls), "tokens": int(tokens), "money": int(money) | float(money)} if (
            bool not in {type(calls), type(tokens), type(money)} and 0 <= money <= float_info.max
        ):
            return Amount(calls, tokens, float(money))
    raise ValueError(f"an amount has a whole number of calls and of tokens and a finite sum of money, not {plain!r}")
