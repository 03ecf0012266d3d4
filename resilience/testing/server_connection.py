"""The real server's side of a client's connection: made at the first request that needs it, and kept."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from twisted.internet.defer import Deferred, succeed
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from mud_assistant.resilience.http.failures import connect_error

#: How long the real server may take to accept a connection, in seconds.
CONNECT_SECONDS = 10.0


class Listener(Struct, frozen=True):
    """The callbacks for what the real server does: its bytes, its end, and why it cannot be reached."""

    received: Callable[[bytes], None]
    lost: Callable[[Failure], None]
    unreachable: Callable[[str], None]


class ServerConnection(Protocol):
    """A connection to the real server. Until it is made, writes are held back and the client is paused."""

    transport: Any

    def __init__(self, listener: Listener, client: Any, counter: ConnectionCounter) -> None:  # Any: a transport
        self._listener = listener
        self._client = client
        self._counter = counter
        self._unsent: list[bytes] = []
        self._connecting: Deferred[Any] | None = None
        self._dropped = False
        self._paused = False

    def open(self, reactor: IReactorTime, host: str, port: int) -> None:
        """Begin to connect."""
        self._client.pauseProducing()
        factory = Factory.forProtocol(lambda: self)
        factory.noisy = False
        endpoint = HostnameEndpoint(reactor, host, port, timeout=CONNECT_SECONDS)
        self._connecting = endpoint.connect(factory)
        self._connecting.addErrback(self._failed, f"http://{host}:{port}")

    def write(self, data: bytes) -> None:
        """Send the data, at once or when connected."""
        if self.transport is None:
            self._unsent.append(data)
        else:
            self.transport.write(data)

    def read(self, *, is_wanted: bool) -> None:
        """Read on, or let the server wait."""
        if self.transport is not None and self._paused is is_wanted:
            self._paused = not is_wanted
            if is_wanted:
                self.transport.resumeProducing()
            else:
                self.transport.pauseProducing()

    def abort(self) -> None:
        """Reset the connection."""
        self.transport.abortConnection()

    def drop(self, *, is_idle: bool = False) -> None:
        """Hang up without telling the listener: with a reset, or with a normal close when idle."""
        self._dropped = True
        if self.transport is None:
            if self._connecting is not None:
                self._connecting.cancel()
            return
        self.transport.unregisterProducer()
        if is_idle:
            self.transport.loseConnection()
        else:
            self.transport.abortConnection()

    def connectionMade(self) -> None:
        """Send what was held back. From now on the client sends no faster than the server reads."""
        self._counter.add(self)
        self.transport.setTcpNoDelay(True)
        self.transport.registerProducer(self._client, True)
        self._client.resumeProducing()
        for data in self._unsent:
            self.transport.write(data)
        self._unsent.clear()

    def dataReceived(self, data: bytes) -> None:
        """Pass on what the server says."""
        if not self._dropped:
            self._listener.received(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Pass on that the server hung up."""
        self._counter.remove(self)
        if not self._dropped:
            self._dropped = True
            self._listener.lost(reason)

    def _failed(self, failure: Failure, origin: str) -> None:
        if not self._dropped:
            self._dropped = True
            self._client.resumeProducing()
            self._listener.unreachable(str(connect_error(failure.value, origin)))


class Connected(typing.Protocol):
    """An object with a connection that can be reset."""

    def abort(self) -> None:
        """Reset the connection."""
        ...


class ConnectionCounter:
    """Counts open connections, and can end them all. `made` counts those that were ever made."""

    def __init__(self) -> None:
        self.made = 0
        self._open: dict[Connected, None] = {}
        self._empty: Deferred[None] | None = None

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    def add(self, connection: Connected) -> None:
        """Count a connection that was made. After `close`, reset it at once."""
        self.made += 1
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
