"""A proxy on this machine that lays faults over the answers of a server, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any
from urllib.parse import urlsplit

from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Factory

from resilience.testing.client_connection import ClientConnection
from resilience.testing.faults import PASS, Plan, Record
from resilience.testing.server_connection import ConnectionCounter

#: How many clients may connect within one turn of the reactor; further ones try again after a second.
_BACKLOG = 1024
_WRITE_LIKE = "write the model server's address like http://127.0.0.1:11434/v1"


def _silent(_record: Record) -> None:
    """Do nothing: the default `on_request`."""


class FaultProxy:
    """Passes HTTP/1.1 on to `upstream_host`:`upstream_port`, each request with the fault that `plan` has for it.

    Bytes pass unchanged, the Host header too. `requests` are the records of all requests; `url`, empty before
    `listen`, ends with the `path` that is given here. `on_request` is called when a request begins and when its record
    gets an error. `reactor` must be a real one; it gives the time, and `random` all that is random.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        upstream_host: str,
        upstream_port: int,
        plan: Plan,
        random: Random,
        *,
        path: str = "",
        on_request: Callable[[Record], None] = _silent,
    ) -> None:
        self.reactor = reactor
        self.host = upstream_host
        self.port = upstream_port
        self.random = random
        self.requests: list[Record] = []
        self.url = ""
        self.clients = ConnectionCounter()
        self.servers = ConnectionCounter()
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

    async def listen(self, port: int = 0) -> None:
        """Open a loopback port; 0 takes a free one. Raises CannotListenError."""
        factory = Factory.forProtocol(lambda: ClientConnection(self))
        factory.noisy = False
        endpoint = TCP4ServerEndpoint(self.reactor, port, backlog=_BACKLOG, interface="127.0.0.1")
        self._listening = await endpoint.listen(factory)
        self.url = f"http://127.0.0.1:{self._listening.getHost().port}{self._path}"

    async def close(self) -> None:
        """Close the port and reset every connection. Nothing of them is left on the reactor."""
        await self._listening.stopListening()
        await self.clients.close()
        await self.servers.close()

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


def upstream_of(url: str) -> tuple[str, int, str]:
    """Return host, port and path (with a query) of a server's address.

    Raises ValueError that says what to write instead.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"{_WRITE_LIKE}: the port is a number up to 65535") from None
    if parts.scheme == "https":
        raise ValueError(f"{_WRITE_LIKE}: the fault proxy speaks plain http, not https")
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError(f"{_WRITE_LIKE}, with http:// and a host")
    if "@" in parts.netloc:
        raise ValueError(f"{_WRITE_LIKE}, without a name or a password")
    return parts.hostname, 80 if port is None else port, parts.path + (f"?{parts.query}" if parts.query else "")


@asynccontextmanager
async def proxied(
    url: str,
    reactor: IReactorTime,
    plan: Plan,
    *,
    random: Random | None = None,
    port: int = 0,
    on_request: Callable[[Record], None] = _silent,
) -> AsyncIterator[FaultProxy]:
    """Run a proxy in front of the server at `url` for a block. Its `url` has the same path; `port` 0 takes a free one.

    `reactor` must be a real one. Without `random` the random choices are the same each time. At the end of the block
    the port is closed and every connection reset, and nothing of them is left on the reactor. Raises ValueError for an
    address that the proxy cannot pass requests on to.
    """
    host, upstream_port, path = upstream_of(url)
    chance = random or Random(0)  # noqa: S311  (no secret)
    proxy = FaultProxy(reactor, host, upstream_port, plan, chance, path=path, on_request=on_request)
    await proxy.listen(port)
    try:
        yield proxy
    finally:
        await proxy.close()
