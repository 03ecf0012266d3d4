"""Reads what was spent by day and account, and reckons how the month goes. Pure, but for `read_usage`.

Days are those of the ledger, counted from 1970. Each row belongs to the day on which it was spent by the offset from
UTC of then: a later change of the offset moves no row, so nothing is lost or counted twice.
"""

from __future__ import annotations

from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from sys import float_info

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.loop.spending import KEY_ACCOUNT, TOTAL, AccountKind, kind_of_account
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.values.money import Pace, UsageRowView
from mud_assistant.assistant.service.usage_store import UsageRow, day_of, number_of_day
from mud_assistant.llm.sending import MODEL_ACCOUNT
from mud_assistant.resilience import Allowance, Amount
from mud_assistant.resilience.amounts import add_up
from mud_assistant.resilience.budget.ledger import AccountState

_DAY_SECONDS, _HOUR_SECONDS = 86_400, 3600
#: Decimal places of a sum of money, as the ledger rounds it.
_MONEY_DIGITS = 12
#: What is left of a day's total beside the accounts of a kind, and how that row is called.
REST = ""
REST_NAMES = {"assistant": "others", "player": "for no player", "model": "model not known", "key": "without a key"}


def read_usage(db: Database, since: date, until: date) -> list[UsageRow]:
    """Return what each account spent on each day from `since` to `until`, both included, the oldest day first."""
    rows = db.execute(
        """SELECT day, account, calls, tokens, money FROM usage
           WHERE day BETWEEN ? AND ? AND (calls > 0 OR tokens > 0 OR money > 0) ORDER BY day, account""",
        (number_of_day(since), number_of_day(until)),
    )
    return [UsageRow(day_of(day), *amounts) for day, *amounts in rows]


def with_today(rows: Sequence[UsageRow], today: date, accounts: Iterable[AccountState]) -> list[UsageRow]:
    """Return the rows with those of `today` replaced by what the ledger in memory counts, which is newer than the file.

    The whole day is replaced, so that its accounts add up to its total. What another process spent today and wrote to
    the same file is then counted only after the next start, as in the limits.
    """
    mine = [
        UsageRow(today, one.name, one.spent.calls, one.spent.tokens, one.spent.money)
        for one in accounts
        if one.spent.calls or one.spent.tokens or one.spent.money
    ]
    return [row for row in rows if row.day != today] + mine


def usage_rows(rows: Iterable[UsageRow], by: str, names: Mapping[str, str] | None = None) -> tuple[UsageRowView, ...]:
    """Return what was spent each day in all, or by each assistant, player, model or key: `by` says which. Oldest first.

    Within a day, who used most comes first. Their sums are those of the total: where the accounts of a kind have less,
    a row with the key REST has the difference, such as talk that no player asked for. `names` has names by ids.
    Raises InvalidInput for another `by`.
    """
    names = names or {}
    days: defaultdict[date, list[UsageRow]] = defaultdict(list)
    for row in rows:
        days[row.day].append(row)
    if by == "day":
        return tuple(_view(day, by, day.isoformat(), day.isoformat(), total_of(days[day])) for day in sorted(days))
    if by not in REST_NAMES:
        raise InvalidInput("by is day, assistant, player, model or key")
    shown: list[UsageRowView] = []
    for day in sorted(days):
        own = [row for row in days[day] if kind_of_account(row.account) == by]
        own.sort(key=lambda row: (-row.money, -row.tokens, row.account))
        shown += [
            _view(day, by, key_of(row.account), names.get(row.account, key_of(row.account)), row.used) for row in own
        ]
        rest = total_of(days[day]) - add_up(row.used for row in own)
        if rest != Amount():
            shown.append(_view(day, by, REST, REST_NAMES[by], rest))
    return tuple(shown)


def total_of(rows: Iterable[UsageRow]) -> Amount:
    """Return what all assistants, and all programs by their keys, spent on all of these days."""
    return add_up(row.used for row in rows if row.account == TOTAL)


def pace(rows: Iterable[UsageRow], today: date, part: float, ceiling: Allowance) -> Pace:
    """Return how the month of `today` goes, with `part` of today over (0 to 1).

    What is expected to its end is the mean of the days over, today by its part, for every day of the month. The first
    day counts as whole: a few of its minutes tell nothing of a month. `ceiling` is the limit of one day.
    """
    first = today.replace(day=1)
    days = monthrange(today.year, today.month)[1]
    spent = total_of(row for row in rows if first <= row.day <= today)
    times = days / max(1.0, today.day - 1 + min(1.0, max(0.0, part)))
    expected = Amount(round(spent.calls * times), round(spent.tokens * times), min(float_info.max, spent.money * times))
    month = Allowance(
        calls=None if ceiling.calls is None else ceiling.calls * days,
        tokens=None if ceiling.tokens is None else ceiling.tokens * days,
        money=None if ceiling.money is None else round(ceiling.money * days, _MONEY_DIGITS),
    )
    return Pace(
        month=f"{first:%Y-%m}",
        days_over=today.day - 1,
        days_in_month=days,
        spent=spent,
        expected=expected,
        ceiling=month,
    )


def part_of_day(wall: float, utc_offset_hours: float, today: date) -> float:
    """Return how much of the ledger's day `today` is over, from 0 to 1. `wall` is in seconds since 1970.

    It is 0 on a day that the ledger keeps because the clock was set back.
    """
    local = wall + utc_offset_hours * _HOUR_SECONDS
    return min(1.0, max(0.0, local / _DAY_SECONDS - number_of_day(today)))


def key_of(account: str) -> str:
    """Return the id that the page shows for an account: of a model or key, without what marks it as one."""
    mark = MODEL_ACCOUNT if account.startswith(MODEL_ACCOUNT) else KEY_ACCOUNT
    return account.removeprefix(mark)


def ids_in(rows: Iterable[UsageRow]) -> frozenset[str]:
    """Return the ids of the assistants and players in the rows, whose names are to be asked for."""
    people = {AccountKind.ASSISTANT, AccountKind.PLAYER}
    return frozenset(row.account for row in rows if kind_of_account(row.account) in people)


def _view(day: date, by: str, key: str, name: str, used: Amount) -> UsageRowView:
    return UsageRowView(day=day.isoformat(), by=by, key=key, name=name, used=used)
