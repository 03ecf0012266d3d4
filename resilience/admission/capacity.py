"""What one server can take from all its callers together: how many requests at once, how many retries, in which order.

The cap on the requests in flight adapts (AIMD, as a TCP window does). The retries are limited so that a sick server is
not asked ever more. In the queue of those that wait, urgent entries go before the others, and groups take turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from msgspec import Struct


class InFlightConfig(Struct, frozen=True):
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


class RetryBudgetConfig(Struct, frozen=True):
    """Each call earns `share` of a retry and each second `per_second`; up to `most` are saved for later."""

    share: float = 0.1
    per_second: float = 0.1
    most: float = 10.0


class RetryBudget:
    """The retries that are left. `now` gives clock seconds."""

    def __init__(self, now: Callable[[], float], config: RetryBudgetConfig | None = None) -> None:
        self._now = now
        self._config = config or RetryBudgetConfig()
        self._left = self._config.most
        self._at = now()
        #: How many retries were made.
        self.spent = 0

    @property
    def left(self) -> float:
        """How many retries may be made now."""
        now = self._now()
        self._earn((now - self._at) * self._config.per_second)
        self._at = now
        return self._left

    def called(self) -> None:
        """Note that a call is made: it earns its share."""
        self._earn(self._config.share)

    def spend(self) -> bool:
        """Take one retry from the budget. Return False when none is left."""
        if self.left < 1:
            return False
        self._left -= 1
        self.spent += 1
        return True

    def _earn(self, amount: float) -> None:
        self._left = min(self._config.most, self._left + amount)


class Waiting(Protocol):
    """An entry of the queue."""

    @property
    def group(self) -> str:
        """The group whose turn it takes."""
        ...

    @property
    def is_urgent(self) -> bool:
        """Whether it goes before all entries that are not urgent."""
        ...


W = TypeVar("W", bound=Waiting)


class FairQueue(Generic[W]):
    """Waiting entries. Within a group the order is that of arrival."""

    def __init__(self) -> None:
        self._urgent: dict[str, deque[W]] = {}
        self._others: dict[str, deque[W]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return how many entries wait."""
        return self._count

    def __iter__(self) -> Iterator[W]:
        """Iterate over all entries, the urgent first. The queue may be changed meanwhile."""
        return iter([one for groups in (self._urgent, self._others) for line in groups.values() for one in line])

    def add(self, one: W) -> None:
        """Add an entry at the end of its group."""
        self._groups(one).setdefault(one.group, deque()).append(one)
        self._count += 1

    def remove(self, one: W) -> None:
        """Remove an entry, wherever it stands. Raises ValueError when it does not wait."""
        groups = self._groups(one)
        line = groups.get(one.group, deque())
        line.remove(one)
        self._count -= 1
        if not line:
            groups.pop(one.group)

    def take(self, is_ready: Callable[[W], bool]) -> W | None:
        """Remove and return the next entry that is ready; its group is then last. None when no entry is ready."""
        for groups in (self._urgent, self._others):
            for group, line in groups.items():
                if is_ready(line[0]):
                    one = line.popleft()
                    self._count -= 1
                    del groups[group]
                    if line:
                        groups[group] = line
                    return one
        return None

    def last_that_can_wait(self) -> W | None:
        """Return the entry to remove for an urgent one when the queue is full: the last of the longest group."""
        line = max(self._others.values(), key=len, default=None)
        return line[-1] if line else None

    def _groups(self, one: W) -> dict[str, deque[W]]:
        return self._urgent if one.is_urgent else self._others
