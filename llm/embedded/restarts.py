"""Limits the restarts of a child that died: at most 3 in 10 minutes, each after a longer wait."""

from __future__ import annotations

from collections import deque

from twisted.internet.interfaces import IReactorTime

WINDOW_SECONDS = 600.0
#: Seconds to wait before the first, second and third restart within the window.
DELAYS_SECONDS = (1.0, 4.0, 16.0)


class Restarts:
    """A counter of the restarts within the window."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._at: deque[float] = deque()

    def next_delay(self) -> float | None:
        """Return the seconds to wait before the next restart, or None when no restart is left.

        The restart is counted at once.
        """
        now = self._clock.seconds()
        while self._at and now - self._at[0] >= WINDOW_SECONDS:
            self._at.popleft()
        if len(self._at) >= len(DELAYS_SECONDS):
            return None
        delay = DELAYS_SECONDS[len(self._at)]
        self._at.append(now)
        return delay
