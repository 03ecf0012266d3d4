"""Writes the ledger down: at most one write at a time, and the next one serves all who asked meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from resilience.budget.ledger import Ledger
from resilience.errors import BudgetUnkept

_log = Logger()

#: Writes down what `Ledger.export` gave, replacing what it gave before; returns when it is stored for good.
Keep = Callable[[Mapping[str, Any]], Awaitable[None]]


class LedgerWriter:
    """Calls `keep` with what `ledger` exports, once at a time. A waiting caller that leaves does not cancel a write."""

    def __init__(self, ledger: Ledger, keep: Keep) -> None:
        self._ledger = ledger
        self._keep = keep
        self._waiting: list[Deferred[None]] = []
        self._wanted = False
        #: The writes under way, held here even when all waiting callers have left.
        self._running: Deferred[None] | None = None
        self._is_running = False
        #: What was written last. While writing fails, it is not known whether the stored ledger equals it.
        self._kept: Mapping[str, Any] | None = None
        self._is_failing = False

    def write(self) -> Deferred[None]:
        """Wait until the ledger, as it is now or later, is written down. Cancelling does not stop the write.

        Fails with BudgetUnkept, a separate one for each waiting caller.
        """
        waiter: Deferred[None] = Deferred()
        self._waiting.append(waiter)
        self.write_soon()
        return waiter

    def write_soon(self) -> None:
        """Write the ledger down without waiting for it. A failure is logged; the next write includes it all."""
        self._wanted = True
        if not self._is_running:
            self._is_running = True
            self._running = Deferred.fromCoroutine(self._write_all())

    async def _write_all(self) -> None:
        """Write until no caller wants it any more. A caller that is told may ask for another write at once."""
        try:
            while self._wanted:
                self._wanted = False
                covered, self._waiting = self._waiting, []
                error = await self._write(self._ledger.export())
                for waiter in covered:
                    if not waiter.called:  # its caller may have left
                        _tell(waiter, error)
        finally:
            self._is_running = False

    async def _write(self, exported: Mapping[str, Any]) -> Exception | None:
        """Write the export. Return the error when that failed, None when it is stored."""
        is_news = exported != self._kept
        if not is_news and not self._is_failing:
            return None
        try:
            await self._keep(exported)
        except Exception as error:  # noqa: BLE001  (any `keep` may raise anything; nothing cancels us, so it must not either)
            self._failed(error)
            return error
        self._kept = exported
        if self._is_failing and is_news:  # without news, `keep` may have had nothing to do
            self._is_failing = False
            _log.info("what is spent can be written down again", log_event="budget")
        return None

    def _failed(self, error: Exception) -> None:
        """Log the error, once until a write succeeds again."""
        if not self._is_failing:
            self._is_failing = True
            _log.error(
                "what is spent cannot be written down; calls with a limit are not made: {cause}",
                log_event="budget",
                cause=str(error) or type(error).__name__,
            )


def _tell(waiter: Deferred[None], error: Exception | None) -> None:
    if error is None:
        waiter.callback(None)
        return
    unkept = BudgetUnkept(f"the call was not made: what it may cost could not be written down ({error})")
    unkept.__cause__ = error
    waiter.errback(unkept)
