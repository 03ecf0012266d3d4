"""What calls to one model really cost, compared with their estimates; and who may make one while a limit is near.

    an answer cost more than estimated     later estimates are that much higher at once, and so is what is set aside for
                                           calls that are being made; those that have no room any more are stopped
    it cost less                           the correction goes down slowly, never below the estimate itself
    a limit is near, no answer yet         one call at a time
    ... and some answers                   twice as many calls at once as there were answers
    no limit is near                       as many as want to

A limit is near when CAUTION times the estimates would not fit.
"""

from __future__ import annotations

from typing import Protocol

from twisted.internet.defer import Deferred

from resilience.amounts import Amount

#: How many times its estimate a call of an unknown model may cost without going over a limit that is not near.
CAUTION = 50
#: The share of a cheaper answer in the correction.
_WEIGHT = 0.1


class Paying(Protocol):
    """A call whose estimate is set aside."""

    def review(self) -> None:
        """Set aside what the call is thought to cost by now; without room for it, it is to be stopped."""
        ...

    def stop_if_due(self) -> None:
        """Stop the attempt that is being made, when `review` found no room for it."""
        ...

    def put_back(self) -> None:
        """Give back what is set aside, for `review` to set it aside anew."""
        ...


class LearnedCost:
    """What is known of one model. `answers` is how many of them it was learned from."""

    def __init__(self) -> None:
        self.answers = 0
        #: The calls being made for accounts with a limit, the oldest first.
        self.under_way: dict[Paying, None] = {}
        self._tokens = self._money = 1.0
        self._money_per_token = 0.0
        self._waiting: list[tuple[bool, Deferred[None]]] = []
        self._is_letting_in = False

    def expected(self, estimate: Amount) -> Amount:
        """What a call with this estimate is thought to cost."""
        if self._tokens == 1.0 and self._money == 1.0 and not self._money_per_token:
            return estimate
        tokens = round(estimate.tokens * self._tokens)
        money = max(estimate.money * self._money, 0.0 if estimate.money else tokens * self._money_per_token)
        return Amount(estimate.calls, tokens, money)

    def learn(self, estimate: Amount, actual: Amount, *, is_whole: bool) -> None:
        """A call with this estimate has cost this much, as far as is known when its answer is not whole."""
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
        """Fires when a call may have ended; those who are urgent first. Cancelling leaves the queue."""
        waiter: Deferred[None] = Deferred(self._leave)
        self._waiting.append((is_urgent, waiter))
        return waiter

    def let_in(self) -> None:
        """Let those who wait look whether they may be made, as long as one may."""
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
        """Set aside anew for all that are under way, the oldest first; the last have no room when all is used up."""
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
    """The correction after one more answer: up at once, down slowly and not for an answer that broke off."""
    if seen >= ratio:
        return seen
    return ratio + _WEIGHT * (max(1.0, seen) - ratio) if is_whole else ratio
