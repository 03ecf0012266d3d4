"""Measures how late the reactor is: a timer that should run every second, and by how much it came too late."""

from __future__ import annotations

from collections import deque

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

#: How often it is measured, in seconds, and how many measurements count.
EVERY, KEPT = 1.0, 60


class ReactorLag:
    """The worst delay of the last minute. Costs one timer a second between `start` and `stop`."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._delays: deque[float] = deque(maxlen=KEPT)
        self._expected = 0.0
        self._loop = LoopingCall(self._measure)
        self._loop.clock = clock

    def start(self) -> None:
        """Begin to measure."""
        self._expected = self._clock.seconds() + EVERY
        self._loop.start(EVERY, now=False)

    def stop(self) -> None:
        """Measure no more. No effect when it does not measure."""
        if self._loop.running:
            self._loop.stop()

    def worst(self) -> float | None:
        """Return the worst delay in seconds, None before the first measurement."""
        return max(self._delays, default=None)

    def _measure(self) -> None:
        now = self._clock.seconds()
        self._delays.append(max(0.0, now - self._expected))
        self._expected = now + EVERY
