"""A reactor whose time a test moves, for gateways that wait long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock, LoopingCall

from tests.assistant.gateway.http.reached import turns
from tests.assistant.gateway.standing import reactor

_TURN_SECONDS = 0.003


class SkippingReactor:
    """The reactor, with a time of its own: it goes on as usual, and the test may skip parts of it."""

    def __init__(self) -> None:
        self._clock = Clock()
        self._seen = reactor.seconds()

    def __getattr__(self, name: str) -> Any:
        return getattr(reactor, name)

    def seconds(self) -> float:
        return self._clock.seconds()

    def callLater(self, delay: float, call: Any, *args: Any, **named: Any) -> IDelayedCall:  # noqa: N802  (Twisted's)
        return self._clock.callLater(delay, call, *args, **named)

    def go_on(self) -> None:
        """Let as much time pass as has passed outside."""
        now = reactor.seconds()
        elapsed, self._seen = now - self._seen, now
        self._clock.advance(elapsed)

    async def skip(self, seconds: int) -> None:
        """Let whole seconds pass at once, and the network settle after each."""
        for _ in range(seconds):
            self._clock.advance(1)
            await turns(reactor, 2)


@asynccontextmanager
async def skipping() -> AsyncIterator[SkippingReactor]:
    """Give a reactor whose time goes on for as long as the block lasts."""
    made = SkippingReactor()
    loop = LoopingCall(made.go_on)
    loop.start(_TURN_SECONDS)
    try:
        yield made
    finally:
        loop.stop()
