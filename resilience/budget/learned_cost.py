"""Compares what calls to one model really cost with their estimates, and limits the calls while a limit is near.

    an answer cost more than estimated     later estimates are that much higher at once, and so is what is reserved for
                                           calls under way; those that have no room any more are stopped
    it cost less                           the correction goes down slowly, never below the estimate itself
    a limit is near, no answer yet         one call at a time
    ... and some answers                   twice as many calls at once as there were answers
    no limit is near                       any number of calls

A limit is near when CAUTION times the estimates would not fit.
"""

from __future__ import annotations

from typing import Protocol

from twisted.internet.defer import Deferred

from resilience.amounts import Amount

#: How many times its estimate a call of an unknown model may cost without exceeding a limit that is not near.
CAUTION = 50
#: The weight of a cheaper answer in the correction.
_WEIGHT = 0.1


class Paying(Protocol):
    """A call whose estimate is reserved."""

    def review(self) -> None:
        """Reserve what the call is now expected to cost. Without room for it, mark the call to be stopped."""
        ...

    def stop_if_due(self) -> None:
        """Stop the attempt under way, when `review` found no room for it."""
        ...

    def put_back(self) -> None:
        """Give back the reservation, so that `review` can make it anew."""
        ...


class LearnedCost:
    """The known cost of one model. `answers` is how many answers it was learned from."""

    def __init__(self) -> None:
        self.answers = 0
        #: The calls being made for accounts with a limit, the oldest first.
        self.under_way: dict[Paying, None] = {}
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
