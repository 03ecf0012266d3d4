"""How long the reactor is held up: CPU of its thread between two firings of a 5 ms timer.

That is more than the longest callback, never less: all that ran between two firings counts together. Other programs
of the machine do not show in it.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from benchmarks.figures import percentile

EVERY_SECONDS = 0.005


class Blocks:
    """A meter, for as long as its block lasts."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._last = 0.0
        self._timer: Any = None
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        """Begin."""
        self._last = time.thread_time()
        self._timer = self._reactor.callLater(EVERY_SECONDS, self._fired)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._timer.cancel()

    @property
    def longest(self) -> float:
        """CPU milliseconds of the longest block."""
        return 1000 * max(self.seconds, default=0.0)

    def at(self, share: float) -> float:
        """CPU milliseconds that this share of the blocks did not exceed."""
        return 1000 * percentile(self.seconds, share)

    def _fired(self) -> None:
        now = time.thread_time()
        self.seconds.append(now - self._last)
        self._last = now
        self._timer = self._reactor.callLater(EVERY_SECONDS, self._fired)
