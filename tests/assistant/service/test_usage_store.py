"""The day's spending on disk: over restarts, with fifty runs at once, on a disk that fails, with two processes."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs

from mud_assistant.assistant.journal import JournalError, JournalUnreadable, JournalUnwritable, Store, StoredUsage
from mud_assistant.assistant.service.usage_store import UsageStore
from mud_assistant.llm import BudgetReached, Unavailable
from mud_assistant.llm.testing import FakeChat, Reply, serve
from mud_assistant.resilience import Account, Allowance, Amount, Ledger
from mud_assistant.resilience.budget.writer import LedgerWriter
from tests.assistant.journal.keeping import NOON, opened, rows
from tests.assistant.living import living
from tests.assistant.paying import ACCOUNT, noon, paying

DAY = 86_400.0
ONE = Amount(1, 10, 0.1)


def server(reactor: Any) -> FakeChat:
    return FakeChat(reactor, lambda _: Reply("Hello.", usage=(9, 1)))


def spent(day: int, **accounts: Amount) -> dict[str, Any]:
    """An export."""
    return {"day": day, "spent": {name: amount.plain() for name, amount in accounts.items()}}


async def test_fifty_runs_at_once_make_as_many_requests_as_are_allowed(tmp_path: Path, reactor: Any) -> None:
    fake = server(reactor)
    async with serve(fake, reactor) as url, paying(tmp_path / "j", reactor, url, Allowance(calls=120)) as payer:
        await payer.all_ask_until_spent(50, "Hello?")
    assert len(fake.chats) == 120
    assert rows(tmp_path / "j", "SELECT account, calls, tokens FROM usage ORDER BY account") == [
        (ACCOUNT, 120, 1200),
        ("model:local/sage", 120, 1200),
    ]


async def test_fifty_at_once_need_two_writes_and_not_fifty(tmp_path: Path, reactor: Any) -> None:
    writes = []

    def counted(keep: Any) -> Any:
        async def kept(exported: Mapping[str, Any]) -> None:
            writes.append(len(fake.chats))
            await keep(exported)

        return kept

    fake = server(reactor)
    async with (
        serve(fake, reactor) as url,
        paying(tmp_path / "j", reactor, url, Allowance(calls=50), slow=counted) as payer,
    ):
        await payer.all_ask_until_spent(50, "Hello?")
        assert writes[:2] == [0, 0]
        assert len([chats for chats in writes if chats < 2]) <= 3


async def test_a_restart_goes_on_with_the_day(tmp_path: Path, reactor: Any) -> None:
    fake = server(reactor)
    async with serve(fake, reactor) as url:
        for expected in (2, 3, 3):
            async with paying(tmp_path / "j", reactor, url, Allowance(calls=3)) as payer:
                for _ in range(2):
                    try:
                        await payer.ask("Hello?")
                    except BudgetReached:
                        assert payer.calls() == 3
            assert len(fake.chats) == expected


async def test_what_has_no_limit_is_there_after_a_restart_as_well(tmp_path: Path, reactor: Any) -> None:
    fake = server(reactor)
    async with serve(fake, reactor) as url:
        async with paying(tmp_path / "j", reactor, url, Allowance()) as payer:
            await payer.ask("Hello?")
        async with paying(tmp_path / "j", reactor, url, Allowance()) as payer:
            assert payer.ledger.spent(ACCOUNT) == Amount(1, 10)


@pytest.mark.parametrize(("ahead", "more"), [(DAY / 2, 1), (DAY, 1), (-1.0, 0), (-DAY, 0), (-400 * DAY, 0)])
async def test_midnight_renews_the_budget_over_a_restart_and_a_clock_set_back_does_not(
    tmp_path: Path, reactor: Any, ahead: float, more: int
) -> None:
    fake = server(reactor)
    midday = NOON // DAY * DAY + DAY / 2
    async with serve(fake, reactor) as url:
        async with paying(tmp_path / "j", reactor, url, Allowance(calls=1), wall=lambda: midday) as payer:
            await payer.ask("Hello?")
        with capturedLogs() as logged:
            async with paying(tmp_path / "j", reactor, url, Allowance(calls=1), wall=lambda: midday + ahead) as payer:
                await payer.all_ask_until_spent(1, "Hello?")
    assert len(fake.chats) == 1 + more
    told = [event["days"] for event in logged if event.get("log_event") == "budget"]
    assert told == ([round(-ahead / DAY)] if ahead <= -DAY else [])


async def test_a_journal_that_cannot_be_written_is_an_outage_and_nothing_is_asked(tmp_path: Path, reactor: Any) -> None:
    fake = server(reactor)
    async with serve(fake, reactor) as url, paying(tmp_path / "j", reactor, url, Allowance(calls=2)) as payer:
        await payer.ask("Hello?")
        with capturedLogs() as logged, full_disk(tmp_path / "j"):
            for _ in range(3):
                with pytest.raises(Unavailable, match=r"could not be written down .*the disk") as caught:
                    await payer.ask("Hello?")
                assert caught.value.retryable
        assert (len(fake.chats), payer.calls(), payer.ledger.reserved(ACCOUNT)) == (1, 1, Amount())
        assert [event["log_event"] for event in logged if "log_event" in event] == ["budget"]
        await payer.ask("Hello?")
    assert len(fake.chats) == 2
    assert rows(tmp_path / "j", "SELECT calls FROM usage") == [(2,), (2,)]


@contextmanager
def full_disk(journal: Path) -> Iterator[None]:
    """The journal's log may not grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (Path(f"{journal}-wal").stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_the_event_is_kept_for_when_the_journal_can_be_written_again(reactor: Any) -> None:
    failures = [JournalUnwritable("the disk is full")] * 2  # of the call, and of giving its estimate back

    async def keep(_: Mapping[str, Any]) -> None:
        if failures:
            raise failures.pop()

    async with living(lambda _: Reply("Hello."), budget={"player": {"calls": 1}}) as life:
        assert life.pipeline.ledger is not None
        life.pipeline._writer = LedgerWriter(life.pipeline.ledger, keep)
        await life.ann.say("Sage, hello")
        while not life.witness.outcomes:
            await deferLater(reactor, 0.001)
        assert [(failure.lasting, failure.bug) for failure in life.witness.failures] == [(False, False)]
        assert "Sage, hello" in str(await life.journal.pending())
        assert life.fake.chats == []
        assert life.assistant.tick.paused


