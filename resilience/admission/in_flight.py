"""Limits the requests in flight to one server, with a cap that adapts (AIMD, as a TCP window does)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InFlightConfig:
    """The cap begins at `first`, and stays between `least` and `most` requests."""

    most: int = 32
    first: int = 8
    least: int = 1


class InFlight:
    """Counts requests in flight.

    Until the first throttling the cap grows by one with each success, afterwards by one with a whole round of them.
    Throttling halves it, once for all requests that were in flight together.
    """

    def __init__(self, config: InFlightConfig | None = None) -> None:
        self._config = config or InFlightConfig()
        self._limit = float(min(self._config.first, self._config.most))
        self._begun = 0
        self._cut_at = 0
        self.used = 0

    @property
    def limit(self) -> int:
        """The cap now, in requests."""
        return int(self._limit)

    @property
    def is_full(self) -> bool:
        """Whether another request would be over the cap."""
        return self.used >= self.limit

    def enter(self) -> int:
        """Count a request that goes out. Return its number, which `throttled` takes."""
        self.used += 1
        self._begun += 1
        return self._begun

    def leave(self) -> None:
        """Count a request as over, without learning from it."""
        self.used -= 1

    def succeeded(self) -> None:
        """Note a good answer: raise the cap if at least half of it was in use."""
        if 2 * self.used >= self.limit:
            step = 1.0 if not self._cut_at else 1.0 / self._limit
            self._limit = min(float(self._config.most), self._limit + step)

    def throttled(self, number: int) -> None:
        """Halve the cap because a request was told to slow down, unless it was in flight at the last halving too."""
        if number > self._cut_at:
            self._cut_at = self._begun
            self._limit = max(float(self._config.least), self._limit / 2)
