"""What was spent adds up to the cent, by each kind of account and over a change of the offset; the pace is reckoned."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.task import Clock

from mud_assistant.assistant.journal import StoredUsage
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.reading.money import (
    ids_in,
    pace,
    part_of_day,
    read_usage,
    total_of,
    usage_rows,
    with_today,
)
from mud_assistant.assistant.service.usage_store import UsageRow, UsageStore, day_of, number_of_day
from mud_assistant.assistant.surfaces.journal.copying import copy_journal
from mud_assistant.resilience import Account, Allowance, Amount, Ledger
from mud_assistant.resilience.amounts import add_up
from tests.assistant.journal.keeping import opened

reactor: Any = _reactor
HOUR, DAY = 3600, 86_400
#: 2026-03-29 20:00 UTC, a Sunday.
EVENING = 1_774_814_400.0
SAGE, MIRA, ANN, SMALL, LARGE = "assistant:1", "assistant:2", "player:1", "model:local/small", "model:openai/gpt"
FIRST, LAST = date(1970, 1, 1), date(2100, 1, 1)


def spend(ledger: Ledger, money: float, *accounts: str) -> None:
    """Let the accounts, and the total, pay for a call."""
    paying = [Account(name, Allowance()) for name in (TOTAL, *accounts)]
    ledger.reserve(paying, Amount(1)).settle(Amount(1, 100, money))


async def lived(path: Path, wall: Clock, offset_hours: float, *spendings: tuple[float, float, tuple[str, ...]]) -> None:
    """One process that starts, spends after some seconds each, and stops."""
    async with opened(path, reactor) as store:
        ledger = Ledger(wall.seconds, wall.seconds, offset_hours * HOUR)
        keeping = UsageStore(ledger, StoredUsage(store))
        await keeping.restore()
        for seconds, money, accounts in spendings:
            wall.advance(seconds)
            spend(ledger, money, *accounts)
            await keeping.keep(ledger.export())


def rows_of(path: Path, place: JournalPlace) -> list[UsageRow]:
    """What is read of a copy of the journal."""
    copy_journal(path, place, EVENING)
    with open_for_reading(place, EVENING) as journal:
        return read_usage(journal.db, FIRST, LAST)


def sums(rows: list[UsageRow], by: str) -> Amount:
    return add_up(row.used for row in usage_rows(rows, by))


@pytest.mark.parametrize(("before", "after"), [(1.0, 2.0), (2.0, 1.0), (-11.0, 13.0), (13.0, -11.0), (0.0, 5.5)])
async def test_a_change_of_the_offset_loses_and_doubles_nothing(
    journal_place: JournalPlace, tmp_path: Path, before: float, after: float
) -> None:
    path, wall = tmp_path / "lived", Clock()
    wall.advance(EVENING)
    asked = (SAGE, ANN, SMALL)
    await lived(path, wall, before, *[(HOUR, 0.1, asked)] * 9)
    await lived(path, wall, after, *[(HOUR, 0.1, (MIRA, LARGE))] * 30)
    await lived(path, wall, before, *[(5 * HOUR, 0.01, (SAGE, SMALL))] * 10)
    rows = rows_of(path, journal_place)
    everything = Amount(calls=49, tokens=4900, money=4.0)
    assert total_of(rows) == everything
    for by in ("day", "assistant", "player", "model", "key"):
        assert sums(rows, by) == everything
    by_model: dict[str, float] = {}
    for row in usage_rows(rows, "model"):
        by_model[row.key] = round(by_model.get(row.key, 0.0) + row.used.money, 9)
    assert by_model == {"local/small": 1.0, "openai/gpt": 3.0}
    days = [row.day for row in usage_rows(rows, "day")]
    assert days == sorted(set(days))


async def test_what_was_spent_in_each_month_is_in_one_month_only(journal_place: JournalPlace, tmp_path: Path) -> None:
    path, wall = tmp_path / "lived", Clock()
    wall.advance(EVENING)
    await lived(path, wall, 0.0, *[(HOUR, 0.25, (SAGE, SMALL))] * 100)
    rows = rows_of(path, journal_place)
    march, april = (pace(rows, day, 1.0, Allowance()).spent.money for day in (date(2026, 3, 31), date(2026, 4, 30)))
    assert (march + april, march) == (25.0, 12.75)


def usage(day: str, account: str, money: float, calls: int = 1) -> UsageRow:
    return UsageRow(date.fromisoformat(day), account, calls, 100 * calls, money)


ROWS = [
    usage("2026-03-01", TOTAL, 3.0, 3),
    usage("2026-03-01", SAGE, 2.0, 2),
    usage("2026-03-01", MIRA, 1.0),
    usage("2026-03-01", ANN, 0.5),
    usage("2026-03-02", TOTAL, 1.0),
    usage("2026-03-02", SAGE, 1.0),
    usage("2026-03-02", LARGE, 1.0),
]


def test_rows_are_named_and_sorted_and_what_no_account_has_is_shown_as_the_rest() -> None:
    names = {SAGE: "Sage", ANN: "Ann"}

    def told(by: str) -> list[tuple[str, str, str, float]]:
        return [(row.day[-2:], row.key, row.name, row.used.money) for row in usage_rows(ROWS, by, names)]

    assert told("day") == [("01", "2026-03-01", "2026-03-01", 3.0), ("02", "2026-03-02", "2026-03-02", 1.0)]
    assert told("assistant") == [("01", SAGE, "Sage", 2.0), ("01", MIRA, MIRA, 1.0), ("02", SAGE, "Sage", 1.0)]
    assert told("player") == [
        ("01", ANN, "Ann", 0.5),
        ("01", "", "for no player", 2.5),
        ("02", "", "for no player", 1.0),
    ]
    assert told("model") == [("01", "", "model not known", 3.0), ("02", "openai/gpt", "openai/gpt", 1.0)]
    assert ids_in(ROWS) == {SAGE, MIRA, ANN}
    with pytest.raises(InvalidInput, match="day, assistant, player, model or key"):
        usage_rows(ROWS, "hour")


def test_today_is_taken_whole_from_the_ledger() -> None:
    wall = Clock()
    wall.advance(EVENING)
    ledger = Ledger(wall.seconds, wall.seconds)
    spend(ledger, 0.3, SAGE, SMALL)
    ledger.reserve([Account(TOTAL, Allowance())], Amount(1, 5000, 9.0))  # on its way, and not spent yet
    today = day_of(ledger.day)
    stale = [usage("2026-03-28", TOTAL, 1.0), usage("2026-03-29", TOTAL, 0.1), usage("2026-03-29", SAGE, 0.1)]
    rows = with_today(stale, today, ledger.snapshot())
    assert total_of(rows).money == 1.3
    assert sums(rows, "assistant") == sums(rows, "day")
    assert [row.account for row in rows if row.day == today] == [TOTAL, SAGE, SMALL]


@pytest.mark.parametrize(
    ("today", "part", "expected"),
    [
        ("2026-03-01", 0.1, 93.0),  # the first day counts as whole
        ("2026-03-02", 0.0, 93.0 + 31.0),
        ("2026-03-02", 1.0, 62.0),
        ("2026-03-31", 1.0, 4.0),
        ("2026-04-01", 0.5, 0.0),
    ],
)
def test_the_pace_is_the_mean_of_the_days_over(today: str, part: float, expected: float) -> None:
    going = pace(ROWS, date.fromisoformat(today), part, Allowance(money=0.1, calls=None, tokens=1000))
    days = 30 if "-04-" in today else 31
    assert going.expected.money == pytest.approx(expected)
    assert (going.days_over, going.days_in_month) == (int(today[-2:]) - 1, days)
    assert going.month == today[:7]
    assert (going.ceiling.calls, going.ceiling.tokens, going.ceiling.money) == (None, 1000 * days, days / 10)


def test_the_part_of_a_day_goes_by_the_offset() -> None:
    today = date(2026, 3, 29)
    assert part_of_day(EVENING, 0.0, today) == pytest.approx(20 / 24)
    assert part_of_day(EVENING, -8.0, today) == pytest.approx(0.5)
    assert part_of_day(EVENING, 8.0, date(2026, 3, 30)) == pytest.approx(4 / 24)
    assert part_of_day(EVENING - 2 * DAY, 0.0, today) == 0.0
    assert day_of(number_of_day(today)) == today


def test_what_programs_use_by_their_keys_is_shown_as_a_part_of_the_total() -> None:
    first, second = date(2026, 11, 1), date(2026, 11, 2)
    rows = [
        UsageRow(first, TOTAL, 3, 30, 4.0), UsageRow(first, SAGE, 1, 10, 1.0), UsageRow(first, SMALL, 3, 30, 4.0),
        UsageRow(first, "key:laptop", 2, 20, 3.0),
        UsageRow(second, TOTAL, 1, 10, 0.5), UsageRow(second, "key:school", 1, 10, 0.5),
    ]  # fmt: skip
    assert [(row.day[-2:], row.key, row.name, row.used.money) for row in usage_rows(rows, "key")] == [
        ("01", "laptop", "laptop", 3.0),
        ("01", "", "without a key", 1.0),
        ("02", "school", "school", 0.5),
    ]
    assert [(row.name, row.used.money) for row in usage_rows(rows, "assistant", {SAGE: "Sage"})] == [
        ("Sage", 1.0),
        ("others", 3.0),
        ("others", 0.5),
    ]
    assert sums(rows, "player") == sums(rows, "key") == total_of(rows)
