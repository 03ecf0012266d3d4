"""What keys may spend in a day and in a month, and what they are told of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import capturedLogs

from mud_assistant.assistant.gateway.keys import Admission, KeyLimits, limit_headers
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.service.usage_store import UsageRow
from mud_assistant.llm import BudgetReached, user
from mud_assistant.llm.dialects.failures import FailureKind
from mud_assistant.llm.testing import FakeChat, Reply, serve
from mud_assistant.resilience import Allowance, Amount, Caller
from tests.assistant.gateway.keys.rings import HERE, Ringing
from tests.assistant.paying import paying

HALF_A_DAY = 12 * 3600


def spend(here: Ringing, admission: Admission, amount: Amount) -> None:
    here.ledger.reserve(admission.accounts, Amount(1)).settle(amount)
    admission.release()


def test_a_key_that_used_up_its_day_is_refused_until_midnight(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key(limits=KeyLimits(day=Allowance(calls=2)))
    for _ in range(2):
        spend(here, here.ring.admit(secret, "small", HERE), Amount(1, 100))
    failure = here.refused(secret)
    assert (failure.kind, failure.retry_after, failure.should_retry) == (FailureKind.BUDGET, HALF_A_DAY, False)
    assert failure.message == "the budget of the key laptop is used up for this day (calls)"
    here.wall.advance(HALF_A_DAY)
    here.ring.admit(secret, "small", HERE)


@pytest.mark.parametrize(
    ("day", "month", "earlier", "expected"),
    [
        (Allowance(), Allowance(money=20.0), 19.5, Allowance(money=0.5)),
        (Allowance(money=0.3), Allowance(money=20.0), 19.5, Allowance(money=0.3)),
        (Allowance(calls=5), Allowance(money=20.0), 25.0, Allowance(calls=5, money=0.0)),
        (Allowance(money=1.0), Allowance(tokens=900), 3.0, Allowance(tokens=400, money=1.0)),
        (Allowance(money=1.0), Allowance(), 3.0, Allowance(money=1.0)),
    ],
)
def test_what_is_left_of_the_month_is_the_most_that_the_day_allows(
    tmp_path: Path, day: Allowance, month: Allowance, earlier: float, expected: Allowance
) -> None:
    here = Ringing(tmp_path)
    here.stored = [
        UsageRow(date(2026, 11, 22), "key:laptop", 3, 300, 7.0),  # today: the ledger knows better
        UsageRow(date(2026, 11, 1), "key:laptop", 3, 500, earlier),
        UsageRow(date(2026, 10, 31), "key:laptop", 3, 300, 99.0),
        UsageRow(date(2026, 11, 3), "key:laptop2", 3, 300, 99.0),
        UsageRow(date(2026, 11, 3), "all assistants", 3, 300, 99.0),
    ]
    here.key(limits=KeyLimits(day=day, month=month))
    account = here.ring._spending.account(here.store.load().named("laptop"))
    assert (account.name, account.allowance) == ("key:laptop", expected)


def test_a_month_that_is_used_up_ends_with_the_month(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    here.stored = [UsageRow(date(2026, 11, 1), "key:laptop", 9, 100, 0.0)]
    secret = here.key(limits=KeyLimits(month=Allowance(calls=10)))
    spend(here, here.ring.admit(secret, "small", HERE), Amount(1, 100))
    failure = here.refused(secret)
    assert (failure.kind, failure.retry_after) == (FailureKind.BUDGET, HALF_A_DAY + 8 * 86_400)
    assert failure.message == "the budget of the key laptop is used up for this month (calls)"
    here.wall.advance(HALF_A_DAY)
    here.stored.append(UsageRow(date(2026, 11, 22), "key:laptop", 1, 100, 0.0))
    assert here.refused(secret).kind is FailureKind.OVERLOADED  # the days of the month are to be read again
    here.refresh()
    assert here.refused(secret).kind is FailureKind.BUDGET
    here.wall.advance(8 * 86_400)
    here.refresh()
    here.ring.admit(secret, "small", HERE)


def test_a_month_that_cost_more_than_it_may_admits_not_even_a_free_call(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    here.stored = [UsageRow(date(2026, 11, 1), "key:laptop", 3, 500, 25.0)]
    secret = here.key(limits=KeyLimits(day=Allowance(money=1.0), month=Allowance(money=20.0)))
    failure = here.refused(secret)
    assert (failure.kind, failure.retry_after) == (FailureKind.BUDGET, HALF_A_DAY + 8 * 86_400)
    assert failure.message == "the budget of the key laptop is used up for this month (money)"


def test_what_was_written_down_after_midnight_is_read_later(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key(limits=KeyLimits(month=Allowance(calls=10)))
    here.wall.advance(HALF_A_DAY)
    here.refresh()
    here.stored.append(UsageRow(date(2026, 11, 22), "key:laptop", 10, 100, 0.0))
    here.wall.advance(299)
    here.refresh()
    here.ring.admit(secret, "small", HERE)
    here.wall.advance(1)
    here.refresh()
    assert here.refused(secret).kind is FailureKind.BUDGET


def test_while_the_journal_cannot_be_read_only_keys_with_a_limit_of_a_month_wait(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    here.trouble = JournalError("the disk is gone")
    with capturedLogs() as logs:
        monthly = here.key("monthly", KeyLimits(month=Allowance(money=5.0)))
        daily = here.key("daily", KeyLimits(day=Allowance(money=5.0)))
    assert here.refused(monthly).kind is FailureKind.OVERLOADED
    here.ring.admit(daily, "small", HERE)
    assert len(logs) == 1
    here.trouble = None
    here.refresh()
    here.ring.admit(monthly, "small", HERE)


@pytest.mark.usefixtures("reactor_baseline")
async def test_fifty_at_once_on_a_budget_exceed_it_by_no_request(tmp_path: Path, reactor: Any) -> None:
    here = Ringing(tmp_path)
    secret = here.key(limits=KeyLimits(day=Allowance(calls=7)))
    fake = FakeChat(reactor, lambda _: Reply("Yes."))
    async with serve(fake, reactor) as url, paying(tmp_path / "j", reactor, url, Allowance()) as payer:
        outcomes: list[str] = []

        async def ask() -> None:
            admission = here.ring.admit(secret, "small", HERE)
            caller = Caller(admission.name, is_urgent=False, accounts=admission.accounts)
            try:
                await payer.client.chat_completion([user("Hello?")], caller=caller)
                outcomes.append("answered")
            except BudgetReached as reached:
                outcomes.append(reached.account)
            finally:
                admission.release()

        await DeferredList([Deferred.fromCoroutine(ask()) for _ in range(50)], fireOnOneErrback=True)
        assert payer.ledger.spent("key:laptop").calls == 7
    assert sorted(outcomes) == ["answered"] * 7 + ["key:laptop"] * 43
    assert len(fake.chats) == 7


def test_headers_tell_what_the_key_has_left_in_each_dialect(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    secret = here.key(limits=KeyLimits(day=Allowance(calls=5, tokens=1000), month=Allowance(tokens=1200)))
    spend(here, here.ring.admit(secret, "small", HERE), Amount(1, 300))
    admission = here.ring.admit(secret, "small", HERE)
    assert dict(limit_headers(admission, "messages")) == {
        "anthropic-ratelimit-requests-limit": "5",
        "anthropic-ratelimit-requests-remaining": "4",
        "anthropic-ratelimit-requests-reset": "2026-11-23T00:00:00Z",
        "anthropic-ratelimit-tokens-limit": "1000",
        "anthropic-ratelimit-tokens-remaining": "700",
        "anthropic-ratelimit-tokens-reset": "2026-11-23T00:00:00Z",
    }
    assert limit_headers(admission, "responses") == limit_headers(admission, "chat")
    assert dict(limit_headers(admission, "chat"))["x-ratelimit-reset-tokens"] == "12h0m0s"
    assert limit_headers(admission, "ollama") == []


def test_headers_of_a_key_without_limits_tell_of_its_messages_a_second(tmp_path: Path) -> None:
    here = Ringing(tmp_path)
    admission = here.ring.admit(here.key(), "small", HERE)
    assert limit_headers(admission, "chat") == [
        ("x-ratelimit-limit-requests", "100"),
        ("x-ratelimit-remaining-requests", "99"),
        ("x-ratelimit-reset-requests", "10ms"),
    ]
