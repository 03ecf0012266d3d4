"""The HTTP side of every fake: prepared answers, played against a clock, on a port of this machine.

The port is served for as long as a block lasts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import cast

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.interfaces import IDelayedCall, IReactorTime, ITCPTransport
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web.http import Request
from twisted.web.resource import IResource
from twisted.web.server import Site


class Ending(Enum):
    """What happens after the last chunk."""

    FINISH = auto()
    ABORT = auto()
    HANG = auto()


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and chunks of a response, and how it continues. Times are clock seconds."""

    status: int
    headers: Mapping[str, str]
    chunks: tuple[bytes, ...] = ()
    ending: Ending = Ending.FINISH
    delay_seconds: float = field(default=0.0, kw_only=True)
    piece_seconds: float = field(default=0.0, kw_only=True)
    #: For a hanging end: not even the head is sent.
    mute: bool = field(default=False, kw_only=True)

    def cut(self, after: int, ending: Ending, last: bytes = b"") -> Answer:
        """Return this answer broken off after some chunks, at the latest before its last one. `last` is then added."""
        kept = self.chunks[: max(0, min(after, len(self.chunks) - 1))]
        return replace(self, chunks=(*kept, last) if last else kept, ending=ending)


class Playing:
    """A player of one answer to one request. `gone` is called when the client leaves before the end."""

    def __init__(self, clock: IReactorTime, request: Request, answer: Answer, gone: Callable[[], None]) -> None:
        self._clock = clock
        self._request = request
        self._answer = answer
        self._gone = gone
        self._left = iter(answer.chunks)
        self._timer: IDelayedCall | None = None
        request.notifyFinish().addErrback(self._lost)

    def start(self) -> None:
        """Begin, at once or after the answer's delay."""
        if not self._answer.mute:
            self._after(self._answer.delay_seconds, self._head)

    def _head(self) -> None:
        self._request.setResponseCode(self._answer.status)
        for name, value in self._answer.headers.items():
            self._request.setHeader(name, value)
        self._request.write(b"")
        self._chunks()

    def _chunks(self) -> None:
        for chunk in self._left:
            self._request.write(chunk)
            if self._answer.piece_seconds:
                self._after(self._answer.piece_seconds, self._chunks)
                return
        self._end()

    def _end(self) -> None:
        if self._answer.ending is Ending.FINISH:
            self._request.finish()
        elif self._answer.ending is Ending.ABORT:
            self._abort(turns=2)

    def _abort(self, turns: int) -> None:
        """Reset the connection, after the reactor has turned and sent what is written: a reset drops the rest."""
        transport = cast("ITCPTransport", self._request.channel.transport)
        reactor = getattr(transport, "reactor", None)
        if turns and reactor is not None:
            self._timer = reactor.callLater(0, self._abort, turns - 1)
        else:
            transport.abortConnection()

    def _after(self, seconds: float, function: Callable[[], None]) -> None:
        if seconds:
            self._timer = self._clock.callLater(seconds, function)
        else:
            function()

    def _lost(self, _reason: Failure) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._gone()


@asynccontextmanager
async def serve(resource: IResource, reactor: IReactorTime, port: int = 0) -> AsyncIterator[str]:
    """Serve `resource` on a loopback port and yield its URL, without a trailing slash. Port 0 takes a free one.

    `reactor` must be a real one. At the end of the block the port is closed and every connection reset, and nothing of
    them is left on the reactor.
    """
    site = Site(resource, reactor=reactor)
    site.noisy = False
    factory = CountedConnections(site)
    listening = await TCP4ServerEndpoint(reactor, port, interface="127.0.0.1").listen(factory)
    try:
        yield f"http://127.0.0.1:{listening.getHost().port}"
    finally:
        await listening.stopListening()
        await factory.close()


class CountedConnections(WrappingFactory):
    """A factory that serves HTTP and knows its open connections."""

    noisy = False

    def __init__(self, site: Site) -> None:
        super().__init__(site)  # type: ignore[no-untyped-call]  # WrappingFactory has no types
        self._empty: list[Deferred[None]] = []

    def unregisterProtocol(self, p: ProtocolWrapper) -> None:  # noqa: N802  (Twisted's name)
        """Forget a connection that has closed."""
        super().unregisterProtocol(p)  # type: ignore[no-untyped-call]  # the same
        if not self.protocols:
            waiting, self._empty = self._empty, []
            for waiter in waiting:
                waiter.callback(None)

    def close(self) -> Deferred[None]:
        """Reset every connection. Fires when all are gone."""
        gone: Deferred[None] = Deferred()
        if not self.protocols:
            gone.callback(None)
            return gone
        self._empty.append(gone)
        for protocol in list(self.protocols):
            protocol.abortConnection()
        return gone
