"""Tells when the next request may go, from what a server says of its limits, or else from what it has refused.

What its headers say is left of a limit decides (RateLimitWindow):

    nothing known, or the reset has passed     at once
    more than half of the limit left           at once: a burst is what the limit is for
    less                                       evenly over the time to the reset
    nothing left                               at the reset

This suits windows that end at a fixed time as well as buckets that fill again (OpenAI's reset is the time to a full
bucket, so an even pace over what is left is the rate at which it fills).

A server that does not say teaches its pace by what it serves between two refusals (LearnedPace).
"""

from __future__ import annotations

from msgspec import Struct

#: Above this share of the limit nothing is paced.
FREE_SHARE = 0.5
#: Seconds between requests when a renewed limit was used up before any response told what is left of it.
NEWS_SECONDS = 1.0
#: A second refusal so many seconds after the first wait still belongs to it: most limits are per minute.
WINDOW_SECONDS = 60.0
#: Seconds in which a learned interval halves: before the first doubling, and at most.
FIRST_HALF_LIFE_SECONDS = 2.0
LONGEST_HALF_LIFE_SECONDS = 600.0
#: After so many halvings without a refusal the next one is a first one again.
FORGOTTEN_AFTER = 4


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
    """Spaces requests out evenly while a server refuses again and again. Times in clock seconds.

    One refusal teaches nothing: the wait that the server asks for is all that comes of it. When it refuses again after
    that wait, what it served since then is what it can take. The interval learned from that is never longer than the
    wait asked for, and halves with the time that no request is refused: first every 4 s, and half as often after each
    further refusal, so that a lasting limit is kept to and a passing one is soon forgotten.
    """

    def __init__(self) -> None:
        self._served = 0
        #: When the latest wait that the server asked for ends.
        self._since = float("-inf")
        self._interval = 0.0
        self._half_life = FIRST_HALF_LIFE_SECONDS
        self._last_at = float("-inf")

    def send(self, now: float) -> None:
        """Note that a request goes out."""
        self._last_at = now

    def accepted(self) -> None:
        """Note that the server accepted a request."""
        self._served += 1

    def refused(self, now: float, until: float | None) -> None:
        """Note that the server refused a request for coming too often, and asked to be left alone `until` then."""
        ends = now if until is None else max(until, now)
        if now < self._since:  # one of those that were under way when it refused the first
            self._since = max(self._since, ends)
            return
        if now - self._since > max(WINDOW_SECONDS, FORGOTTEN_AFTER * self._half_life):
            self._interval, self._half_life = 0.0, FIRST_HALF_LIFE_SECONDS
        elif self._served:
            self._interval = (ends - self._since) / self._served
            if ends > now:
                self._interval = min(self._interval, ends - now)
            self._half_life = min(2 * self._half_life, LONGEST_HALF_LIFE_SECONDS)
        self._since, self._served = ends, 0

    def ready_at(self, now: float) -> float:
        """Return when the next request may go; `now` when it may go at once."""
        if not self._interval:
            return now
        passed = max(0.0, now - self._since)
        return max(now, self._last_at + self._interval * float(0.5 ** (passed / self._half_life)))
