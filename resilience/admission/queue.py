"""A queue in which urgent entries go before the others, and groups take turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


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
