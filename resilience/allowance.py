"""What a server's headers say is left of a limit, and from that when the next request may go.

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
#: When a renewed limit was used up before any response told of it, how far apart the next requests are, in seconds.
NEWS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Told:
    """What one response said of one limit: how much is left, of how much, and when it is renewed (clock seconds)."""

    remaining: int
    limit: int | None = None
    reset_at: float | None = None


class Allowance:
    """One limit, of requests or of tokens. What was sent after the response that was heard last is counted off."""

    def __init__(self) -> None:
        self._told: Told | None = None
        #: Whether what is known is that a reset has passed, and not what a response said.
        self._is_renewed = False
        self._sent = 0
        self._sent_when_told = 0
        self._last_at = float("-inf")

    @property
    def left(self) -> int | None:
        """How much may still be sent before the reset; None when nothing is known."""
        return None if self._told is None else self._told.remaining - (self._sent - self._sent_when_told)

    def left_at(self, now: float) -> int | None:
        """What an operator is shown: what is left now, not below 0 though a call may be larger than the limit."""
        self._renew(now)
        return None if self.left is None else max(0, self.left)

    def send(self, amount: int, now: float) -> int:
        """Something goes out; a mark that says when, for `tell`."""
        self._renew(now)
        self._sent += amount
        self._last_at = now
        return self._sent

    def tell(self, told: Told, mark: int) -> None:
        """The response to what was sent at `mark` says this.

        It is no news when a later request was heard of, or the limit was renewed since it was sent.
        """
        if mark > self._sent_when_told:
            self._told, self._sent_when_told = told, mark
            self._is_renewed = False

    def ready_at(self, amount: int, now: float) -> float:
        """When this amount may go, in clock seconds; `now` when it may at once."""
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
        """A reset that has passed has filled the limit again."""
        told = self._told
        if told is None or told.reset_at is None or now < told.reset_at:
            return
        self._told = None if told.limit is None else Told(told.limit, told.limit)
        self._sent_when_told = self._sent
        self._is_renewed = True
