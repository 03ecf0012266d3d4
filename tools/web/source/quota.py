"""Limits how much one assistant may search and read in an hour, because players trigger the cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from tools.web.errors import ErrorKind, WebError
from tools.web.source.protocol import WebSource

HOUR_SECONDS = 3600.0
Q = TypeVar("Q")
A = TypeVar("A")


class HourlyQuota:
    """Allows `most` uses in any `seconds` on end. `now` gives seconds; `what` and `whose` are for the refusal.

    The window slides: with the hours of a clock, a caller could get two hours' worth round the full hour.
    """

    def __init__(
        self, most: int, now: Callable[[], float], what: str, *, whose: str = "", seconds: float = HOUR_SECONDS
    ) -> None:
        self._most = most
        self._now = now
        self._what = what
        self._whose = whose
        self._seconds = seconds
        self._used: deque[float] = deque()

    @property
    def left(self) -> int:
        """The number of uses left now."""
        self._forget()
        return max(0, self._most - len(self._used))

    def refusal(self) -> WebError | None:
        """Return why it may not be used now; None when it may."""
        if self.left:
            return None
        whose = f" of {self._whose}" if self._whose else ""
        said = f"all {self._most} {self._what}{whose} within {self._seconds / 60:.0f} minutes are used up"
        at = self._used[0] + self._seconds if self._used else None
        return WebError(ErrorKind.QUOTA, said, provider="quota", retry_at=at, told=said)

    def take(self) -> float:
        """Count one use and return its time."""
        now = self._now()
        self._used.append(now)
        return now

    def give_back(self, taken: float) -> None:
        """Undo the use of this time: it caused no cost."""
        if taken in self._used:
            self._used.remove(taken)

    def _forget(self) -> None:
        now = self._now()
        while self._used and self._used[0] + self._seconds <= now:
            self._used.popleft()


class Allotted(Generic[Q, A]):
    """A source that may be used as often as every quota allows."""

    def __init__(self, source: WebSource[Q, A], *quotas: HourlyQuota) -> None:
        self.name = source.name
        self._source = source
        self._quotas = quotas

    async def ask(self, query: Q) -> A:
        """Return the answer and charge every quota. A refused address costs nothing: no request was sent.

        Raises WebError, of kind QUOTA when too much was asked. May be cancelled.
        """
        refusals = [refusal for quota in self._quotas if (refusal := quota.refusal())]
        if refusals:
            raise max(refusals, key=lambda refusal: refusal.retry_at or float("inf"))
        taken = [(quota, quota.take()) for quota in self._quotas]
        try:
            return await self._source.ask(query)
        except WebError as error:
            if error.kind is ErrorKind.POLICY:
                for quota, at in taken:
                    quota.give_back(at)
            raise
