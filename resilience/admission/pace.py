"""Tells when the next request may go, from what a server says of its limits, or else from what it has refused.

What its headers say is left of a limit decides (RateLimitWindow):

    nothing known, or the reset has passed     at once
    more than half of the limit left           at once: a burst is what the limit is for
    less                                       evenly over the time to the reset
    nothing left                               at the reset

This suits windows that end at a fixed time as well as buckets that fill again (OpenAI's reset is the time to a full
bucket, so an even pace over what is left is the rate at which it fills).

A server that does not say teaches its pace by how many requests it took before it refused one (LearnedPace).
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct

#: Above this share of the limit nothing is paced.
FREE_SHARE = 0.5
#: Seconds between requests when a renewed limit was used up before any response told what is left of it.
NEWS_SECONDS = 1.0
#: The time over which accepted requests are counted, in seconds: most limits are per minute.
WINDOW_SECONDS = 60.0
#: Fewer accepted requests than this teach nothing: others used up the limit, or the server is just busy.
LEAST_ACCEPTED = 10
#: How long a pace is remembered, in seconds.
MEMORY_SECONDS = 600.0
#: The factor by which each success shortens the interval, to find out when more is allowed.
_QUICKER = 0.998


class RateLimitSnapshot(Struct, frozen=True):
    """What one response said of one limit: how much is left, of how much, and when it is renewed (clock seconds)."""

    remaining: int
    limit: int | None = None
    reset_at: float | None = None


class RateLimitWindow:
    """One limit, of requests or of tokens. Whatever was sent after the latest known response is subtracted."""

    def __init__(self) -> None:
        self._latest: RateLimitSnapshot | None = None
        #: Whether the present state comes from a reset that has passed, and not from a response.
        self._is_renewed = False
        self._sent = 0
        self._sent_by_latest = 0
        self._last_at = float("-inf")

    @property
    def left(self) -> int | None:
        """How much may still be sent before the reset; None when nothing is known."""
        return None if self._latest is None else self._latest.remaining - (self._sent - self._sent_by_latest)

    def left_at(self, now: float) -> int | None:
        """Return what is left now, for an operator. Never below 0, though a call may be larger than the limit."""
        self._renew(now)
        return None if self.left is None else max(0, self.left)

    def send(self, amount: int, now: float) -> int:
        """Count an amount that is sent now. Return a mark to pass to `apply` with the response."""
        self._renew(now)
        self._sent += amount
        self._last_at = now
        return self._sent

    def apply(self, snapshot: RateLimitSnapshot, mark: int) -> None:
        """Note what the response to the request with this `mark` said.

        Ignored when the response to a later request came first, or the limit was renewed after the request was sent.
        """
        if mark > self._sent_by_latest:
            self._latest, self._sent_by_latest = snapshot, mark
            self._is_renewed = False

    def ready_at(self, amount: int, now: float) -> float:
        """Return when this amount may go, in clock seconds; `now` when it may go at once."""
        self._renew(now)
        latest = self._latest
        if latest is None or amount < 1:
            return now
        left = latest.remaining - (self._sent - self._sent_by_latest)
        if latest.reset_at is None:
            return now if left >= amount or not self._is_renewed else max(now, self._last_at + NEWS_SECONDS)
        if left < amount:
            is_full = latest.limit is not None and left >= latest.limit
            return now if is_full else latest.reset_at
        if latest.limit is not None and left - amount >= latest.limit * FREE_SHARE:
            return now
        return max(now, self._last_at + amount * (latest.reset_at - now) / left)

    def _renew(self, now: float) -> None:
        """Treat the limit as full again once its reset has passed."""
        latest = self._latest
        if latest is None or latest.reset_at is None or now < latest.reset_at:
            return
        self._latest = None if latest.limit is None else RateLimitSnapshot(latest.limit, latest.limit)
        self._sent_by_latest = self._sent
        self._is_renewed = True


class LearnedPace:
    """Spaces requests out evenly once one was refused. Times in clock seconds."""

    def __init__(self) -> None:
        self._accepted: deque[float] = deque(maxlen=10_000)
        self._interval = 0.0
        self._learned_at = float("-inf")
        self._last_at = float("-inf")

    def send(self, now: float) -> None:
        """Note that a request goes out."""
        self._last_at = now

    def accepted(self, now: float) -> None:
        """Note that the server accepted a request."""
        self._accepted.append(now)
        self._interval *= _QUICKER

    def refused(self, now: float) -> None:
        """Note that the server refused a request for coming too often, and learn the interval from it."""
        while self._accepted and self._accepted[0] < now - WINDOW_SECONDS:
            self._accepted.popleft()
        if len(self._accepted) >= LEAST_ACCEPTED:
            self._interval = WINDOW_SECONDS / len(self._accepted)
            self._learned_at = now

    def ready_at(self, now: float) -> float:
        """Return when the next request may go; `now` when it may go at once."""
        if now - self._learned_at > MEMORY_SECONDS:
            return now
        return max(now, self._last_at + self._interval)
