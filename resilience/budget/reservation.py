"""What one call takes from its accounts: the estimate before an attempt, the real use after it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from resilience.amounts import NOTHING, Amount
from resilience.budget.learned_cost import CAUTION, LearnedCost
from resilience.budget.ledger import Ledger, Reservation
from resilience.budget.writer import LedgerWriter
from resilience.call import Call
from resilience.errors import BudgetSpent

T = TypeVar("T")


class CallReservation:
    """Pays for the attempts of one call, which are made one at a time.

    When a limit applies to the call, what an attempt may cost is written down before it is made: after a kill it counts
    as spent. What it may cost is its estimate, corrected by `learned`. While a limit is near, few calls of a model that
    is not known well are made at once, and one is stopped when a dearer answer shows that nothing is left.
    """

    def __init__(self, ledger: Ledger, writer: LedgerWriter | None, call: Call, learned: LearnedCost) -> None:
        self._ledger = ledger
        self._writer = writer
        self._accounts = call.caller.accounts
        self._is_urgent = call.caller.is_urgent
        self._estimate = call.estimate
        self._learned = learned
        self._reservation: Reservation | None = None
        #: What the attempts before the present one used.
        self._booked = NOTHING
        self._stopped: BudgetSpent | None = None
        self._running: Deferred[Any] | None = None
        #: Whether any limit applies to the call. The checks for a limit cost time, and most calls need none of them.
        self.is_limited = any(account.allowance.is_limited for account in self._accounts)

    async def ready(self, used: Amount) -> None:
        """Reserve the estimate of the next attempt; `used` is what all attempts before it used.

        Raises BudgetSpent when there is no room, BudgetUnkept when it could not be written down. When cancelled, the
        reservation stays until `end`.
        """
        if self._reservation is not None and used == self._booked:
            return  # the last attempt was free, so its reservation is still there
        self._book(used)
        if not self.is_limited:
            self._reservation = self._ledger.reserve(self._accounts, self._estimate)
            return
        await self._turn()
        try:
            self._reservation = self._ledger.reserve(self._accounts, self._learned.expected(self._estimate))
        finally:
            if self._reservation is not None:
                self._learned.under_way[self] = None
            self._learned.let_in()
        if self._writer is not None:
            await self._writer.write()
        self.check()

    def check(self) -> None:
        """Raise BudgetSpent when the call was stopped: what it was admitted for was used up meanwhile."""
        if self._stopped is not None:
            raise self._stopped

    async def guarded(self, attempt: Coroutine[Deferred[Any], Any, T]) -> T:
        """Return the result of the attempt. Raises BudgetSpent when it is stopped on the way."""
        self._running = running = Deferred.fromCoroutine(attempt)
        try:
            return await running
        except CancelledError:
            self.check()
            raise
        finally:
            self._running = None

    def answered(self, used: Amount) -> None:
        """Book what the attempts used. The last one was answered, so it shows what the model costs."""
        self._book(used, is_whole=True)

    def end(self, used: Amount) -> None:
        """Book what the attempts used and give the rest back. It is written down soon."""
        self._book(used)
        if self._writer is not None:
            self._writer.write_soon()

    def put_back(self) -> None:
        """Give back the reservation, so that `review` can make it anew."""
        if self._reservation is not None:
            self._reservation.change(NOTHING)

    def review(self) -> None:
        """Reserve what the call is now expected to cost. Without room for it, mark the call to be stopped."""
        if self._reservation is None or self._stopped is not None:
            return
        self.put_back()
        self._stopped = self._ledger.check(self._accounts)
        if self._stopped is None:
            self._reservation.change(self._learned.expected(self._estimate))

    def stop_if_due(self) -> None:
        """Stop the attempt under way, when `review` found no room for it."""
        if self._stopped is not None and self._running is not None:
            self._running.cancel()

    async def _turn(self) -> None:
        """Wait while a limit is near and other calls find out what the model costs."""
        learned = self._learned
        while not learned.has_room and self._fits(1) and self._is_near():
            await learned.turn(is_urgent=self._is_urgent)

    def _is_near(self) -> bool:
        """Tell whether this call and those under way could exceed a limit, if each cost far more than expected."""
        limits_money = any(account.allowance.money is not None for account in self._accounts)
        if limits_money and not self._learned.answers and not self._estimate.money:
            return True  # the price is unknown
        return not self._fits(CAUTION * (len(self._learned.under_way) + 1))

    def _fits(self, times: int) -> bool:
        expected = self._learned.expected(self._estimate)
        most = Amount(expected.calls, expected.tokens * times, expected.money * times)
        return self._ledger.has_room(self._accounts, most)

    def _book(self, used: Amount, *, is_whole: bool = False) -> None:
        reservation, self._reservation = self._reservation, None
        booked, self._booked = self._booked, used
        if reservation is None:
            return
        actual = used - booked if booked != NOTHING else used
        if used == booked:
            reservation.release()
        else:
            reservation.settle(actual)
        if self.is_limited:
            self._learned.under_way.pop(self, None)
            if used != booked:
                self._learned.learn(self._estimate, actual, is_whole=is_whole)
            self._learned.let_in()