class Flaky:
    """Usage that cannot be read until it is mended."""

    def __init__(self, usage: StoredUsage) -> None:
        self.usage = usage
        self.is_mended = False

    async def load_usage(self) -> dict[str, Any] | None:
        if not self.is_mended:
            raise JournalUnreadable("the disk reports an input/output error")
        return await self.usage.load_usage()

    async def save_usage(self, exported: Mapping[str, Any]) -> None:
        await self.usage.save_usage(exported)


async def test_what_could_not_be_read_at_start_is_read_before_anything_is_paid(tmp_path: Path, reactor: Any) -> None:
    ledger = Ledger(noon, noon)
    async with opened(tmp_path / "j", reactor) as store:
        await StoredUsage(store).save_usage(spent(ledger.day, all=ONE + ONE))
        flaky = Flaky(StoredUsage(store))
        spending = UsageStore(ledger, flaky)
        with capturedLogs() as logged:
            await spending.restore()
        assert [event["cause"] for event in logged] == ["the disk reports an input/output error"]
        reservation = ledger.reserve([Account("all", Allowance(calls=1))], ONE)
        with pytest.raises(JournalUnreadable):
            await spending.keep(ledger.export())
        flaky.is_mended = True
        with pytest.raises(JournalUnreadable, match="could only now be read"):
            await spending.keep(ledger.export())
        reservation.release()
        assert ledger.spent("all") == ONE + ONE
        await spending.keep(ledger.export())
    assert rows(tmp_path / "j", "SELECT calls, tokens, money FROM usage") == [(2, 20, 0.2)]


