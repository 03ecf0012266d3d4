"""One bounded HTTP exchange: bytes out, bytes in, every phase with a limit.

The protocol is our own, since Twisted's `Agent` took half of the time of a call
(docs/decisions/0019-our-own-http.md).
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from mud_assistant.resilience.errors import ConnectionLost, TimedOut
from mud_assistant.resilience.http.connection import HttpConnection
from mud_assistant.resilience.http.failures import connect_error
from mud_assistant.resilience.http.headers import encode
from mud_assistant.resilience.http.pool import ConnectionPool
from mud_assistant.resilience.http.request import Limits, Request, RequestTarget, Sink, target_of
from mud_assistant.resilience.http.transfer import Transfer

if TYPE_CHECKING:
    from twisted.web.iweb import IAgentEndpointFactory

#: RFC 9110 section 5.6.2.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Requests of these methods say that their body is empty (RFC 9110 section 8.6).
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_MOST_FACTORIES = 64


class HttpExchange:
    """Performs requests over one shared pool of connections. `reactor` must also do TCP and name look-ups.

    `trust_root` says whose certificates are trusted, by default those of the platform. When `endpoints` is given it
    decides where connections go and how they are secured, and no connection is kept for another request.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        limits: Limits | None = None,
        connections_per_host: int = 1000,
        trust_root: Any = None,  # Any: Twisted's interface for it is private
        endpoints: IAgentEndpointFactory | None = None,
    ) -> None:
        from mud_assistant.resilience.http.endpoints import Endpoints  # noqa: PLC0415  (TLS: needed by who asks, not by who imports)

        self._clock = reactor
        self._limits = limits or Limits()
        self._keeps = endpoints is None
        self._factories: dict[tuple[str, str, int], Factory] = {}
        self._pool = ConnectionPool(reactor, connections_per_host)
        self._endpoints = Endpoints(reactor, self._limits.connect_seconds, trust_root, endpoints)

    async def perform(self, request: Request, sink: Sink, limits: Limits | None = None) -> None:
        """Send `request` and feed the response to `sink`; return when the body ended or the sink has enough.

        Raises ConnectFailed, ConnectionLost, BodyTooLarge or TimedOut, or the sink's error; ValueError for a request
        that cannot be sent. Cancelling closes the connection.

        When the server had closed a kept connection, the request is sent once more on a fresh one
        (docs/decisions/0004-retry-of-a-kept-connection.md).
        """
        limits = limits or self._limits
        target = target_of(request.url)
        head = self._head(request, target)
        kept = self._pool.take(target.key)
        if kept is not None:
            try:
                await self._send(kept, request, head, Transfer(sink, limits, self._clock, target.origin))
            except ConnectionLost:
                if kept.has_heard:
                    raise
            else:
                return
        began = self._clock.seconds()
        connection = await _Opening(self._clock, limits, target.origin).over(self._connect(target))
        transfer = Transfer(sink, limits, self._clock, target.origin, self._clock.seconds() - began)
        await self._send(connection, request, head, transfer)

    def close(self) -> Deferred[None]:
        """Close the idle connections, and each other one after its exchange; it fires when the idle ones are gone."""
        return self._pool.close()

    def _send(self, connection: HttpConnection, request: Request, head: bytes, transfer: Transfer) -> Deferred[None]:
        done = transfer.done
        assert done is not None
        connection.send(head, request.body, transfer, expects_body=request.method != "HEAD")
        return done

    def _connect(self, target: RequestTarget) -> Deferred[HttpConnection]:
        """Open a connection."""
        try:
            connecting: Deferred[Any] = self._endpoints.get(target).connect(self._factory(target))
        except Exception as error:
            if isinstance(error, CancelledError):
                raise
            raise connect_error(error, target.origin) from error
        return connecting

    def _factory(self, target: RequestTarget) -> Factory:
        """Return what makes the connections to an origin. Happy Eyeballs may make two, and both may succeed."""
        key, pool = target.key, self._pool
        factory = self._factories.get(key)
        if factory is None:
            on_free = partial(pool.put, key) if self._keeps else HttpConnection.close
            factory = Factory.forProtocol(
                partial(HttpConnection, target.origin, self._clock, on_free, partial(pool.lost, key))
            )
            factory.noisy = False
            if len(self._factories) >= _MOST_FACTORIES:
                self._factories.clear()
            self._factories[key] = factory
        return factory

    def _head(self, request: Request, target: RequestTarget) -> bytes:
        """Return the request line and all headers. Raises ValueError for a method that is none."""
        method = request.method
        if not _TOKEN.fullmatch(method) or method == "CONNECT":
            raise ValueError(f"{method!r} is no method of a request")
        lines, has_host = encode(request.headers)
        start = b"%b %b HTTP/1.1\r\n" % (method.encode("ascii"), target.path)
        host = b"" if has_host else b"Host: %b\r\n" % target.host
        length = b"Content-Length: %d\r\n" % len(request.body) if request.body or method in _WITH_BODY else b""
        close = b"" if self._keeps else b"Connection: close\r\n"
        return b"%b%b%b%b%b\r\n" % (start, host, lines, length, close)


class _Opening:
    """Waits for a connection, no longer than for the first byte of a response.

    The error of a cancelled attempt does not tell who cancelled it (Twisted calls it an unknown host when it is
    cancelled while the name is looked up), so it is kept in mind here.
    """

    def __init__(self, clock: IReactorTime, limits: Limits, origin: str) -> None:
        self._clock = clock
        self._seconds = limits.first_byte_seconds
        self._origin = origin
        self._is_late = False
        self._is_cancelled = False

    def over(self, connecting: Deferred[HttpConnection]) -> Deferred[HttpConnection]:
        """Return the connection. Fails with ConnectFailed, TimedOut or CancelledError."""

        def give_up(_: Deferred[HttpConnection]) -> None:
            self._is_cancelled = True
            connecting.cancel()

        def expire() -> None:
            self._is_late = True
            connecting.cancel()

        timer = self._clock.callLater(self._seconds, expire)
        opened: Deferred[HttpConnection] = Deferred(give_up)

        def settled(result: HttpConnection | Failure) -> None:
            if timer.active():
                timer.cancel()
            opened.callback(self._judge(result))

        connecting.addBoth(settled)
        return opened

    def _judge(self, result: HttpConnection | Failure) -> HttpConnection | Failure:
        if not isinstance(result, Failure):
            return result
        if self._is_cancelled:
            return Failure(CancelledError())
        if self._is_late:
            said = f"{self._origin} did not answer within {self._seconds:g} s"
            return Failure(TimedOut(said, self._origin, "first byte", self._seconds))
        error = connect_error(result.value, self._origin)
        error.__cause__ = result.value
        return Failure(error)
