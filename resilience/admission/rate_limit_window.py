"""Tells when the next request may go, from what a server's headers say is left of a limit.

    nothing known, or the reset has passed     at once
    more than half of the limit left           at once: a burst is what the limit is for
    less                                       evenly over the time to the reset
    nothing left                               at the reset

This suits windows that end at a fixed time as well as buckets that fill again (OpenAI's reset is the time to a full
bucket, so an even pace over what is left is the rate at which it fills).
"""

from __future__ import annotations

from dataclasses import dataclass

#: Above this share of the limit nothing is paced.
FREE_SHARE = 0.5
#: Seconds between requests when a renewed limit was used up before any response told what is left of it.
NEWS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RateLimitSnapshot:
    """What one response said of one limit: how much is left, of how much, and when it is renewed (clock seconds)."""

    remaining: int
    limit: int | None = None
    reset_at: float | None = None


class RateLimitWindow:
    """One limit, of requests or of tokens. Whatever was sent after the latest known response is subtracted."""

    def __init__(self) -> None:
        self._told: RateLimitSnapshot | None = None
        #: Whether the present state comes from a reset that has passed, and not from a response.
        self._is_renewed = False
        self._sent = 0
        self._sent_when_told = 0
        self._last_at = float("-inf")

    @property
    def left(self) -> int | None:
        """How much may still be sent before the reset; None when nothing is known."""
        return None if self._told is None else self._told.remaining - (self._sent - self._sent_when_told)

    def left_at(self, now: float) -> int | None:
        """Return what is left now, for an operator. Never below 0, though a call may be larger than the limit."""
        self._renew(now)
        return None if self.left is None else max(0, self.left)

    def send(self, amount: int, now: float) -> int:
        """Count an amount that is sent now. Return a mark to pass to `tell` with the response."""
        self._renew(now)
        self._sent += amount
        self._last_at = now
        return self._sent

    def tell(self, told: RateLimitSnapshot, mark: int) -> None:
        """Note what the response to the request with this `mark` said.

        Ignored when the response to a later request came first, or the limit was renewed after the request was sent.
        """
        if mark > self._sent_when_told:
            self._told, self._sent_when_told = told, mark
            self._is_renewed = False

    def ready_at(self, amount: int, now: float) -> float:
        """Return when this amount may go, in clock seconds; `now` when it may go at once."""
        self._renew(now)
        told, left = self._told, self.left
        if told is None or left is None or amount < 1:
            return now
        if told.reset_at is None:
            return now if left >= amount or not self._is_renewed else max(now, self._last_at + NEWS_SECONDS)
        if left < amount:
            is_full = told.limit is not None and left >= told.limit
            return now if is_full else told.reset_at
        if told.limit is not None and left - amount >= told.limit * FREE_SHARE:
            return now
        return max(now, self._last_at + amount * (told.reset_at - now) / left)

    def _renew(self, now: float) -> None:
        """Treat the limit as full again once its reset has passed."""
        told = self._told
        if told is None or told.reset_at is None or now < told.reset_at:
            return
        self._told = None if told.limit is None else RateLimitSnapshot(told.limit, told.limit)
        self._sent_when_told = self._sent
        self._is_renewed = True
