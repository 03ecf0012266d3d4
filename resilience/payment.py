"""What one call takes from its accounts: the estimate before an attempt, what was used after it."""

from __future__ import annotations

from resilience.amounts import NOTHING, Amount
from resilience.budget import Ledger, Reservation
from resilience.keeping import Keeping
from resilience.order import Order


class Payment:
    """Pays for the attempts of one call, of which one at a time is made.

    When a limit applies to the call, what an attempt may cost is written down before it is made: after a kill it counts
    as spent.
    """

    def __init__(self, ledger: Ledger, keeping: Keeping | None, order: Order) -> None:
        self._ledger = ledger
        self._keeping = keeping
        self._accounts = order.caller.accounts
        self._estimate = order.estimate
        self._is_limited = any(account.allowance.is_limited for account in self._accounts)
        self._reservation: Reservation | None = None
        #: What the attempts before the present one used.
        self._booked = NOTHING

    async def ready(self, used: Amount) -> None:
        """Set the estimate of the next attempt aside; `used` is what all attempts before it used.

        Raises BudgetSpent when there is no room, BudgetUnkept when it could not be written down. Cancelling leaves it
        set aside until `end`.
        """
        if self._reservation is not None and used == self._booked:
            return  # the last attempt was free: what was set aside for it is there
        self._book(used)
        self._reservation = self._ledger.reserve(self._accounts, self._estimate)
        if self._keeping is not None and self._is_limited:
            await self._keeping.kept()

    def end(self, used: Amount) -> None:
        """Book what the attempts used and give the rest back. It is written down soon."""
        self._book(used)
        if self._keeping is not None:
            self._keeping.soon()

    def _book(self, used: Amount) -> None:
        reservation, self._reservation = self._reservation, None
        booked, self._booked = self._booked, used
        if reservation is None:
            return
        if used == booked:
            reservation.release()
        else:
            reservation.settle(used - booked if booked != NOTHING else used)
