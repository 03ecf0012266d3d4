"""The day's spending over restarts: read before the first call that has a limit, and written down as it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from twisted.logger import Logger

from assistant.journal import BrokenRecord, JournalError, JournalUnreadable
from resilience import Ledger

_log = Logger()


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one account spent on one day."""

    day: date
    account: str
    calls: int
    tokens: int
    money: float


class Usage(Protocol):
    """Where the spending is kept; the methods raise JournalError."""

    async def load_usage(self) -> dict[str, Any] | None:
        """The newest day kept."""
        ...

    async def save_usage(self, exported: Mapping[str, Any]) -> None:
        """Keep the ledger's export."""
        ...


class Spending:
    """What a `ledger` spent, kept in `usage`: `restore` at start, `keep` for the pipeline."""

    def __init__(self, ledger: Ledger, usage: Usage) -> None:
        self._ledger = ledger
        self._usage = usage
        self._is_restored = False

    async def restore(self) -> None:
        """Count what was spent today before. Why that cannot be read is logged; it is then read before `keep` writes.

        A call that was on its way when the process was killed counts as spent.
        """
        try:
            await self._restore()
        except JournalError as error:
            _log.error("what was spent today cannot be read: {cause}", log_event="budget", cause=str(error))

    async def keep(self, exported: Mapping[str, Any]) -> None:
        """Write the ledger's export down; one at a time, and not to be cancelled. Raises JournalError.

        It does so too when only now it could be read what was spent before: whatever was allowed without knowing of it
        must not be believed.
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
