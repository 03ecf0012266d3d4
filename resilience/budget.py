"""The ledger of what may be spent in a day, by account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from resilience.amounts import Account, Allowance, Amount, amount_from
from resilience.errors import BudgetSpent

_DAY_SECONDS = 86_400
#: The least that a call to a model can use.
_SMALLEST = Amount(calls=1, tokens=1)


class ReservationEnded(RuntimeError):
    """A reservation was settled or released a second time: a mistake in the program."""


@dataclass(slots=True)
class _Pot:
    """An account in one day. `allowance` is None when it was only restored."""

    spent: Amount = field(default_factory=Amount)
    reserved: Amount = field(default_factory=Amount)
    allowance: Allowance | None = None


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account today. `allowance` is the one last used, None since a restart; `resets_at` in seconds of `now`."""

    name: str
    spent: Amount
    reserved: Amount
    allowance: Allowance | None
    resets_at: float


class Reservation:
    """An estimate taken from some accounts; `settle` or `release` ends it, once.

    It belongs to the day in which it was made: ended after midnight it leaves the new day alone.
    """

    def __init__(self, pots: Sequence[_Pot], estimate: Amount) -> None:
        self._pots = pots
        self._estimate = estimate
        self._ended = False
        for pot in pots:
            pot.reserved += estimate

    def settle(self, actual: Amount) -> None:
        """Book what was really used instead of the estimate, even if it is more than allowed. ReservationEnded."""
        self.release()
        for pot in self._pots:
            pot.spent += actual

    def release(self) -> None:
        """Give all back: nothing was used. ReservationEnded."""
        if self._ended:
            raise ReservationEnded("this reservation was settled or released before")
        self._ended = True
        for pot in self._pots:
            pot.reserved -= self._estimate


class Ledger:
    """What each account used today, and what calls in flight may still use.

    A day ends at midnight, `utc_offset_seconds` east of Greenwich, by `wall` (seconds since 1970); all accounts of the
    old day are then forgotten. A wall clock that is set back does not bring a day back, nor does a restart after it:
    the new day lasts until the clock is past its end. `now` is the clock, in seconds, on which `resets_at` is told.
    """

    def __init__(self, now: Callable[[], float], wall: Callable[[], float], utc_offset_seconds: float = 0) -> None:
        self._now = now
        self._wall = wall
        self._utc_offset_seconds = utc_offset_seconds
        self._day = self._wall_day()
        self._pots: dict[str, _Pot] = {}

    def reserve(self, accounts: Sequence[Account], estimate: Amount) -> Reservation:
        """The estimate, taken from every account, or BudgetSpent and from none.

        An account has room when what it spent, what calls in flight reserved and the estimate are within its allowance
        together: a rest that is smaller than the estimate is not given. An account that settled more than it was
        allowed has no room, whatever the estimate. BudgetSpent tells of the first account without room.
        """
        self._turn()
        refusal = self._refusal(accounts, estimate)
        for account in accounts:
            self._pots.setdefault(account.name, _Pot()).allowance = account.allowance
        if refusal is not None:
            raise refusal
        names = dict.fromkeys(account.name for account in accounts)  # an account named twice pays once
        return Reservation([self._pots[name] for name in names], estimate)

    def check(self, accounts: Sequence[Account]) -> BudgetSpent | None:
        """Why even the smallest call (1 call of 1 token, free of charge) would be refused now; None when it would not.

        The error is returned and not raised.
        """
        self._turn()
        return self._refusal(accounts, _SMALLEST)

    def spent(self, account_name: str) -> Amount:
        """What the account used today."""
        self._turn()
        return self._pots.get(account_name, _Pot()).spent

    def reserved(self, account_name: str) -> Amount:
        """What calls in flight have taken from the account today."""
        self._turn()
        return self._pots.get(account_name, _Pot()).reserved

    def snapshot(self) -> tuple[AccountState, ...]:
        """Every account that was asked for room today, given or not, or restored; by name."""
        self._turn()
        resets_at = self._resets_at()
        return tuple(
            AccountState(name, pot.spent, pot.reserved, pot.allowance, resets_at)
            for name, pot in sorted(self._pots.items())
        )

    @property
    def day(self) -> int:
        """The day that lasts, counted from 1970."""
        self._turn()
        return self._day

    def export(self) -> dict[str, Any]:
        """What was spent today if every call in flight uses its estimate, as JSON values for `restore`."""
        self._turn()
        spent = {name: pot.spent + pot.reserved for name, pot in self._pots.items()}
        return {"day": self._day, "spent": {name: most.plain() for name, most in spent.items() if most != Amount()}}

    def restore(self, exported: object) -> None:
        """Add what an earlier process exported today to what was spent since; that of an earlier day is ignored.

        What it exported on a later day makes it that day: the clock was set back since. ValueError says what is
        wrong with something that `export` did not give, and nothing is added.
        """
        self._turn()
        day, spent = _read(exported)
        self._begin(day)
        if day < self._day:
            return
        for name, amount in spent.items():
            self._pots.setdefault(name, _Pot()).spent += amount

    def _refusal(self, accounts: Sequence[Account], estimate: Amount) -> BudgetSpent | None:
        for account in accounts:
            pot = self._pots.get(account.name, _Pot())
            exceeded = account.allowance.exceeded(pot.spent + pot.reserved + estimate)
            if exceeded is not None:
                return self._spent(account.name, *exceeded)
        return None

    def _spent(self, account: str, what: str, limit: float) -> BudgetSpent:
        message = f"the {what} of {account} are used up for today, or too few for this call (allowed: {limit:.12g})"
        return BudgetSpent(message, account, what, limit, self._resets_at())

    def _wall_day(self) -> int:
        return int((self._wall() + self._utc_offset_seconds) // _DAY_SECONDS)

    def _turn(self) -> None:
        """Begin a new day when the wall clock says so. Reservations of the old one keep its pots."""
        self._begin(self._wall_day())

    def _begin(self, day: int) -> None:
        if day > self._day:
            self._day = day
            self._pots = {}

    def _resets_at(self) -> float:
        """When the day ends, on the clock of `now`."""
        midnight = (self._day + 1) * _DAY_SECONDS - self._utc_offset_seconds
        return self._now() + midnight - self._wall()


def _read(exported: object) -> tuple[int, dict[str, Amount]]:
    """The day and the spent amounts of an export; ValueError with a sentence when it is not one."""
    match exported:
        case {"day": int(day), "spent": dict(spent)} if type(day) is int and all(
            isinstance(name, str) for name in spent
        ):
            return day, {name: amount_from(plain) for name, plain in spent.items()}
    raise ValueError("a kept budget has a whole number as its day and an object with the amount each account spent")
