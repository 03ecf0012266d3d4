"""The one listener of every test server: a port of this machine, whose requests go to a fake, each with its fault."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any, TypeVar

from twisted.internet.endpoints import SSL4ServerEndpoint, TCP4ServerEndpoint
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.policies import WrappingFactory

from mud_assistant.resilience.testing.client_connection import ClientConnection
from mud_assistant.resilience.testing.fake import Fake
from mud_assistant.resilience.testing.faults import PASS, Plan, Record, always
from mud_assistant.resilience.testing.server_connection import ConnectionCounter

#: How many clients may connect within one turn of the reactor; further ones try again after a second.
_BACKLOG = 1024
_ALWAYS = always(PASS)


def silent(_record: Record) -> None:
    """Do nothing: the default `on_request`."""


class FaultServer:
    """Serves HTTP/1.1 by a fake, each request with the fault that `plan` has for it.

    `requests` are the records of all requests; `url`, empty before `listen`, ends with the `path` that is given here.
    `on_request` is called when a request begins and when its record gets an error. `reactor` must be a real one; it
    gives the time, unless the fake has a clock, and `random` all that is random. `host` and `port` are those of the
    real server of a proxy.
    """

    host = ""
    port = 0

    def __init__(
        self,
        reactor: IReactorTime,
        fake: Fake[Any] | None = None,
        plan: Plan = _ALWAYS,
        random: Random | None = None,
        *,
        path: str = "",
        on_request: Callable[[Record], None] = silent,
    ) -> None:
        self.reactor = reactor
        self.fake = fake
        self.random = random or Random(0)  # noqa: S311  (no secret)
        self.requests: list[Record] = []
        self.url = ""
        self.clients = ConnectionCounter()
        self.servers = ConnectionCounter()
        if fake is not None:
            fake.clients = self.clients
        self._path = path
        self._on_request = on_request
        self._plan = plan
        self._plan_begins = 0
        self._listening: Any = None

    @property
    def plan(self) -> Plan:
        """The plan for the requests from now on. A new plan counts them from 0."""
        return self._plan

    @plan.setter
    def plan(self, plan: Plan) -> None:
        self._plan = plan
        self._plan_begins = len(self.requests)

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self.clients)

    async def listen(self, port: int = 0, interface: str = "127.0.0.1", tls: Any = None) -> None:
        """Open a port; 0 takes a free one. `tls` is a server's context factory, for https. Raises CannotListenError."""
        factory: Any = Factory.forProtocol(self.connection)
        factory.noisy = False
        if tls is None:
            endpoint: Any = TCP4ServerEndpoint(self.reactor, port, backlog=_BACKLOG, interface=interface)
        else:
            endpoint = SSL4ServerEndpoint(self.reactor, port, tls, interface=interface)
            # Wrapped, because Twisted 24.11's own negotiation of HTTP/2 fails with today's pyOpenSSL.
            factory = WrappingFactory(factory)
        self._listening = await endpoint.listen(factory)
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://{interface}:{self._listening.getHost().port}{self._path}"

    async def close(self) -> None:
        """Close the port and reset every connection. Nothing of them is left on the reactor."""
        await self._listening.stopListening()
        await self.clients.close()
        await self.servers.close()

    def connection(self) -> Protocol:
        """Return what speaks with one client."""
        return ClientConnection(self)

    def begin(self, head: bytes) -> Record:
        """Return the record of a new request, with its fault."""
        fault = self._plan(len(self.requests) - self._plan_begins, head)
        record = Record(len(self.requests), self.reactor.seconds(), fault)
        self.requests.append(record)
        self._on_request(record)
        return record

    def complain(self, error: str, record: Record | None) -> None:
        """Note why a request was not served. Without a record, the request never began."""
        if record is None:
            record = Record(len(self.requests), self.reactor.seconds(), PASS)
            self.requests.append(record)
        record.error = error
        self._on_request(record)


S = TypeVar("S", bound=FaultServer)


@asynccontextmanager
async def serving(server: S, port: int = 0, interface: str = "127.0.0.1", tls: Any = None) -> AsyncIterator[S]:
    """Serve for as long as a block lasts. Then the port is closed, and every connection reset and gone."""
    await server.listen(port, interface, tls)
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def serve(
    fake: Fake[Any], reactor: IReactorTime, port: int = 0, *, interface: str = "127.0.0.1", tls: Any = None
) -> AsyncIterator[str]:
    """Serve a fake for as long as a block lasts, and yield its URL, without a trailing slash. Port 0 takes a free one.

    `reactor` must be a real one.
    """
    async with serving(FaultServer(reactor, fake), port, interface, tls) as server:
        yield server.url
