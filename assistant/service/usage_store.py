"""Keeps the day's spending over restarts: reads it before the first limited call, and records each change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Protocol

from msgspec import Struct
from twisted.logger import Logger

from mud_assistant.assistant.journal import BrokenRecord, JournalError, JournalUnreadable, StoredUsage
from mud_assistant.assistant.runtime.in_memory import NothingStored
from mud_assistant.resilience import Amount, Ledger

_EPOCH = date(1970, 1, 1)

_log = Logger()


class UsageRow(Struct, frozen=True):
    """The spending of one account on one day."""

    day: date
    account: str
    calls: int
    tokens: int
    money: float

    @property
    def used(self) -> Amount:
        """The spending as an amount."""
        return Amount(self.calls, self.tokens, self.money)


def day_of(number: int) -> date:
    """Return the date of a day of the ledger."""
    return _EPOCH + timedelta(number)


def number_of_day(day: date) -> int:
    """Return the day of the ledger that a date is."""
    return (day - _EPOCH).days


async def usage_rows(usage: StoredUsage | NothingStored, since: int) -> list[UsageRow]:
    """Return what each account spent on each day from day `since` on, counted from 1970. Raises JournalError."""
    rows = await usage.days(since)
    return [UsageRow(day_of(day), account, calls, tokens, money) for day, account, calls, tokens, money in rows]


class StoredSpending(Protocol):
    """A store for the spending. Its methods raise JournalError."""

    async def load_usage(self) -> dict[str, Any] | None:
        """Return the newest day kept, None when there is none."""
        ...

    async def save_usage(self, exported: Mapping[str, Any]) -> None:
        """Keep the ledger's export."""
        ...


class UsageStore:
    """The link between a `ledger` and its store `usage`: `restore` is called at start, `keep` by the pipeline."""

    def __init__(self, ledger: Ledger, usage: StoredSpending) -> None:
        self._ledger = ledger
        self._usage = usage
        self._is_restored = False

    async def restore(self) -> None:
        """Count what was spent earlier today. When it cannot be read, log why; `keep` then reads it before it writes.

        A call that was on its way when the process was killed counts as spent.
        """
        try:
            await self._restore()
        except JournalError as error:
            _log.error("what was spent today cannot be read: {cause}", log_event="budget", cause=str(error))

    async def keep(self, exported: Mapping[str, Any]) -> None:
        """Store the ledger's export. Call it once at a time, and do not cancel it. Raises JournalError.

        It also raises JournalError when the earlier spending could only now be read, because the ledger allowed calls
        without knowing of it.
        """
        if self._is_restored:
            await self._usage.save_usage(exported)
            return
        await self._restore()
        await self._usage.save_usage(self._ledger.export())
        raise JournalUnreadable("what was spent today before could only now be read")

    async def _restore(self) -> None:
        kept, today = await self._usage.load_usage(), self._ledger.day
        if kept is not None and kept["day"] >= today:
            try:
                self._ledger.restore(kept)
            except ValueError as error:
                raise BrokenRecord(f"the budget of the day is damaged: {error}") from error
            if kept["day"] > today:
                _log.warn(
                    "the clock was set back: the budget of the later day, {days} ahead, counts until that day is over",
                    log_event="budget",
                    days=kept["day"] - today,
                )
        self._is_restored = True
