"""A request that was admitted: who pays for it, and what its key has left."""

from __future__ import annotations

from collections.abc import Callable

from mud_assistant.assistant.gateway.keys.answers import AnswerIds, AnswerOwners
from mud_assistant.assistant.gateway.keys.pace import KeyUse
from mud_assistant.assistant.gateway.keys.spending import KeySpending, LimitLeft
from mud_assistant.assistant.gateway.keys.virtual_key import VirtualKey
from mud_assistant.resilience import Account


class Admission:
    """One request in flight. Call `release` when it is over, however it ended.

    `name` is that of the key, "anyone" without keys. `accounts` pay for the calls of the request.
    """

    def __init__(
        self, key: VirtualKey, accounts: tuple[Account, ...], use: KeyUse, spending: KeySpending,
        wall: Callable[[], float], *, answers: AnswerOwners,
    ) -> None:  # fmt: skip
        self.name = key.name
        self.accounts = accounts
        self._key = key
        self._use = use
        self._spending = spending
        self._wall = wall
        self._answers = answers
        self._is_over = False
        use.in_flight += 1

    def may_use(self, model: str) -> bool:
        """Tell whether the key may use this model. Lists of models leave out the others."""
        return self._key.may_use(model)

    def knows(self, made: str) -> bool:
        """Tell whether an answer, or an item of one, was made for this key."""
        return self._answers.is_of(made, self.name)

    def answer_ids(self) -> AnswerIds:
        """Return what reads the ids in one answer, which is then this key's."""
        return AnswerIds(self._answers, self.name)

    def release(self) -> None:
        """Make room for another request of the key. Safe to repeat."""
        if not self._is_over:
            self._is_over = True
            self._use.in_flight -= 1

    def requests_left(self) -> LimitLeft:
        """Return how many requests the key may still make, by the limit that ends first: a day, a month or a second."""
        bucket = self._use.bucket
        left = bucket.left()
        pace = LimitLeft(bucket.burst, int(left), (bucket.burst - left) / bucket.rate)
        return self._spending.left(self._key, "calls") or pace

    def tokens_left(self) -> LimitLeft | None:
        """Return how many tokens the key may still use, None without a limit."""
        return self._spending.left(self._key, "tokens")

    def wall(self) -> float:
        """Return the seconds since 1970."""
        return self._wall()
