"""A `Clock` for thousands of timers: Twisted's sorts all of them for each one that is added or called."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from twisted.internet.base import DelayedCall
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock


class HeapClock(Clock):
    """Time that a test moves. Calls of the same moment are made in the order in which they were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[tuple[float, int, DelayedCall]] = []
        self._number = count()

    def callLater(  # noqa: N802  (Twisted's name)
        self,
        delay: float,
        callable: Callable[..., object],  # noqa: A002  (the interface's name)
        *args: object,
        **kw: object,
    ) -> IDelayedCall:
        """Call something so many seconds from now."""
        call = DelayedCall(self.seconds() + delay, callable, args, kw, lambda _: None, self._push, seconds=self.seconds)
        self._push(call)
        return call

    def pending(self) -> int:
        """Return how many calls are to come."""
        return sum(self._is_due(at, call) for at, _, call in self._heap)

    def advance(self, amount: float) -> None:
        """Move time on by so many seconds, and make the calls that are due."""
        self.rightNow += amount
        while self._heap and self._heap[0][0] <= self.rightNow:
            at, _, call = heappop(self._heap)
            if not self._is_due(at, call):
                continue
            if call.delayed_time:
                call.activate_delay()
                self._push(call)
                continue
            call.called = 1
            call.func(*call.args, **call.kw)

    def _push(self, call: DelayedCall) -> None:
        heappush(self._heap, (call.time, next(self._number), call))

    @staticmethod
    def _is_due(at: float, call: DelayedCall) -> bool:
        """Tell whether an entry of the heap stands for a call that is still to come, and at this time."""
        return bool(call.active()) and at == call.time
