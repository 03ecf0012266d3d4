"""The tables of what was used: days, or accounts with their totals, the most expensive first."""

from __future__ import annotations

from datetime import date

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import money, number, percent
from mud_assistant.assistant.page.views.parts import TableColumn, TableRow, link, table
from mud_assistant.assistant.page.views.svg.usage import UsageSums
from mud_assistant.resilience import Amount

#: What usage can be grouped by, and what one of each is called.
BY = {"day": "Day", "assistant": "Assistant", "player": "Player", "model": "Model", "key": "Key"}
#: The most rows that are shown; the rest is in the total and in the raw JSON.
_MOST = 200


def usage_table(call: PageCall, sums: UsageSums) -> Element:
    """Return the table of an answer with its total as the last row."""
    answer = sums.answer
    columns = (
        TableColumn(BY[answer.by]),
        TableColumn("Calls", is_number=True),
        TableColumn("Tokens", is_number=True),
        TableColumn("Money", is_number=True),
        TableColumn("Part", is_number=True),
    )
    used = _by_day(answer) if answer.by == "day" else _by_account(sums)
    rows = [TableRow(_cells(_head(call, answer.by, key, name), each, answer.total)) for key, name, each in used[:_MOST]]
    if not rows:
        return table("What was used", columns, [])
    left = len(used) - len(rows)
    if left > 0:
        rows.append(TableRow([f"and {number(left)} more", "", "", "", ""], class_="quiet"))
    rows.append(TableRow(_cells("Total", answer.total, answer.total), class_="total"))
    return table("What was used, and the total", columns, rows)


def _by_day(answer: UsageAnswer) -> list[tuple[str, str, Amount]]:
    """Return what was used on each day, the newest first."""
    return sorted(((row.day, row.day, row.used) for row in answer.rows), key=lambda each: each[0], reverse=True)


def _by_account(sums: UsageSums) -> list[tuple[str, str, Amount]]:
    """Return what each account used, the most expensive first."""
    found = sorted(sums.accounts.items(), key=lambda each: (-each[1].money, -each[1].tokens, each[1].name))
    return [(key, one.name, Amount(calls=one.calls, tokens=one.tokens, money=one.money)) for key, one in found]


def _head(call: PageCall, by: str, key: str, name: str) -> object:
    if by == "assistant" and key:
        return link(call, name, "a", key)
    if by == "player" and key:
        return link(call, name, "players", key)
    if by == "day":
        return h("time", _long(key), datetime=key)
    return name or h("span", "unknown", class_="quiet")


def _long(day: str) -> str:
    try:
        return f"{date.fromisoformat(day):%a, %d %b %Y}"
    except ValueError:
        return day


def _cells(head: object, used: Amount, total: Amount) -> list[object]:
    whole, part = (total.money, used.money) if total.money > 0 else (total.tokens, used.tokens)
    return [
        head,
        number(used.calls),
        number(used.tokens),
        money(used.money),
        percent(part / whole) if whole > 0 else "\u2013",
    ]
