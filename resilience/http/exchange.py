"""One bounded HTTP exchange: bytes out, bytes in, every phase with a limit.

It goes through Twisted's public `Agent`. Endpoints and TLS contexts are made once per origin: otherwise Twisted 24.11
would make a new TLS context for every request (10 ms of CPU each).
"""

from __future__ import annotations

from typing import Any

from OpenSSL.SSL import Error as SSLError
from service_identity import VerificationError
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError, ConnectingCancelledError, DNSLookupError
from twisted.internet.interfaces import (
    IConsumer,
    IProtocol,
    IProtocolFactory,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.internet.ssl import optionsForClientTLS
from twisted.python.failure import Failure
from twisted.web.client import URI, Agent, HTTPConnectionPool
from twisted.web.iweb import IAgentEndpointFactory, IBodyProducer, IResponse
from zope.interface import implementer

from resilience.errors import BodyTooLarge, ConnectFailed, ConnectionLost, TimedOut
from resilience.http.receive import MAX_HEAD_BYTES, BodyReceiver, HeaderGuardFactory, HeadTooLongError
from resilience.http.request import Limits, Request, Sink, origin_of


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
        self._reactor = reactor
        self._limits = limits or Limits()
        self._pool = HTTPConnectionPool(reactor, persistent=endpoints is None)
        self._pool.maxPersistentPerHost = connections_per_host
        self._pool.cachedConnectionTimeout = 30
        self._pool.retryAutomatically = False
        self._endpoints = _Endpoints(reactor, self._limits.connect_seconds, trust_root, endpoints)
        self._agent = Agent.usingEndpointFactory(reactor, self._endpoints, self._pool)
        self._fresh_agent = Agent.usingEndpointFactory(reactor, self._endpoints)

    async def perform(self, request: Request, sink: Sink, limits: Limits | None = None) -> None:
        """Send `request` and feed the response to `sink`; return when the body ended or the sink has enough.

        Raises ConnectFailed, ConnectionLost, BodyTooLarge or TimedOut, or the sink's error. Cancelling closes the
        connection.
        """
        limits = limits or self._limits
        origin = origin_of(request.url)
        response = await self._respond(request, limits, origin)
        receiver = BodyReceiver(sink, limits, self._reactor, origin)
        receiver.head(response)
        response.deliverBody(receiver)
        await receiver.done

    def close(self) -> Deferred[None]:
        """Close the idle connections; the Deferred fires when they are gone."""
        closed: Deferred[None] = self._pool.closeCachedConnections()
        return closed

    async def _respond(self, request: Request, limits: Limits, origin: str) -> IResponse:
        """Return the response head.

        When the server had closed a kept connection, the request is sent once more on a fresh one
        (docs/decisions/0004-retry-of-a-kept-connection.md).
        """
        before = self._endpoints.connects
        sent = self._send(self._agent, request)
        is_fresh = self._endpoints.connects > before
        try:
            return await self._head(sent, limits, origin)
        except ConnectionLost:
            if is_fresh:
                raise
        return await self._head(self._send(self._fresh_agent, request), limits, origin)

    async def _head(self, sent: Deferred[IResponse], limits: Limits, origin: str) -> IResponse:
        watch = HeadWatch(self._reactor, limits.first_byte_seconds)
        try:
            return await watch.over(sent)
        except Exception as error:
            if watch.cancelled:
                raise CancelledError from error
            if watch.expired:
                seconds = limits.first_byte_seconds
                raise TimedOut(
                    f"{origin} did not answer within {seconds:g} s", origin, "first byte", seconds
                ) from error
            raise head_error(error, origin) from error

    def _send(self, agent: Agent, request: Request) -> Deferred[IResponse]:
        body = _Bytes(request.body) if request.body else None
        method, url = request.method.encode("ascii"), request.url.encode("ascii")
        sent: Deferred[IResponse] = agent.request(method, url, request.headers, body)
        return sent


class HeadWatch:
    """Cancels a request whose response head does not come in time.

    `expired` is True when the watch cancelled the request, `cancelled` when the caller did. The error of a cancelled
    request tells neither (Twisted calls it an unknown host when it is cancelled while the name is looked up).
    """

    def __init__(self, clock: IReactorTime, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self.expired = False
        self.cancelled = False

    def over(self, request: Deferred[IResponse]) -> Deferred[IResponse]:
        """Watch `request` and return its result; a cancelled request fails with the error its cancellation caused."""

        def give_up(_: Deferred[IResponse]) -> None:
            self.cancelled = True
            request.cancel()

        watched: Deferred[IResponse] = Deferred(give_up)

        def expire() -> None:
            self.expired = True
            request.cancel()

        timer = self._clock.callLater(self._seconds, expire)

        def settled(result: IResponse | Failure) -> None:
            if timer.active():
                timer.cancel()
            watched.callback(result)

        request.addBoth(settled)
        return watched


@implementer(IAgentEndpointFactory)
class _Endpoints:
    """One endpoint, and with it one TLS context, per origin. `given`, when there is one, makes them instead."""

    def __init__(
        self,
        reactor: IReactorTime,
        connect_seconds: float,
        trust_root: Any,
        given: IAgentEndpointFactory | None = None,
    ) -> None:
        self._reactor = reactor
        self._connect_seconds = connect_seconds
        self._trust_root = trust_root
        self._given = given
        self._made: dict[tuple[bytes, bytes, int], _Counted] = {}

    @property
    def connects(self) -> int:
        """How many connections were begun."""
        return sum(endpoint.connects for endpoint in self._made.values())

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """Return the endpoint for an origin, made at its first use."""
        key = (uri.scheme, uri.host, uri.port)
        if key not in self._made:
            self._made[key] = _Counted(self._given.endpointForURI(uri) if self._given else self._own(uri))
        return self._made[key]

    def _own(self, uri: URI) -> IStreamClientEndpoint:
        plain = HostnameEndpoint(self._reactor, uri.host, uri.port, timeout=self._connect_seconds)
        return self._secured(plain, uri) if uri.scheme == b"https" else plain

    def _secured(self, plain: IStreamClientEndpoint, uri: URI) -> IStreamClientEndpoint:
        options = optionsForClientTLS(uri.host.decode("ascii"), trustRoot=self._trust_root)
        secured: IStreamClientEndpoint = wrapClientTLS(options, plain)
        return secured


@implementer(IStreamClientEndpoint)
class _Counted:
    """An endpoint that counts its connections: when a request raised the count, its connection is fresh."""

    def __init__(self, endpoint: IStreamClientEndpoint) -> None:
        self._endpoint = endpoint
        self.connects = 0

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:  # noqa: N803  (Twisted's name)
        """Connect, with a guard on the size of response heads, and count it."""
        self.connects += 1
        guards: Any = HeaderGuardFactory(protocolFactory)  # type: ignore[no-untyped-call]  # WrappingFactory has no types
        guarded: Deferred[Any] = self._endpoint.connect(guards)
        return guarded.addCallback(lambda guard: guard.wrappedProtocol)


@implementer(IBodyProducer)
class _Bytes:
    """A request body that is complete from the start: one write."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.length = len(body)

    def startProducing(self, consumer: IConsumer) -> Deferred[None]:
        """Write everything."""
        consumer.write(self._body)
        return succeed(None)

    def pauseProducing(self) -> None:
        """Do nothing: everything is written already."""

    def resumeProducing(self) -> None:
        """Do nothing: everything is written already."""

    def stopProducing(self) -> None:
        """Do nothing: everything is written already."""


def head_error(error: Exception, origin: str) -> Exception:
    """Return our error for the one that ended a request before its response head. CancelledError stays CancelledError.

    Twisted wraps the causes in `reasons` (ResponseNeverReceived, RequestTransmissionFailed), a cancellation too.
    """
    causes = [error, *(reason.value for reason in getattr(error, "reasons", ()) if isinstance(reason, Failure))]
    if any(isinstance(cause, CancelledError | ConnectingCancelledError) for cause in causes):
        return CancelledError()
    if any(isinstance(cause, HeadTooLongError) for cause in causes):
        return BodyTooLarge(f"{origin} sent a head of more than {MAX_HEAD_BYTES} bytes", origin, MAX_HEAD_BYTES)
    for cause in causes:
        if isinstance(cause, DNSLookupError):
            return ConnectFailed(f"cannot find the host of {origin}", origin)
        if isinstance(cause, SSLError | VerificationError):
            said = f"the certificate of {origin} cannot be trusted: {_tls_reason(cause)}"
            return ConnectFailed(said, origin, untrusted=_is_untrusted(cause))
        if isinstance(cause, ConnectError):
            return ConnectFailed(f"cannot connect to {origin}: {_reason(cause)}", origin)
    if causes[1:]:
        return ConnectionLost(f"{origin} closed the connection without an answer", origin)
    return ConnectFailed(f"cannot reach {origin}: {type(error).__name__}", origin)


def _tls_reason(error: Exception) -> str:
    """Return why a handshake failed: OpenSSL's words, or that the certificate is for another name."""
    if isinstance(error, VerificationError):
        return "it is for another name"
    words = [part for entry in error.args[0] for part in entry if part] if error.args and error.args[0] else []
    return words[-1] if words else "the connection ended within the handshake"


def _is_untrusted(error: Exception) -> bool:
    """Tell whether the certificate failed, rather than the connection during the handshake."""
    return isinstance(error, VerificationError) or "certificate" in _tls_reason(error)


def _reason(error: ConnectError) -> str:
    """Return the operating system's words for a failed connection, or the kind of error."""
    return error.args[0] if error.args and isinstance(error.args[0], str) else (error.__doc__ or "").rstrip(".").lower()
