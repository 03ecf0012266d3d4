"""What keys may spend in a day and in a month: accounts of the ledger, which alone says whether one is used up.

The ledger counts days. What is left of the month when a day begins, by the stored days, is the most that the day
allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.gateway.keys.virtual_key import VirtualKey
from mud_assistant.assistant.loop.spending import KEY_ACCOUNT
from mud_assistant.assistant.service.usage_store import UsageRow, day_of, number_of_day
from mud_assistant.resilience import Account, Allowance, Amount, Ledger
from mud_assistant.resilience.amounts import NOTHING

#: The stored days are read again after so many seconds: what was spent at midnight is written down a little later.
_AGAIN_SECONDS = 300.0

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


class _Span(Struct, frozen=True):
    """A month or a day with limits: what was used in it before today, and the seconds until the next one begins."""

    name: str
    limits: Allowance
    before: Amount
    seconds: float


class KeySpending:
    """What keys used, today and in the month. Days are those of `ledger`; `wall` gives seconds since 1970."""

    def __init__(self, ledger: Ledger, wall: Callable[[], float], read_usage: ReadUsage) -> None:
        self._ledger = ledger
        self._wall = wall
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
        today = day_of(day)
        sums: defaultdict[str, Amount] = defaultdict(Amount)
        if today.day > 1:
            for row in await self._read_usage(today.day):
                if row.account.startswith(KEY_ACCOUNT) and today.replace(day=1) <= row.day < today:
                    sums[row.account] += row.used
        self._before, self._day, self._read_at = sums, day, self._wall()

    def is_known(self, key: VirtualKey) -> bool:
        """Tell whether it is known what the key used, as far as that counts for its limits."""
        return not key.limits.month.is_limited or self._day == self._ledger.day

    def account(self, key: VirtualKey) -> Account:
        """Return the account that pays for the key's calls today: what its day allows, and what its month has left."""
        spans = self._spans(key)
        return Account(_name(key), Allowance(*(_rest(spans, what) for what in Allowance.__struct_fields__)))

    def spent(self, key: VirtualKey) -> Spent | None:
        """Return which budget of the key is used up, None when a call could be made."""
        for span in self._spans(key):
            refused = self._ledger.check([Account(_name(key), span.limits)], span.before)
            if refused is not None:
                return Spent(refused.what, span.name, span.seconds)
        return None

    def left(self, key: VirtualKey, what: str) -> LimitLeft | None:
        """Return what is left of the limit of "calls" or "tokens" that ends first, None without such a limit.

        What calls in flight may use counts as used.
        """
        today = self._ledger.spent(_name(key)) + self._ledger.reserved(_name(key))
        found = [
            LimitLeft(limit, max(0, limit - getattr(span.before + today, what)), span.seconds)
            for span in self._spans(key)
            if (limit := getattr(span.limits, what)) is not None
        ]
        return min(found, key=lambda one: one.left, default=None)

    def _spans(self, key: VirtualKey) -> list[_Span]:
        """Return the month and the day of a key, as far as they are limited: the month first, because it ends later."""
        day = self._ledger.day
        following = number_of_day((day_of(day).replace(day=1) + timedelta(32)).replace(day=1))
        before, seconds = self._before.get(_name(key), NOTHING), self._ledger.seconds_until
        month = _Span("month", key.limits.month, before, seconds(following))
        today = _Span("day", key.limits.day, NOTHING, seconds(day + 1))
        return [span for span in (month, today) if span.limits.is_limited]


def _name(key: VirtualKey) -> str:
    return f"{KEY_ACCOUNT}{key.name}"


# Any: None, or a number of the kind of the limits.
def _rest(spans: Sequence[_Span], what: str) -> Any:
    """Return the most of calls, tokens or money that these spans leave for today, None without a limit."""
    limits = [(getattr(span.limits, what), getattr(span.before, what)) for span in spans]
    return min((max(0, limit - before) for limit, before in limits if limit is not None), default=None)
