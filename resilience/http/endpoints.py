"""Where connections go: one endpoint for each origin, and with it one TLS context."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IStreamClientEndpoint
from twisted.internet.ssl import optionsForClientTLS
from zope.interface import implementer

from mud_assistant.resilience.http.request import RequestTarget

_ALPN = [b"http/1.1"]
#: Endpoints that are kept. A TLS context takes 10 ms of CPU to make.
_MOST_KEPT = 64


@implementer(IOpenSSLClientConnectionCreator)
class _Http11Tls:
    """Makes TLS connections that offer HTTP/1.1 and nothing else (ALPN).

    Twisted 24.11 would make two more contexts to find out whether it may offer anything.
    """

    def __init__(self, options: IOpenSSLClientConnectionCreator) -> None:
        self._options = options

    def clientConnectionForTLS(self, tlsProtocol: Any) -> Any:  # noqa: N802, N803  (Twisted's names)
        """Return a connection of the one context."""
        connection = self._options.clientConnectionForTLS(tlsProtocol)
        connection.set_alpn_protos(_ALPN)
        return connection


class Endpoints:
    """Makes the endpoint of each origin, and keeps those used last.

    `given` is a Twisted `IAgentEndpointFactory` that makes them instead.
    """

    def __init__(self, reactor: Any, connect_seconds: float, trust_root: Any, given: Any = None) -> None:
        self._reactor = reactor
        self._connect_seconds = connect_seconds
        self._trust_root = trust_root
        self._given = given
        self._made: OrderedDict[tuple[str, str, int], IStreamClientEndpoint] = OrderedDict()

    def get(self, target: RequestTarget) -> IStreamClientEndpoint:
        """Return the endpoint for the origin of a URL, made at its first use. Raises what `given` raises."""
        if self._given is not None:
            return self._from_given(target)
        endpoint = self._made.get(target.key)
        if endpoint is None:
            endpoint = self._made[target.key] = self._make(*target.key)
            if len(self._made) > _MOST_KEPT:
                self._made.popitem(last=False)
        else:
            self._made.move_to_end(target.key)
        return endpoint

    def _from_given(self, target: RequestTarget) -> IStreamClientEndpoint:
        from twisted.web.client import URI  # noqa: PLC0415  (only who brings endpoints needs Twisted's web client)

        endpoint: IStreamClientEndpoint = self._given.endpointForURI(URI.fromBytes(target.url.encode("ascii")))
        return endpoint

    def _make(self, scheme: str, host: str, port: int) -> IStreamClientEndpoint:
        plain = self._plain(host, port)
        if scheme == "http":
            return plain
        options = _Http11Tls(optionsForClientTLS(host, trustRoot=self._trust_root))
        secured: IStreamClientEndpoint = wrapClientTLS(options, plain)
        return secured

    def _plain(self, host: str, port: int) -> IStreamClientEndpoint:
        """Return an endpoint for TCP. An address is connected to as it is: a look-up would wait for a thread."""
        seconds = self._connect_seconds
        if isIPAddress(host):
            return TCP4ClientEndpoint(self._reactor, host, port, timeout=seconds)
        if isIPv6Address(host):
            return TCP6ClientEndpoint(self._reactor, host, port, timeout=seconds)
        return HostnameEndpoint(self._reactor, host.encode("ascii"), port, timeout=seconds)
