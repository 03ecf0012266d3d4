"""Who is next: the urgent before the others, and within each the groups in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


class Waiting(Protocol):
    """One who waits."""

    @property
    def group(self) -> str:
        """Whose turn it takes."""
        ...

    @property
    def is_urgent(self) -> bool:
        """Whether it goes before all that are not."""
        ...


W = TypeVar("W", bound=Waiting)


class FairQueue(Generic[W]):
    """Those who wait. Within a group the order is that of arrival."""

    def __init__(self) -> None:
        self._urgent: dict[str, deque[W]] = {}
        self._others: dict[str, deque[W]] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many wait."""
        return self._count

    def __iter__(self) -> Iterator[W]:
        """All who wait, the urgent first; safe to change while it is walked."""
        return iter([one for groups in (self._urgent, self._others) for line in groups.values() for one in line])

    def add(self, one: W) -> None:
        """Let one wait behind its group."""
        self._groups(one).setdefault(one.group, deque()).append(one)
        self._count += 1

    def remove(self, one: W) -> None:
        """Take one out, wherever it stands. Raises ValueError when it does not wait."""
        groups = self._groups(one)
        line = groups.get(one.group, deque())
        line.remove(one)
        self._count -= 1
        if not line:
            groups.pop(one.group)

    def take(self, is_ready: Callable[[W], bool]) -> W | None:
        """The next one that is ready, no longer waiting; its group is now last. None when nobody is."""
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
        """The one to send away for an urgent one when there is no room: the last of the longest group."""
        line = max(self._others.values(), key=len, default=None)
        return line[-1] if line else None

    def _groups(self, one: W) -> dict[str, deque[W]]:
        return self._urgent if one.is_urgent else self._others
