"""Writes down what is spent: at most one write at a time, and the next one serves all who asked meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from mud_assistant.resilience.amounts import Account
from mud_assistant.resilience.budget.ledger import Ledger, Reservation
from mud_assistant.resilience.errors import BudgetUnkept

_log = Logger()

#: Writes down what `Ledger.export` gave, replacing what it gave before; returns when it is stored for good.
Keep = Callable[[Mapping[str, Any]], Awaitable[None]]


class SpendingWriter(ABC):
    """Writes what is spent, once at a time. A waiting caller that leaves does not cancel a write."""

    def __init__(self) -> None:
        self._waiting: list[Deferred[None]] = []
        self._wanted = False
        #: The writes under way, held here even when all waiting callers have left.
        self._running: Deferred[None] | None = None
        self._is_running = False
        self._is_failing = False

    @abstractmethod
    async def load(self) -> None:
        """Learn what was spent today before, where that is known."""

    @abstractmethod
    async def admit(self, reservation: Reservation, accounts: Sequence[Account]) -> None:
        """Wait until this new reservation of a call with a limit counts even after a kill.

        Raises BudgetUnkept when it could not be written down, BudgetSpent when it has no room after all. Cancelling
        does not stop the write.
        """

    @abstractmethod
    def note(self, reservation: Reservation, accounts: Sequence[Account]) -> None:
        """Count a new reservation of a call without a limit, which is not held up: it is written down some time."""

    def write(self) -> Deferred[None]:
        """Wait until all that is spent, as it is now or later, is written down. Cancelling does not stop the write.

        Fails with BudgetUnkept, a separate one for each waiting caller.
        """
        waiter: Deferred[None] = Deferred()
        self._waiting.append(waiter)
        self.write_soon()
        return waiter

    def write_soon(self) -> None:
        """Write what is spent without waiting for it. A failure is logged; the next write includes it all."""
        self._wanted = True
        if not self._is_running:
            self._is_running = True
            self._running = Deferred.fromCoroutine(self._write_all())

    @abstractmethod
    async def _write(self) -> Exception | None:
        """Write all there is now. Return the error when that failed, None when it is stored."""

    async def _write_all(self) -> None:
        """Write until no caller wants it any more. A caller that is told may ask for another write at once."""
        try:
            while self._wanted:
                self._wanted = False
                covered, self._waiting = self._waiting, []
                error = await self._write()
                for waiter in covered:
                    if not waiter.called:  # its caller may have left
                        _tell(waiter, error)
        finally:
            self._is_running = False

    def _succeeded(self) -> None:
        """Log that writing works again, if it did not."""
        if self._is_failing:
            self._is_failing = False
            _log.info("what is spent can be written down again", log_event="budget")

    def _failed(self, error: Exception) -> None:
        """Log the error, once until a write succeeds again."""
        if not self._is_failing:
            self._is_failing = True
            _log.error(
                "what is spent cannot be written down; calls with a limit are not made: {cause}",
                log_event="budget",
                cause=str(error) or type(error).__name__,
            )


class LedgerWriter(SpendingWriter):
    """Calls `keep` with what `ledger` exports."""

    def __init__(self, ledger: Ledger, keep: Keep) -> None:
        super().__init__()
        self._ledger = ledger
        self._keep = keep
        #: What was written last. While writing fails, it is not known whether the stored ledger equals it.
        self._kept: Mapping[str, Any] | None = None

    async def load(self) -> None:
        """Do nothing: who made the ledger restores it."""

    async def admit(self, reservation: Reservation, accounts: Sequence[Account]) -> None:
        """Wait until the ledger is written down: the reservation is in it. Raises BudgetUnkept."""
        await self.write()

    def note(self, reservation: Reservation, accounts: Sequence[Account]) -> None:
        """Do nothing: the reservation is in the ledger."""

    async def _write(self) -> Exception | None:
        exported = self._ledger.export()
        is_news = exported != self._kept
        if not is_news and not self._is_failing:
            return None
        try:
            await self._keep(exported)
        except Exception as error:  # noqa: BLE001  (any `keep` may raise anything; nothing cancels us, so it must not either)
            self._failed(error)
            return error
        self._kept = exported
        if is_news:  # without news, `keep` may have had nothing to do
            self._succeeded()
        return None


def _tell(waiter: Deferred[None], error: Exception | None) -> None:
    if error is None:
        waiter.callback(None)
        return
    unkept = BudgetUnkept(f"the call was not made: what it may cost could not be written down ({error})")
    unkept.__cause__ = error
    waiter.errback(unkept)
