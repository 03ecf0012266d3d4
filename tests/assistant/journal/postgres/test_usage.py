"""The sums that several processes spend, in a real PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import capturedLogs

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.sharing.usage import KEPT_DAYS, PostgresUsage
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.tables.process_wide import StoredUsage
from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
    BudgetSpent,
    Call,
    Caller,
    CallTarget,
    Deadline,
    Ledger,
    Pipeline,
    Verdict,
)
from mud_assistant.resilience.amounts import NOTHING
from mud_assistant.resilience.budget.shared import AccountUse, NoRoom, ReservationRequest
from tests.assistant.journal.keeping import noon
from tests.postgres import PostgresServer

DAY = 86_400.0
ONE = Amount(1, 10, 0.1)
ACCOUNT = Account("all", Allowance(calls=3))


@asynccontextmanager
async def usage_of(url: str, reactor: Any, name: str = "a") -> AsyncIterator[tuple[PostgresUsage, PostgresStore]]:
    """The sums as one process sees them."""
    store = PostgresStore(url, reactor, noon, JournalProcess(name))
    await store.open()
    try:
        yield PostgresUsage(store, store.process.id), store
    finally:
        await store.close()


def use(spent: Amount = NOTHING, reserved: Amount = NOTHING, account: str = "all", day: int = 7) -> AccountUse:
    return AccountUse(day, account, spent, reserved)


def wish(*accounts: Account, day: int = 7) -> ReservationRequest:
    return ReservationRequest(day, accounts or (ACCOUNT,), ONE)


async def sums(store: PostgresStore) -> list[tuple[Any, ...]]:
    """The rows of `usage`."""

    def work(db: Database) -> list[tuple[Any, ...]]:
        return db.execute("SELECT day, account, calls, tokens, money FROM usage ORDER BY 1, 2").fetchall()

    return await store.read(work)


async def test_requests_are_granted_in_order_while_there_is_room(postgres_url: str, reactor: Any) -> None:
    async with usage_of(postgres_url, reactor) as (ours, store), usage_of(postgres_url, reactor, "b") as (theirs, _):
        booked = await ours.book([use()], [wish(), wish()])
        assert booked.refusals == (None, None)
        booked = await theirs.book([use()], [wish(), wish()])
        assert booked.refusals == (None, NoRoom("all", "calls", 3))
        assert booked.elsewhere == (use(reserved=ONE + ONE),)
        assert await sums(store) == [(7, "all", 3, 30, 0.3)]


async def test_a_refused_request_takes_from_none_of_its_accounts(postgres_url: str, reactor: Any) -> None:
    player = Account("player:7", Allowance(tokens=5))
    async with usage_of(postgres_url, reactor) as (ours, store):
        booked = await ours.book([use(), use(account="player:7")], [wish(ACCOUNT, player), wish()])
        assert booked.refusals == (NoRoom("player:7", "tokens", 5), None)
        assert await sums(store) == [(7, "all", 1, 10, 0.1), (7, "player:7", 0, 0, 0.0)]


async def test_a_sum_replaces_the_one_before_and_leaves_those_of_others(postgres_url: str, reactor: Any) -> None:
    async with usage_of(postgres_url, reactor) as (ours, store), usage_of(postgres_url, reactor, "b") as (theirs, _):
        await ours.book([use()], [wish()])
        await theirs.book([use(ONE)], [])
        for _ in range(2):
            booked = await ours.book([use(Amount(1, 2, 0.02))], [])
            assert booked.elsewhere == (use(ONE),)
        assert await sums(store) == [(7, "all", 2, 12, 0.12)]
        assert list(await theirs.load(7)) == [use(Amount(1, 2, 0.02))]
        assert list(await theirs.load(8)) == []


async def test_what_a_killed_process_had_in_flight_stays_counted(postgres_url: str, reactor: Any) -> None:
    async with usage_of(postgres_url, reactor) as (ours, _):
        await ours.book([use()], [wish(), wish()])
    async with usage_of(postgres_url, reactor) as (ours, _):
        assert list(await ours.load(7)) == [use(reserved=ONE + ONE)]
        assert (await ours.book([use()], [wish(), wish()])).refusals == (None, NoRoom("all", "calls", 3))


async def test_rows_that_a_journal_on_sqlite_left_count_as_spent(postgres_url: str, reactor: Any) -> None:
    async with usage_of(postgres_url, reactor) as (ours, store):
        await store.write(lambda db: db.execute("INSERT INTO usage VALUES (7, 'all', 2, 20, 0.2)"))
        assert list(await ours.load(7)) == [use(ONE + ONE)]
        assert (await ours.book([use()], [wish(), wish()])).refusals == (None, NoRoom("all", "calls", 3))
        assert await StoredUsage(store).days(7) == ((7, "all", 3, 30, 0.3),)


async def test_a_row_that_was_lowered_by_hand_never_goes_below_nothing(postgres_url: str, reactor: Any) -> None:
    async with usage_of(postgres_url, reactor) as (ours, store):
        await ours.book([use(ONE + ONE)], [])
        await store.write(lambda db: db.execute("UPDATE usage SET calls = 1, tokens = 0, money = 0"))
        assert (await ours.book([use(ONE)], [])).elsewhere == (use(),)
        assert await sums(store) == [(7, "all", 1, 10, 0.1)]


async def test_the_largest_numbers_are_kept_as_far_as_a_row_holds_them(postgres_url: str, reactor: Any) -> None:
    async with usage_of(postgres_url, reactor) as (ours, store):
        await ours.book([use(Amount(1, 2**70, sys.float_info.max))], [])
        assert await sums(store) == [(7, "all", 1, 2**63 - 1, sys.float_info.max)]


async def test_the_parts_of_days_long_over_are_deleted_and_the_sums_stay(postgres_url: str, reactor: Any) -> None:
    async with usage_of(postgres_url, reactor) as (ours, store):
        for day in (1, 2, 2 + KEPT_DAYS):
            await ours.book([use(ONE, day=day)], [])
        rows = await store.read(lambda db: db.execute("SELECT day FROM usage_by_process ORDER BY 1").fetchall())
        assert rows == [(2,), (2 + KEPT_DAYS,)]
        assert [row[0] for row in await sums(store)] == [1, 2, 2 + KEPT_DAYS]


async def test_processes_that_name_accounts_in_any_order_never_wait_in_a_circle(
    postgres_url: str, reactor: Any, postgres_server: PostgresServer
) -> None:
    before = _deadlocks(postgres_server)
    chance = Random(3)  # noqa: S311
    names = [f"player:{number}" for number in range(12)]
    total: dict[str, int] = dict.fromkeys(names, 0)

    async def spend(usage: PostgresUsage, ours: dict[str, Amount]) -> None:
        for _ in range(30):
            some = chance.sample(names, 6)
            for name in some:
                ours[name] = ours.get(name, NOTHING) + ONE
                total[name] += 1
            await usage.book([use(ours[name], account=name) for name in some], [])

    async with usage_of(postgres_url, reactor) as (ours, store), usage_of(postgres_url, reactor, "b") as (theirs, _):
        await gatherResults([Deferred.fromCoroutine(spend(usage, {})) for usage in (ours, theirs)])
        assert {account: calls for _, account, calls, *_ in await sums(store)} == total
    assert _deadlocks(postgres_server) == before


class Payer:
    """A pipeline of one process, whose calls are answered at once with what they were thought to use."""

    def __init__(self, reactor: Any, usage: PostgresUsage, wall: Callable[[], float]) -> None:
        self._reactor = reactor
        self.ledger = Ledger(reactor.seconds, wall)
        self.pipeline = Pipeline(reactor, Random(1), self.ledger, shared=usage)  # noqa: S311  (jitter)

    async def call(self, during: Callable[[], object] = lambda: None) -> None:
        async def make(attempt: Attempt) -> None:
            during()
            attempt.used = ONE

        call = Call(CallTarget("http://a"), lambda _: Verdict("down"), Caller("x", accounts=(ACCOUNT,)), ONE)
        await self.pipeline.call(make, call, Deadline.after(self._reactor, 60.0))


async def test_midnight_between_a_reservation_and_its_end(postgres_url: str, reactor: Any) -> None:
    now = [DAY - 1.0]
    async with usage_of(postgres_url, reactor) as (ours, store):
        payer = Payer(reactor, ours, lambda: now[0])
        await payer.call(lambda: now.append(now.pop() + 2.0))
        await payer.call()
        await payer.pipeline.write_ledger()
        assert await sums(store) == [(0, "all", 1, 10, 0.1), (1, "all", 1, 10, 0.1)]
        assert payer.ledger.spent("all") == ONE


async def test_a_server_that_is_away_for_a_while_loses_nothing(
    postgres_url: str, reactor: Any, postgres_server: PostgresServer
) -> None:
    async with usage_of(postgres_url, reactor) as (ours, store), usage_of(postgres_url, reactor, "b") as (theirs, _):
        payer, other = Payer(reactor, ours, noon), Payer(reactor, theirs, noon)
        with capturedLogs():
            await payer.call(postgres_server.stop_immediate)
            postgres_server.start()
            await other.call()
            await payer.call()
            with pytest.raises(BudgetSpent):
                await other.call()
            await payer.pipeline.write_ledger()
        assert [row[2:] for row in await sums(store)] == [(3, 30, 0.3)]
        assert other.ledger.spent("all") + other.ledger.reserved("all") == ONE + ONE + ONE


def _deadlocks(server: PostgresServer) -> int:
    count: int = server.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")[0][0]
    return count
