"""The outcomes of the last calls: a window over a number of calls or a time, with its shares of failed and slow."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutcomeWindow:
    """The size of a window: the last `calls` outcomes when `seconds` is None, else those of the last `seconds`."""

    calls: int = 100
    seconds: float | None = None


class Outcomes:
    """The outcomes in one window. Times must not go backwards."""

    def __init__(self, window: OutcomeWindow) -> None:
        self._window = window
        self._kept: deque[tuple[float, bool, bool]] = deque()
        self._failed = 0
        self._slow = 0

    def add(self, at: float, *, failed: bool, slow: bool) -> None:
        """Note one outcome."""
        self._kept.append((at, failed, slow))
        self._failed += failed
        self._slow += slow
        self._forget(at)

    def shares(self, now: float) -> tuple[int, float, float]:
        """Return how many outcomes are in the window, and the shares of them that failed and that were slow."""
        self._forget(now)
        count = len(self._kept)
        return (count, self._failed / count, self._slow / count) if count else (0, 0.0, 0.0)

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._failed = self._slow = 0

    def _forget(self, now: float) -> None:
        """Drop the outcomes that have left the window."""
        seconds = self._window.seconds
        while self._kept and (
            len(self._kept) > self._window.calls if seconds is None else self._kept[0][0] <= now - seconds
        ):
            _, failed, slow = self._kept.popleft()
            self._failed -= failed
            self._slow -= slow
