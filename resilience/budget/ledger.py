"""The ledger of how much each account may spend in a day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec import Struct

from mud_assistant.resilience.amounts import NOTHING, Account, Allowance, Amount, Sum, amount_from
from mud_assistant.resilience.budget.shared import AccountUse, NoRoom
from mud_assistant.resilience.errors import BudgetSpent

_DAY_SECONDS = 86_400
#: The least that a call to a model can use.
_SMALLEST = Amount(calls=1, tokens=1)


class ReservationEnded(RuntimeError):
    """A reservation was settled or released a second time: a bug in the program."""


class Counting(Protocol):
    """Sums of one account on one day, which a reservation changes."""

    def reserve(self, estimate: Amount, /) -> None:
        """Reserve the estimate of a call."""
        ...

    def settle(self, estimate: Amount, actual: Amount, /) -> None:
        """Replace the reserved estimate of a call by what it used."""
        ...


@dataclass(slots=True)
class _AccountDay:
    """An account in one day; its sums are changed in place. `allowance` is None when it was only restored."""

    spent: Sum = field(default_factory=Sum)
    reserved: Sum = field(default_factory=Sum)
    allowance: Allowance | None = None
    #: What other processes spent, and what their calls in flight may use, as far as known.
    elsewhere: Amount = NOTHING
    elsewhere_reserved: Amount = NOTHING
    #: The last export, None when the sums have changed since.
    exported: dict[str, int | float] | None = None

    def reserve(self, estimate: Amount) -> None:
        """Reserve the estimate of a call."""
        self.reserved.add(estimate)
        self.exported = None

    def settle(self, estimate: Amount, actual: Amount) -> None:
        """Replace the reserved estimate of a call by what it used."""
        self.reserved.take(estimate)
        self.spent.add(actual)
        self.exported = None

    def most(self) -> Amount:
        """Return what is spent if every call in flight here uses its estimate.

        Calls in flight elsewhere are left out: they may use less, and nobody would tell us.
        """
        return self.spent.amount() + self.reserved.amount() + self.elsewhere

    def all_spent(self) -> Amount:
        """Return what was spent here and elsewhere."""
        return self.spent.amount() + self.elsewhere

    def all_reserved(self) -> Amount:
        """Return what is reserved here and elsewhere."""
        return self.reserved.amount() + self.elsewhere_reserved

    def export(self) -> dict[str, int | float]:
        """Return our own sums as JSON values: the same object until something changes, an empty one when zero."""
        if self.exported is None:
            self.exported = self.spent.plain_with(self.reserved)
        return self.exported


class AccountState(Struct, frozen=True):
    """An account today. `allowance` is the one last used, None since a restart; `resets_at` is in seconds of `now`."""

    name: str
    spent: Amount
    reserved: Amount
    allowance: Allowance | None
    resets_at: float


class Reservation:
    """An estimate taken from some accounts. `settle` or `release` ends it, once.

    It belongs to the `day` in which it was made: when it ends after midnight, the new day is not charged.
    """

    def __init__(self, account_days: Sequence[Counting], estimate: Amount, day: int) -> None:
        self.day = day
        self._account_days = account_days
        self._estimate = estimate
        self._ended = False
        for account_day in account_days:
            account_day.reserve(estimate)

    @property
    def estimate(self) -> Amount:
        """What is reserved."""
        return self._estimate

    @property
    def has_ended(self) -> bool:
        """Whether it was settled or released."""
        return self._ended

    def count_in(self, sums: Sequence[Counting]) -> None:
        """Reserve the estimate in these sums as well, and settle it there too. Raises ReservationEnded."""
        if self._ended:
            raise ReservationEnded("this reservation was settled or released before")
        for each in sums:
            each.reserve(self._estimate)
        self._account_days = (*self._account_days, *sums)

    def settle(self, actual: Amount) -> None:
        """Book what was really used instead of the estimate, even if that is not allowed. Raises ReservationEnded."""
        if self._ended:
            raise ReservationEnded("this reservation was settled or released before")
        self._ended = True
        for account_day in self._account_days:
            account_day.settle(self._estimate, actual)

    def change(self, estimate: Amount) -> None:
        """Reserve this estimate instead, whether there is room for it or not. Raises ReservationEnded."""
        if self._ended:
            raise ReservationEnded("this reservation was settled or released before")
        for account_day in self._account_days:
            account_day.settle(self._estimate, NOTHING)
            account_day.reserve(estimate)
        self._estimate = estimate

    def release(self) -> None:
        """Give everything back: nothing was used. Raises ReservationEnded."""
        self.settle(NOTHING)


class Ledger:
    """What each account used today, and what calls in flight may still use.

    A day ends at midnight, `utc_offset_seconds` east of Greenwich, by `wall` (seconds since 1970); all accounts of the
    old day are then forgotten. A wall clock that is set back does not bring a day back, and neither does a restart
    after that: the new day lasts until the clock is past its end. `now` is the clock, in seconds, for `resets_at`.
    """

    def __init__(self, now: Callable[[], float], wall: Callable[[], float], utc_offset_seconds: float = 0) -> None:
        self._now = now
        self._wall = wall
        self._utc_offset_seconds = utc_offset_seconds
        self._day = self._wall_day()
        self._account_days: dict[str, _AccountDay] = {}

    def reserve(self, accounts: Sequence[Account], estimate: Amount) -> Reservation:
        """Reserve the estimate in every account. When one has no room, raise BudgetSpent and reserve in none.

        An account has room when its spent amount, its reservations in flight and the estimate are together within its
        allowance. When less than the estimate is left, nothing is given. An account that settled more than it was
        allowed has no room, whatever the estimate. BudgetSpent names the first account without room.
        """
        self._turn()
        refusal = self._refusal(accounts, estimate)
        account_days = {}  # an account that is named twice pays once
        for account in accounts:
            account_day = account_days[account.name] = self._account_day(account.name)
            account_day.allowance = account.allowance
        if refusal is not None:
            raise refusal
        return Reservation(tuple(account_days.values()), estimate, self._day)

    def check(self, accounts: Sequence[Account], before: Amount = NOTHING) -> BudgetSpent | None:
        """Return why even the smallest call would be refused now; None when it would not be.

        The smallest call is 1 call of 1 token, free of charge. `before` is what counts beside the spending of today, as
        for a limit of a month. The error is returned, not raised.
        """
        self._turn()
        return self._refusal(accounts, before + _SMALLEST)

    def has_room(self, accounts: Sequence[Account], amount: Amount) -> bool:
        """Tell whether this amount could be reserved now."""
        self._turn()
        return self._refusal(accounts, amount) is None

    def spent(self, account_name: str) -> Amount:
        """Return what the account used today."""
        self._turn()
        account_day = self._account_days.get(account_name)
        return NOTHING if account_day is None else account_day.all_spent()

    def reserved(self, account_name: str) -> Amount:
        """Return what calls in flight have reserved in the account today."""
        self._turn()
        account_day = self._account_days.get(account_name)
        return NOTHING if account_day is None else account_day.all_reserved()

    def snapshot(self) -> tuple[AccountState, ...]:
        """Return, by name, every account that was asked for room today (given or not) or restored."""
        self._turn()
        resets_at = self._now() + self.seconds_until(self._day + 1)
        return tuple(
            AccountState(name, day.all_spent(), day.all_reserved(), day.allowance, resets_at)
            for name, day in sorted(self._account_days.items())
        )

    @property
    def day(self) -> int:
        """The present day, counted from 1970."""
        self._turn()
        return self._day

    def seconds_until(self, day: int) -> float:
        """Return the seconds until a day, counted from 1970, begins; 0 when the wall clock is past that."""
        return max(0.0, day * _DAY_SECONDS - self._utc_offset_seconds - self._wall())

    def export(self) -> dict[str, Any]:
        """Return what was spent today if every call in flight uses its estimate, as JSON values for `restore`.

        An account that has not changed since the last export has the same object in both: callers must not edit them.
        """
        self._turn()
        spent = {name: most for name, account_day in self._account_days.items() if (most := account_day.export())}
        return {"day": self._day, "spent": spent}

    def restore(self, exported: object) -> None:
        """Add what an earlier process exported today to what was spent since. The export of an earlier day is ignored.

        The export of a later day makes it that day: the clock was set back since. When `exported` did not come from
        `export`, raises ValueError that says what is wrong, and adds nothing.
        """
        self._turn()
        day, spent = _read(exported)
        self._begin(day)
        if day < self._day:
            return
        for name, amount in spent.items():
            self._account_day(name).settle(NOTHING, amount)

    def learn(self, elsewhere: Iterable[AccountUse]) -> None:
        """Count what other processes use today, in place of what was learned before. Other days are left out."""
        self._turn()
        for use in elsewhere:
            if use.day == self._day:
                account_day = self._account_day(use.account)
                account_day.elsewhere, account_day.elsewhere_reserved = use.spent, use.reserved

    def refusal(self, day: int, no_room: NoRoom) -> BudgetSpent:
        """Return the error for a reservation of that day, for which there was no room among all processes."""
        return self._spent(*no_room, day)

    def _account_day(self, name: str) -> _AccountDay:
        """Return the sums of this account today, made at their first use."""
        account_day = self._account_days.get(name)
        if account_day is None:
            account_day = self._account_days[name] = _AccountDay()
        return account_day

    def _refusal(self, accounts: Sequence[Account], estimate: Amount) -> BudgetSpent | None:
        for account in accounts:
            limits = account.allowance
            if limits.calls is None and limits.tokens is None and limits.money is None:
                continue  # in words, as most accounts have no limit, and each call of each of them comes here
            account_day = self._account_days.get(account.name)
            exceeded = limits.exceeded(estimate if account_day is None else account_day.most() + estimate)
            if exceeded is not None:
                return self._spent(account.name, *exceeded, self._day)
        return None

    def _spent(self, account: str, what: str, limit: float, day: int) -> BudgetSpent:
        message = f"the {what} of {account} are used up for today, or too few for this call (allowed: {limit:.12g})"
        return BudgetSpent(message, account, what, limit, self._now() + self.seconds_until(day + 1))

    def _wall_day(self) -> int:
        return int((self._wall() + self._utc_offset_seconds) // _DAY_SECONDS)

    def _turn(self) -> None:
        """Begin a new day when the wall clock says so. Reservations of the old day keep its sums."""
        self._begin(self._wall_day())

    def _begin(self, day: int) -> None:
        if day > self._day:
            self._day = day
            self._account_days = {}


def _read(exported: object) -> tuple[int, dict[str, Amount]]:
    """Return the day and the spent amounts of an export. Raises ValueError with a sentence when it is not one."""
    match exported:
        case {"day": int(day), "spent": dict(spent)} if type(day) is int and all(
            isinstance(name, str) for name in spent
        ):
            return day, {name: amount_from(plain) for name, plain in spent.items()}
    raise ValueError("a kept budget has a whole number as its day and an object with the amount each account spent")
