"""Learns the pace a server allows when it does not say: from how many requests it took before it refused one."""

from __future__ import annotations

from collections import deque

#: The time over which accepted requests are counted, in seconds: most limits are per minute.
WINDOW_SECONDS = 60.0
#: Fewer accepted requests than this teach nothing: others used up the limit, or the server is just busy.
LEAST_ACCEPTED = 10
#: How long a pace is remembered, in seconds.
MEMORY_SECONDS = 600.0
#: The factor by which each success shortens the interval, to find out when more is allowed.
_QUICKER = 0.998


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
