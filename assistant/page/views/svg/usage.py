"""From an answer on usage to the bars that show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import date, timedelta

from assistant.page.values.common import Used
from assistant.page.values.money import UsageAnswer
from assistant.page.views.formats import short_number
from assistant.page.views.svg.bars import RankedBar, StackedBar
from assistant.page.views.svg.frame import SERIES

#: More days than this are not drawn: the last ones are.
_MOST_DAYS = 92


def _spent(used: Used) -> float:
    return used.money


def bars_of_usage(
    answer: UsageAnswer, *, measure: Callable[[Used], float] = _spent, with_pace: bool = True
) -> tuple[list[str], list[StackedBar]]:
    """Return the names of the series and a bar for each day from `since` to `until`, for `day_bars`.

    The six accounts that used most have a series each, the rest is "others". `with_pace` adds the days left of the
    present month at its pace, when the answer ends in that month.
    """
    first, last = date.fromisoformat(answer.since), date.fromisoformat(answer.until)
    first = max(first, last - timedelta(days=_MOST_DAYS - 1))
    names: dict[str, str] = {}
    sums: defaultdict[str, float] = defaultdict(float)
    by_day: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in answer.rows:
        key = "" if answer.by == "day" else row.key
        names[key] = "All" if answer.by == "day" else row.name or row.key
        sums[key] += measure(row.used)
        by_day[row.day][key] += measure(row.used)
    keys = sorted(sums, key=lambda key: -sums[key])
    apart = keys if len(keys) <= SERIES else keys[: SERIES - 1]
    series = [names[key] for key in apart] + (["others"] if len(apart) < len(keys) else [])
    bars = []
    for offset in range((last - first).days + 1):
        day = first + timedelta(days=offset)
        used = by_day[day.isoformat()]
        drawn = [used.get(key, 0.0) for key in apart]
        rest = [max(0.0, sum(used.values()) - sum(drawn))] if len(apart) < len(keys) else []
        bars.append(StackedBar(_short(day), _long(day), (*drawn, *rest)))
    return series or ["All"], bars + (_expected(answer, last, measure, max(1, len(series))) if with_pace else [])


def _expected(answer: UsageAnswer, last: date, measure: Callable[[Used], float], series: int) -> list[StackedBar]:
    pace = answer.pace
    left = pace.days_in_month - last.day
    if last.isoformat()[:7] != pace.month or left <= 0:
        return []
    each = max(0.0, measure(pace.expected) - measure(pace.spent)) / left
    days = [last + timedelta(days=offset + 1) for offset in range(left)]
    return [StackedBar(_short(day), _long(day), (each, *[0.0] * (series - 1)), is_expected=True) for day in days]


def ranks_of_usage(
    answer: UsageAnswer, *, measure: Callable[[Used], float] = _spent, most: int = 12
) -> list[RankedBar]:
    """Return the accounts that used most, the first first, for `ranked_bars`; the rest joined into one."""
    names: dict[str, str] = {}
    sums: defaultdict[str, float] = defaultdict(float)
    calls: defaultdict[str, int] = defaultdict(int)
    tokens: defaultdict[str, int] = defaultdict(int)
    for row in answer.rows:
        names[row.key] = row.name or row.key
        sums[row.key] += measure(row.used)
        calls[row.key] += row.used.calls
        tokens[row.key] += row.used.tokens
    keys = sorted(sums, key=lambda key: (-sums[key], names[key]))
    bars = [
        RankedBar(names[key], sums[key], f"{short_number(calls[key])} calls, {short_number(tokens[key])} tokens")
        for key in keys[:most]
    ]
    rest = keys[most:]
    return [*bars, RankedBar(f"{len(rest)} others", sum(sums[key] for key in rest))] if rest else bars


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _long(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"
