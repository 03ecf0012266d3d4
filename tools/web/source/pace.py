"""The arithmetic of a pace: a token bucket, and a time before which the provider is left alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tools.web.source.answers import ErrorInfo


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` calls at once, then one each `seconds`; at most `queue` wait, none longer than `patience_seconds`.

    `unsaid_seconds` is how long a provider is left alone that says "too fast" without saying until when.
    """

    seconds: float = 1.0
    burst: int = 2
    queue: int = 20
    patience_seconds: float = 10.0
    unsaid_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Raise ValueError for a bucket that never holds a token."""
        if self.seconds < 0 or self.burst < 1 or self.queue < 0:
            raise ValueError("a rate needs a burst of at least 1, and no negative seconds or queue")


class Bucket:
    """Computes when calls may go. Times in clock seconds."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        #: When the bucket will be full again.
        self._full_at = float("-inf")
        #: The error that holds the calls, and until when.
        self.held_by: ErrorInfo | None = None
        self.held_until = float("-inf")

    def ready_at(self, ahead: int = 0) -> float:
        """Return when a call with `ahead` others before it may go."""
        full_at = self._full_at
        at = self._start(full_at)
        for _ in range(ahead):
            full_at = max(full_at, at) + self._rate.seconds
            at = self._start(full_at)
        return at

    def take(self, now: float) -> None:
        """Take a token for a call that goes now."""
        self._full_at = max(self._full_at, now) + self._rate.seconds

    def hold(self, error: ErrorInfo, guess: float | None = None) -> None:
        """Hold all calls until the error's `retry_at`, else until our `guess`.

        An earlier time than the known one changes nothing.
        """
        until = guess if error.retry_at is None else error.retry_at
        if until is not None and until > self.held_until:
            self.held_by, self.held_until = error, until

    def release(self) -> None:
        """Let calls go as soon as there are tokens, whatever the provider asked for."""
        self.held_by, self.held_until = None, float("-inf")

    def _start(self, full_at: float) -> float:
        return max(full_at - self._rate.seconds * (self._rate.burst - 1), self.held_until)
