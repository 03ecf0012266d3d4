"""What calls use up: amounts of it, and how much of it is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from sys import float_info

#: Sums of money are rounded to this many digits, far below what is compared, so that what was added can be taken off.
_SUM_DIGITS = 12
#: Money is compared to this many digits: ten times 0.1 fits 1.0.
_COMPARED_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is used; `money` in the owner's currency. ValueError for what is below zero or not finite."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what would make a sum meaningless."""
        if self.calls < 0 or self.tokens < 0 or not 0 <= self.money < inf:
            raise ValueError(f"an amount is finite and not below zero: {self}")

    def __add__(self, other: Amount) -> Amount:
        """Both together."""
        money = round(self.money + other.money, _SUM_DIGITS)
        return Amount(self.calls + other.calls, self.tokens + other.tokens, money)

    def __sub__(self, other: Amount) -> Amount:
        """What is left without `other`, each part zero at least."""
        money = max(0.0, round(self.money - other.money, _SUM_DIGITS))
        return Amount(max(0, self.calls - other.calls), max(0, self.tokens - other.tokens), money)

    def plain(self) -> dict[str, int | float]:
        """The amount as JSON values, which `amount_from` reads."""
        return {"calls": self.calls, "tokens": self.tokens, "money": self.money}


#: Nothing at all.
NOTHING = Amount()


@dataclass(slots=True)
class Sum:
    """Amounts added up in place: many are added for each that is looked at. Money ends at the largest float."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def add(self, amount: Amount) -> None:
        """This much more."""
        self.calls += amount.calls
        self.tokens += amount.tokens
        if amount.money:
            self.money = min(float_info.max, round(self.money + amount.money, _SUM_DIGITS))

    def take(self, amount: Amount) -> None:
        """This much less, of what was added before."""
        self.calls -= amount.calls
        self.tokens -= amount.tokens
        if amount.money:
            self.money = max(0.0, round(self.money - amount.money, _SUM_DIGITS))

    def amount(self) -> Amount:
        """What it comes to."""
        return Amount(self.calls, self.tokens, self.money)

    def plain_with(self, other: Sum) -> dict[str, int | float]:
        """Both together as `Amount.plain` gives them; nothing at all is empty."""
        calls, tokens = self.calls + other.calls, self.tokens + other.tokens
        money = min(float_info.max, round(self.money + other.money, _SUM_DIGITS))
        return {"calls": calls, "tokens": tokens, "money": money} if calls or tokens or money else {}


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a day may use; None is unlimited. ValueError for a limit below zero."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits that could never be kept."""
        if not all(limit is None or limit >= 0 for limit in (self.calls, self.tokens, self.money)):
            raise ValueError(f"a limit is not below zero: {self}")

    @property
    def is_limited(self) -> bool:
        """Whether there is anything that a day may not use without end."""
        return self.calls is not None or self.tokens is not None or self.money is not None

    def exceeded(self, amount: Amount) -> tuple[str, float] | None:
        """The first of calls, tokens and money of which `amount` is too much, with its limit; None when all fits."""
        if self.calls is not None and amount.calls > self.calls:
            return "calls", self.calls
        if self.tokens is not None and amount.tokens > self.tokens:
            return "tokens", self.tokens
        if self.money is not None and round(amount.money - self.money, _COMPARED_DIGITS) > 0:
            return "money", self.money
        return None


@dataclass(frozen=True, slots=True)
class Account:
    """A named pot with an allowance of its own for each day, such as "all", "assistant:1" or "player:7"."""

    name: str
    allowance: Allowance


def amount_from(plain: object) -> Amount:
    """The amount that `Amount.plain` gave, from JSON. ValueError with a sentence when it is not one."""
    match plain:
        case {"calls": int(calls), "tokens": int(tokens), "money": int(money) | float(money)} if (
            bool not in {type(calls), type(tokens), type(money)} and 0 <= money <= float_info.max
        ):
            return Amount(calls, tokens, float(money))
    raise ValueError(f"an amount has a whole number of calls and of tokens and a finite sum of money, not {plain!r}")
