"""From an answer on usage to the bars that show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta

from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.views.formats import short_number
from mud_assistant.assistant.page.views.svg.bars import RankedBar, StackedBar
from mud_assistant.assistant.page.views.svg.frame import SERIES
from mud_assistant.resilience import Amount

#: More days than this are not drawn: the last ones are.
_MOST_DAYS = 92


def _spent(used: Amount) -> float:
    return used.money


@dataclass(slots=True)
class AccountSum:
    """What one account used on all days of an answer: `measured` as the bars show it."""

    name: str
    measured: float = 0.0
    calls: int = 0
    tokens: int = 0
    money: float = 0.0


@dataclass(slots=True)
class UsageSums:
    """An answer on usage added up, by account and by day and account, for all that is drawn and written of it."""

    answer: UsageAnswer
    #: What is taken of an amount, for `measured` and `days`.
    measure: Callable[[Amount], float]
    #: By the key of the account; all in one where the answer is by day.
    accounts: dict[str, AccountSum] = field(default_factory=dict)
    #: What was measured, by day and by the key of the account.
    days: dict[str, dict[str, float]] = field(default_factory=dict)


def add_up_usage(answer: UsageAnswer, measure: Callable[[Amount], float] = _spent) -> UsageSums:
    """Add up an answer in one pass: it may have tens of thousands of rows."""
    sums = UsageSums(answer, measure)
    accounts, days, is_by_day = sums.accounts, sums.days, answer.by == "day"
    for row in answer.rows:
        key, used = "" if is_by_day else row.key, row.used
        account = accounts.get(key)
        if account is None:
            account = accounts[key] = AccountSum("All" if is_by_day else row.name or row.key)
        measured = measure(used)
        account.measured += measured
        account.calls += used.calls
        account.tokens += used.tokens
        account.money += used.money
        day = days.setdefault(row.day, {})
        day[key] = day.get(key, 0.0) + measured
    return sums


def bars_of_usage(sums: UsageSums, *, with_pace: bool = True) -> tuple[list[str], list[StackedBar]]:
    """Return the names of the series and a bar for each day from `since` to `until`, for `day_bars`.

    The six accounts that used most have a series each, the rest is "others". `with_pace` adds the days left of the
    present month at its pace, when the answer ends in that month.
    """
    answer, accounts = sums.answer, sums.accounts
    first, last = date.fromisoformat(answer.since), date.fromisoformat(answer.until)
    first = max(first, last - timedelta(days=_MOST_DAYS - 1))
    keys = sorted(accounts, key=lambda key: -accounts[key].measured)
    apart = keys if len(keys) <= SERIES else keys[: SERIES - 1]
    series = [accounts[key].name for key in apart] + (["others"] if len(apart) < len(keys) else [])
    bars = []
    for offset in range((last - first).days + 1):
        day = first + timedelta(days=offset)
        used = sums.days.get(day.isoformat(), {})
        drawn = [used.get(key, 0.0) for key in apart]
        rest = [max(0.0, sum(used.values()) - sum(drawn))] if len(apart) < len(keys) else []
        bars.append(StackedBar(_short(day), _long(day), (*drawn, *rest)))
    return series or ["All"], bars + (_expected(answer, last, sums.measure, max(1, len(series))) if with_pace else [])


def _expected(answer: UsageAnswer, last: date, measure: Callable[[Amount], float], series: int) -> list[StackedBar]:
    pace = answer.pace
    left = pace.days_in_month - last.day
    if last.isoformat()[:7] != pace.month or left <= 0:
        return []
    each = max(0.0, measure(pace.expected) - measure(pace.spent)) / left
    days = [last + timedelta(days=offset + 1) for offset in range(left)]
    return [StackedBar(_short(day), _long(day), (each, *[0.0] * (series - 1)), is_expected=True) for day in days]


def ranks_of_usage(sums: UsageSums, *, most: int = 12) -> list[RankedBar]:
    """Return the accounts that used most, the first first, for `ranked_bars`; the rest joined into one."""
    ranked = sorted(sums.accounts.values(), key=lambda one: (-one.measured, one.name))
    bars = [
        RankedBar(one.name, one.measured, f"{short_number(one.calls)} calls, {short_number(one.tokens)} tokens")
        for one in ranked[:most]
    ]
    rest = ranked[most:]
    return [*bars, RankedBar(f"{len(rest)} others", sum(one.measured for one in rest))] if rest else bars


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _long(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"
