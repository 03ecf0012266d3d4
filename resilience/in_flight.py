"""How many requests may be on their way to one server: a cap that finds its height (AIMD, as a TCP window does)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InFlightConfig:
    """The cap begins at `first`, and stays between `least` and `most` requests."""

    most: int = 32
    first: int = 8
    least: int = 1


class InFlight:
    """Counts requests on their way.

    Until the first throttling the cap grows by one with each success, afterwards by one with a whole round of them.
    Throttling halves it, once for all that were on their way together.
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
        """A request goes out; its number, to be given back at its end."""
        self.used += 1
        self._begun += 1
        return self._begun

    def leave(self) -> None:
        """A request is over; nothing is learned from it."""
        self.used -= 1

    def succeeded(self) -> None:
        """A request was answered well: grow, when the cap was in use at all."""
        if 2 * self.used >= self.limit:
            step = 1.0 if not self._cut_at else 1.0 / self._limit
            self._limit = min(float(self._config.most), self._limit + step)

    def throttled(self, number: int) -> None:
        """A request was told to slow down: halve, unless it was on its way when that was done already."""
        if number > self._cut_at:
            self._cut_at = self._begun
            self._limit = max(float(self._config.least), self._limit / 2)
