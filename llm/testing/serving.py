"""Serves a resource on a port of this machine for as long as a block lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.interfaces import IReactorTime
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.web.resource import IResource
from twisted.web.server import Site


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
