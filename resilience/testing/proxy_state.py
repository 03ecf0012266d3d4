"""What the connections of one proxy share: the records of its requests, and the connections that are open."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from resilience.testing.faults.combined import Fault


@dataclass(slots=True)
class Record:
    """One request.

    `index` counts all requests of the proxy from 0, `at` is when it began in clock seconds, `fault` is its fault.
    `sent_bytes` of the answer have gone to the client so far, including the head. `error` is empty, or says why the
    proxy failed: the real server cannot be reached, or the request could not be followed.
    """

    index: int
    at: float
    fault: Fault
    sent_bytes: int = 0
    error: str = ""


class Connected(Protocol):
    """An object with a connection that can be reset."""

    def abort(self) -> None:
        """Reset the connection."""
        ...


class ConnectionCounter:
    """Counts open connections, and can end them all."""

    def __init__(self) -> None:
        self._open: dict[Connected, None] = {}
        self._empty: Deferred[None] | None = None

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    def add(self, connection: Connected) -> None:
        """Count a connection that was made. After `close`, reset it at once."""
        self._open[connection] = None
        if self._empty is not None:
            connection.abort()

    def remove(self, connection: Connected) -> None:
        """Forget a connection that is gone."""
        del self._open[connection]
        if not self._open and self._empty is not None:
            self._empty.callback(None)

    def close(self) -> Deferred[None]:
        """Reset every connection, later ones too; the Deferred fires when all are gone. Call it once."""
        self._empty = Deferred()
        if not self._open:
            return succeed(None)
        for connection in list(self._open):
            connection.abort()
        return self._empty


class ProxyState(Protocol):
    """State shared by all connections of a proxy."""

    reactor: IReactorTime
    host: str
    port: int
    random: Random
    clients: ConnectionCounter
    servers: ConnectionCounter

    def begin(self, head: bytes) -> Record:
        """Return the record of a new request, with its fault."""
        ...

    def complain(self, error: str, record: Record | None) -> None:
        """Note why a request was not served. Without a record, the request never began."""
        ...
