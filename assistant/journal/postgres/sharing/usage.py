"""Budgets that several processes spend, in PostgreSQL: the sums of all, and what each process put into them.

The rows of `usage` are what all processes count together. `usage_by_process` holds the part of each, so that a process
can put a new sum in place of its old one, and tells how much of it is for calls in flight. When a process is killed,
these stay in the sums: whether such a call had left cannot be known, and the provider may bill it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from sys import float_info
from typing import Any

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.resilience.amounts import NOTHING, Amount
from mud_assistant.resilience.budget.shared import AccountUse, Booked, ReservationRequest, UseKey, granted

#: After so many days the parts of the processes are deleted; the sums stay.
KEPT_DAYS = 7

#: In the order of the names, as the rows are locked: two processes never wait for each other in a circle.
_MAKE_ROWS = """
    INSERT INTO usage (day, account, calls, tokens, money)
        SELECT ?, name, 0, 0, 0 FROM unnest(CAST(? AS text[])) AS name ORDER BY name
    ON CONFLICT DO NOTHING"""
_LOCK_ROWS = """
    SELECT account, calls, tokens, money FROM usage WHERE day = ? AND account = ANY(?) ORDER BY account FOR UPDATE"""
_PARTS = """
    SELECT account, process = ?, sum(calls), sum(tokens), sum(money), sum(reserved_calls), sum(reserved_tokens),
        sum(reserved_money)
    FROM usage_by_process WHERE day = ? AND account = ANY(?) GROUP BY 1, 2"""
_SET_SUMS = """
    UPDATE usage SET calls = new.calls, tokens = new.tokens, money = new.money
    FROM unnest(CAST(? AS bigint[]), CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS float8[]))
        AS new (day, account, calls, tokens, money)
    WHERE usage.day = new.day AND usage.account = new.account"""
_SET_PARTS = """
    INSERT INTO usage_by_process SELECT day, account, ?, calls, tokens, money, in_calls, in_tokens, in_money
    FROM unnest(CAST(? AS bigint[]), CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS float8[]),
        CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS float8[]))
        AS new (day, account, calls, tokens, money, in_calls, in_tokens, in_money)
    ON CONFLICT (day, account, process) DO UPDATE SET calls = excluded.calls, tokens = excluded.tokens,
        money = excluded.money, reserved_calls = excluded.reserved_calls, reserved_tokens = excluded.reserved_tokens,
        reserved_money = excluded.reserved_money"""
_MOST_WHOLE = 2**63 - 1
_MONEY_DIGITS = 12


class PostgresUsage:
    """The sums of all processes. `process` names this life of this process, and no other one ever."""

    def __init__(self, store: JournalStore, process: str) -> None:
        self._store = store
        self._process = process
        #: The day for which old parts were deleted last.
        self._pruned = 0

    async def load(self, day: int) -> Sequence[AccountUse]:
        """Return what other processes count on that day. Raises JournalUnreadable."""

        def work(db: Database) -> tuple[AccountUse, ...]:
            rows = db.execute("SELECT account, calls, tokens, money FROM usage WHERE day = ?", (day,)).fetchall()
            return tuple(_elsewhere(db, day, {name: _amount(*sums) for name, *sums in rows}, self._process).values())

        return await self._store.read(work)

    async def book(self, uses: Sequence[AccountUse], requests: Sequence[ReservationRequest]) -> Booked:
        """Store what this process counts, in place of what it stored before, and grant requests that have room.

        Raises JournalUnwritable; it is then unknown whether that was stored. Repeating it changes nothing.
        """
        newest = max(use.day for use in uses)

        def work(db: Database) -> Booked:
            if newest > self._pruned:
                db.execute("DELETE FROM usage_by_process WHERE day < ?", (newest - KEPT_DAYS,))
            return _book(db, self._process, {UseKey(use.day, use.account): use for use in uses}, requests)

        booked = await self._store.write(work)
        self._pruned = max(self._pruned, newest)
        return booked


def _book(
    db: Database, process: str, uses: Mapping[UseKey, AccountUse], requests: Sequence[ReservationRequest]
) -> Booked:
    elsewhere: dict[UseKey, AccountUse] = {}
    for day, keys in groupby(sorted(uses), lambda key: key.day):
        names = [key.account for key in keys]
        db.execute(_MAKE_ROWS, (day, names))
        rows = db.execute(_LOCK_ROWS, (day, names)).fetchall()
        elsewhere |= _elsewhere(db, day, {name: _amount(*sums) for name, *sums in rows}, process)
    counted, refusals = granted(uses, elsewhere, requests)
    sums = [(*key, *_sums(elsewhere[key].most + use.most)) for key, use in counted.items()]
    db.execute(_SET_SUMS, _columns(sums))
    parts = [(*key, *_sums(use.most), *_sums(use.reserved)) for key, use in counted.items()]
    db.execute(_SET_PARTS, (process, *_columns(parts)))
    return Booked(refusals, tuple(elsewhere.values()))


def _elsewhere(db: Database, day: int, sums: Mapping[str, Amount], process: str) -> dict[UseKey, AccountUse]:
    """Return what others count in each account, of which `sums` are the sums of all."""
    ours: dict[str, Amount] = {}
    reserved: dict[str, Amount] = {}
    # A statement of its own, after that which locked the sums: it sees what they were changed for.
    for name, is_ours, *parts in db.execute(_PARTS, (process, day, list(sums))):
        if is_ours:
            ours[name] = _amount(*parts[:3])
        else:
            reserved[name] = _amount(*parts[3:])
    found = {}
    for name, total in sums.items():
        in_flight = reserved.get(name, NOTHING)
        others = total - ours.get(name, NOTHING)
        found[UseKey(day, name)] = AccountUse(day, name, others - in_flight, in_flight)
    return found


def _amount(calls: int, tokens: int, money: float) -> Amount:
    return Amount(calls, tokens, round(money, _MONEY_DIGITS))


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Return rows as one array a column."""
    return [list(column) for column in zip(*rows, strict=True)]


def _sums(amount: Amount) -> tuple[Any, ...]:
    """Return calls, tokens and money as far as a row can hold them."""
    return min(_MOST_WHOLE, amount.calls), min(_MOST_WHOLE, amount.tokens), min(float_info.max, amount.money)
