"""What keys may spend in a day and in a month.

The ledger keeps the limits of a day. A month is kept by it too: what is left of the month when a day begins, by the
stored days, is the most that the day allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct

from mud_assistant.assistant.gateway.keys.virtual_key import VirtualKey
from mud_assistant.assistant.loop.spending import KEY_ACCOUNT
from mud_assistant.assistant.service.usage_store import UsageRow
from mud_assistant.resilience import Account, Allowance, Amount, BudgetSpent, Ledger

_EPOCH = date(1970, 1, 1)
_DAY_SECONDS = 86_400
#: The stored days are read again after so many seconds: what was spent at midnight is written down a little later.
_AGAIN_SECONDS = 300.0
_NOTHING = Amount()
#: The least a call uses.
_SMALLEST = Amount(calls=1, tokens=1)

#: Returns what each account spent on the last days, today included. Raises JournalError.
ReadUsage = Callable[[int], Awaitable[Sequence[UsageRow]]]


class Spent(Struct, frozen=True):
    """A budget that is used up: of a day or a month, and the seconds until the next one begins."""

    what: str
    span: str
    seconds: float


class LimitLeft(Struct, frozen=True):
    """One limit: how much it allows, how much is left of it, the seconds until it begins anew."""

    limit: int
    left: int
    seconds: float


class KeySpending:
    """What keys used, today and in the month. Days are those of `ledger`; `wall` gives seconds since 1970."""

    def __init__(
        self, ledger: Ledger, wall: Callable[[], float], utc_offset_seconds: float, read_usage: ReadUsage
    ) -> None:
        self._ledger = ledger
        self._wall = wall
        self._offset = utc_offset_seconds
        self._read_usage = read_usage
        #: What each account used on the days of this month before `_day`, and when that was read, on the wall clock.
        self._before: Mapping[str, Amount] = {}
        self._day: int | None = None
        self._read_at = 0.0

    async def refresh(self) -> None:
        """Read what was spent on earlier days of the month, when a day began or some minutes are over.

        Raises JournalError. Keys with a limit of a month are then not admitted on a new day.
        """
        day = self._ledger.day
        if self._day == day and 0 <= self._wall() - self._read_at < _AGAIN_SECONDS:
            return
        today = _EPOCH + timedelta(day)
        sums: defaultdict[str, Amount] = defaultdict(Amount)
        if today.day > 1:
            for row in await self._read_usage(today.day):
                if row.account.startswith(KEY_ACCOUNT) and today.replace(day=1) <= row.day < today:
                    sums[row.account] += Amount(row.calls, row.tokens, row.money)
        self._before, self._day, self._read_at = sums, day, self._wall()

    def is_known(self, key: VirtualKey) -> bool:
        """Tell whether it is known what the key used, as far as that counts for its limits."""
        return not key.limits.month.is_limited or self._day == self._ledger.day

    def account(self, key: VirtualKey) -> Account:
        """Return the account that pays for the key's calls today: what its day allows, and what its month has left."""
        name = f"{KEY_ACCOUNT}{key.name}"
        limits = key.limits
        if not limits.month.is_limited:
            return Account(name, limits.day)
        rest = _rest(limits.month, self._before.get(name, _NOTHING))
        return Account(name, _lower(limits.day, rest))

    def spent(self, key: VirtualKey, account: Account) -> Spent | None:
        """Return which budget of the key is used up, None when a call could be made."""
        month = key.limits.month
        if month.is_limited and (over := month.exceeded(self.month(account.name) + _SMALLEST)) is not None:
            return Spent(over[0], "month", self._month_seconds())
        if not account.allowance.is_limited:
            return None
        match self._ledger.check([account]):
            case BudgetSpent(what=what):
                return Spent(what, "day", self._day_seconds())
        return None

    def today(self, name: str) -> Amount:
        """Return what an account used today, and what its calls in flight may use."""
        return self._ledger.spent(name) + self._ledger.reserved(name)

    def month(self, name: str) -> Amount:
        """Return what an account used this month, as far as it was read."""
        return self._before.get(name, _NOTHING) + self.today(name)

    def left(self, key: VirtualKey, what: str) -> LimitLeft | None:
        """Return what is left of the limit of "calls" or "tokens" that ends first, None without such a limit."""
        name = f"{KEY_ACCOUNT}{key.name}"
        spans = (
            (key.limits.day, self.today, self._day_seconds),
            (key.limits.month, self.month, self._month_seconds),
        )
        found = [
            LimitLeft(limit, max(0, limit - getattr(used(name), what)), seconds())
            for allowance, used, seconds in spans
            if (limit := getattr(allowance, what)) is not None
        ]
        return min(found, key=lambda one: one.left, default=None)

    def _day_seconds(self) -> float:
        """Return the seconds until the ledger's day ends."""
        return self._until(self._ledger.day + 1)

    def _month_seconds(self) -> float:
        """Return the seconds until the ledger's month ends."""
        today = _EPOCH + timedelta(self._ledger.day)
        following = (today.replace(day=1) + timedelta(32)).replace(day=1)
        return self._until((following - _EPOCH).days)

    def _until(self, day: int) -> float:
        return max(0.0, day * _DAY_SECONDS - self._offset - self._wall())


def _rest(limits: Allowance, used: Amount) -> Allowance:
    """Return what is left of limits."""
    return Allowance(
        None if limits.calls is None else max(0, limits.calls - used.calls),
        None if limits.tokens is None else max(0, limits.tokens - used.tokens),
        None if limits.money is None else max(0.0, limits.money - used.money),
    )


def _lower(one: Allowance, other: Allowance) -> Allowance:
    """Return the lower limit of each kind."""
    calls = [limit for limit in (one.calls, other.calls) if limit is not None]
    tokens = [limit for limit in (one.tokens, other.tokens) if limit is not None]
    money = [limit for limit in (one.money, other.money) if limit is not None]
    return Allowance(min(calls, default=None), min(tokens, default=None), min(money, default=None))
