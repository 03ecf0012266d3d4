"""What one call takes from its accounts: the estimate before an attempt, the real use after it.

Estimates are compared with what calls to the same model really cost, and the calls are limited while a limit is near:

    an answer cost more than estimated     later estimates are that much higher at once, and so is what is reserved for
                                           calls under way; those that have no room any more are stopped
    it cost less                           the correction goes down slowly, never below the estimate itself
    a limit is near, no answer yet         one call at a time
    ... and some answers                   twice as many calls at once as there were answers
    no limit is near                       any number of calls

A limit is near when CAUTION times the estimates would not fit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.resilience.amounts import NOTHING, Account, Amount
from mud_assistant.resilience.budget.ledger import Ledger, Reservation
from mud_assistant.resilience.budget.writer import SpendingWriter
from mud_assistant.resilience.errors import BudgetSpent

T = TypeVar("T")
#: How many times its estimate a call of an unknown model may cost without exceeding a limit that is not near.
CAUTION = 50
#: The weight of a cheaper answer in the correction.
_WEIGHT = 0.1


class CallReservation:
    """Pays for the attempts of one call, which are made one at a time.

    When a limit applies to the call, what an attempt may cost is written down before it is made: after a kill it counts
    as spent. What it may cost is its estimate, corrected by `learned`. While a limit is near, few calls of a model that
    is not known well are made at once, and one is stopped when a dearer answer shows that nothing is left.
    """

    def __init__(
        self,
        ledger: Ledger,
        writer: SpendingWriter | None,
        learned: LearnedCost,
        accounts: tuple[Account, ...],
        estimate: Amount,
        *,
        is_urgent: bool,
    ) -> None:
        self._ledger = ledger
        self._writer = writer
        self._accounts = accounts
        self._is_urgent = is_urgent
        self._estimate = estimate
        self._learned = learned
        self._reservation: Reservation | None = None
        #: What the attempts before the present one used.
        self._booked = NOTHING
        self._stopped: BudgetSpent | None = None
        self._running: Deferred[Any] | None = None
        #: Whether any limit applies to the call. The checks for a limit cost time, and most calls need none of them.
        self.is_limited = any(account.allowance.is_limited for account in self._accounts)

    def ready(self, used: Amount) -> Awaitable[None] | None:
        """Reserve the estimate of the next attempt; `used` is what all attempts before it used.

        Returns None when that is done at once. Otherwise await what it returns, which raises BudgetSpent when there is
        no room, BudgetUnkept when it could not be written down. When cancelled, the reservation stays until `end`.
        """
        if self._reservation is not None and used == self._booked:
            return None  # the last attempt was free, so its reservation is still there
        self._book(used)
        if self.is_limited:
            return self._ready_in_turn()
        self._reservation = self._ledger.reserve(self._accounts, self._estimate)
        if self._writer is not None:
            self._writer.note(self._reservation, self._accounts)
        return None

    async def _ready_in_turn(self) -> None:
        """Reserve, when it is this call's turn, what an attempt is expected to cost, and have it written down."""
        await self._turn()
        try:
            self._reservation = self._ledger.reserve(self._accounts, self._learned.expected(self._estimate))
        finally:
            if self._reservation is not None:
                self._learned.under_way[self] = None
            self._learned.let_in()
        if self._writer is not None:
            await self._writer.admit(self._reservation, self._accounts)
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
        actual = used if booked is NOTHING else used - booked
        if used == booked:
            reservation.release()
        else:
            reservation.settle(actual)
        if self.is_limited:
            self._learned.under_way.pop(self, None)
            if used != booked:
                self._learned.learn(self._estimate, actual, is_whole=is_whole)
            self._learned.let_in()


class LearnedCost:
    """The known cost of one model. `answers` is how many answers it was learned from."""

    def __init__(self) -> None:
        self.answers = 0
        #: The calls being made for accounts with a limit, the oldest first.
        self.under_way: dict[CallReservation, None] = {}
        self._tokens = self._money = 1.0
        self._money_per_token = 0.0
        self._waiting: list[tuple[bool, Deferred[None]]] = []
        self._is_letting_in = False

    def expected(self, estimate: Amount) -> Amount:
        """Return what a call with this estimate is expected to cost."""
        if self._tokens == 1.0 and self._money == 1.0 and not self._money_per_token:
            return estimate
        tokens = round(estimate.tokens * self._tokens)
        money = max(estimate.money * self._money, 0.0 if estimate.money else tokens * self._money_per_token)
        return Amount(estimate.calls, tokens, money)

    def learn(self, estimate: Amount, actual: Amount, *, is_whole: bool) -> None:
        """Learn from a call with this estimate what it cost, as far as known when its answer is not whole."""
        is_dearer = self._is_dearer(estimate, actual)
        self._tokens = _moved(self._tokens, actual.tokens / max(1, estimate.tokens), is_whole=is_whole)
        if estimate.money:
            self._money = _moved(self._money, actual.money / estimate.money, is_whole=is_whole)
        elif actual.tokens:
            self._money_per_token = max(self._money_per_token, actual.money / actual.tokens)
        self.answers += is_whole
        if is_dearer:
            self._review()

    @property
    def has_room(self) -> bool:
        """Whether one more call may be made though a limit is near."""
        return len(self.under_way) < max(1, 2 * self.answers)

    def turn(self, *, is_urgent: bool) -> Deferred[None]:
        """Wait until there may be room for a call; urgent callers go first. Cancelling leaves the queue."""
        waiter: Deferred[None] = Deferred(self._leave)
        self._waiting.append((is_urgent, waiter))
        return waiter

    def let_in(self) -> None:
        """Wake waiting callers, as long as one more call may be made; each checks for itself whether it may go."""
        if self._is_letting_in:
            return
        self._is_letting_in = True
        try:
            while self._waiting and self.has_room:
                entry = next((entry for entry in self._waiting if entry[0]), self._waiting[0])
                self._waiting.remove(entry)
                entry[1].callback(None)
        finally:
            self._is_letting_in = False

    def _is_dearer(self, estimate: Amount, actual: Amount) -> bool:
        expected = self.expected(estimate)
        return actual.tokens > expected.tokens or actual.money > expected.money

    def _review(self) -> None:
        """Reserve anew for all calls under way, the oldest first. When all is used up the last have no room."""
        under_way = tuple(self.under_way)
        for paying in under_way:
            paying.put_back()
        for paying in under_way:
            paying.review()
        for paying in under_way:
            paying.stop_if_due()

    def _leave(self, waiter: Deferred[None]) -> None:
        self._waiting = [entry for entry in self._waiting if entry[1] is not waiter]
        self.let_in()


def _moved(ratio: float, seen: float, *, is_whole: bool) -> float:
    """Return the correction after one more answer: up at once, down slowly and not for an answer that broke off."""
    if seen >= ratio:
        return seen
    return ratio + _WEIGHT * (max(1.0, seen) - ratio) if is_whole else ratio