async def test_a_damaged_row_is_not_taken_for_an_empty_purse(tmp_path: Path, reactor: Any) -> None:
    ledger = Ledger(noon, noon)
    async with opened(tmp_path / "j", reactor) as store:
        await store.write(lambda db: db.execute("INSERT INTO usage VALUES (?, 'all', -5, 0, 0)", (ledger.day,)))
        spending = UsageStore(ledger, StoredUsage(store))
        await spending.restore()
        with pytest.raises(JournalError, match="the budget of the day is damaged"):
            await spending.keep(ledger.export())
        await store.write(lambda db: db.execute("UPDATE usage SET day = day - 1"))
        with pytest.raises(JournalError, match="could only now be read"):
            await spending.keep(ledger.export())
        await spending.keep(ledger.export())


async def test_of_two_processes_neither_undoes_what_the_other_spent(tmp_path: Path, reactor: Any) -> None:
    async with opened(tmp_path / "j", reactor) as one, opened(tmp_path / "j", reactor) as other:
        first, second = StoredUsage(one), StoredUsage(other)
        assert await first.load_usage() is None
        await first.save_usage(spent(7, all=Amount(3, 30, 0.3), ann=ONE))
        assert await second.load_usage() == spent(7, all=Amount(3, 30, 0.3), ann=ONE)
        await second.save_usage(spent(7, all=Amount(5, 50, 0.5), ann=ONE, bea=ONE))
        await first.save_usage(spent(7, all=Amount(4, 31, 0.4)))
        await second.save_usage(spent(7, all=Amount(4, 45, 0.4), ann=ONE, bea=ONE))
        assert await StoredUsage(one).load_usage() == spent(7, all=Amount(5, 46, 0.5), bea=ONE)
        await first.save_usage(spent(8, all=ONE))
        await second.save_usage(spent(8, all=ONE))
        assert await StoredUsage(one).load_usage() == spent(8, all=ONE + ONE)


async def test_a_ledger_that_was_not_restored_does_not_lower_what_is_kept(tmp_path: Path, reactor: Any) -> None:
    async with opened(tmp_path / "j", reactor) as store:
        await StoredUsage(store).save_usage(spent(7, all=Amount(3, 10, 0.3), ann=ONE))
        await StoredUsage(store).save_usage(spent(7, all=Amount(1, 40, 0.1)))
        assert await StoredUsage(store).load_usage() == spent(7, all=Amount(3, 40, 0.3), ann=ONE)


async def test_what_was_not_written_is_written_the_next_time(tmp_path: Path, reactor: Any) -> None:
    async with opened(tmp_path / "j", reactor) as store:
        usage = StoredUsage(store)
        await usage.load_usage()
        with full_disk(tmp_path / "j"), pytest.raises(JournalUnwritable):
            await usage.save_usage(spent(7, all=ONE))
        await usage.save_usage(spent(7, all=ONE + ONE))
        assert await usage.load_usage() == spent(7, all=ONE + ONE)


async def test_a_store_that_is_closed_makes_no_calls(tmp_path: Path, reactor: Any) -> None:
    fake = server(reactor)
    store = Store(tmp_path / "other", reactor, noon)

    def closed(_: Any) -> Any:
        return StoredUsage(store).save_usage

    async with (
        serve(fake, reactor) as url,
        paying(tmp_path / "j", reactor, url, Allowance(calls=1), slow=closed) as payer,
    ):
        with pytest.raises(Unavailable, match="the journal is not open"):
            await payer.ask("Hello?")
    assert fake.chats == []


async def test_who_leaves_while_the_disk_is_slow_asks_nothing(tmp_path: Path, reactor: Any) -> None:
    fake = server(reactor)
    disk: Deferred[None] = Deferred()

    def stuck(keep: Any) -> Any:
        async def kept(exported: Mapping[str, Any]) -> None:
            await disk
            await keep(exported)

        return kept

    async with (
        serve(fake, reactor) as url,
        paying(tmp_path / "j", reactor, url, Allowance(calls=1), slow=stuck) as payer,
    ):
        asking = Deferred.fromCoroutine(payer.ask("Hello?"))
        asking.cancel()
        with pytest.raises(CancelledError):
            await asking
        assert payer.ledger.reserved(ACCOUNT) == Amount()
        disk.callback(None)
    assert fake.chats == []
    assert rows(tmp_path / "j", "SELECT calls FROM usage") == [(0,), (0,)]
