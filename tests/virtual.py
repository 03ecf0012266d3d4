"""Real sockets on time that a test moves: what takes 45 s in the world takes none here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import Clock, deferLater
from zope.interface import alsoProvides, implementer, providedBy

real: Any = _reactor


@implementer(IReactorTime)
class VirtualReactor:
    """The real reactor but for time, which is that of `clock`.

    Threads work in real time. So time stands still in `until` while they work: each of `threads` is awaited after each
    turn, and returns when its thread has done what was asked of it before.
    """

    def __init__(self) -> None:
        self.clock = Clock()
        self.threads: list[Callable[[], Awaitable[object]]] = []
        alsoProvides(self, *providedBy(real))

    def __getattr__(self, name: str) -> Any:
        return getattr(real, name)

    def seconds(self) -> float:
        return float(self.clock.seconds())

    def callLater(  # noqa: N802  (Twisted's name)
        self,
        delay: float,
        callable: Callable[..., Any],  # noqa: A002  (the interface's name)
        *args: object,
        **kwargs: object,
    ) -> IDelayedCall:
        return self.clock.callLater(delay, callable, *args, **kwargs)

    def getDelayedCalls(self) -> list[IDelayedCall]:
        return list(self.clock.getDelayedCalls())

    async def until(self, is_so: Callable[[], bool], step: float = 0.001) -> None:
        """Let the sockets work until it is so, with `step` virtual seconds a turn."""
        while not is_so():
            self.clock.advance(step)
            await turn()
            for done in self.threads:
                await done()

    async def advance(self, seconds: float, step: float = 0.5) -> None:
        """Move time on, and let the sockets work after each step."""
        end = self.clock.seconds() + seconds
        while self.clock.seconds() < end:
            self.clock.advance(min(step, end - self.clock.seconds()))
            for _ in range(3):
                await turn()
            for done in self.threads:
                await done()


class ForwardReactor:
    """The real reactor on a clock that can be put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(real, name)

    def seconds(self) -> float:
        return float(real.seconds()) + self.ahead


def turn() -> Deferred[None]:
    """A turn of the real reactor."""
    return deferLater(real, 0.001, lambda: None)
