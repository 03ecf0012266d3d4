"""Connections that go only to judged addresses. Host header, SNI and certificate stay those of the name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from twisted.internet.address import IPv4Address as TcpIPv4
from twisted.internet.address import IPv6Address as TcpIPv6
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
    IOpenSSLClientConnectionCreator,
    IProtocol,
    IProtocolFactory,
    IReactorPluggableNameResolver,
    IResolutionReceiver,
    IStreamClientEndpoint,
)
from twisted.internet.ssl import optionsForClientTLS
from twisted.web.client import URI
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.addresses import Address, parse_address
from mud_assistant.tools.web.fetch.url import SafeUrl

#: Happy Eyeballs starts another connection every 0.3 s, so more addresses would not get their turn in time.
MOST_TRIED = 6
_MOST_KEPT_HOSTS = 64


class WrongPeer(Exception):
    """A connection that goes elsewhere than to a judged address. It must never happen."""


class ClientTls:
    """Checks each host's certificate against `trust_root` (by default the platform's) and the host's name.

    Making a TLS context costs 10 ms of CPU, so those of the last hosts are kept.
    """

    def __init__(self, trust_root: Any = None) -> None:  # Any: Twisted's interface for it is private
        self._trust_root = trust_root
        self._made: OrderedDict[str, IOpenSSLClientConnectionCreator] = OrderedDict()

    def for_host(self, host: str) -> IOpenSSLClientConnectionCreator:
        """Return the maker of TLS connections to `host`. Raises WebError for a name that no certificate can be for."""
        if host not in self._made:
            try:
                self._made[host] = optionsForClientTLS(host, trustRoot=self._trust_root)
            except UnicodeError:
                raise WebError(ErrorKind.BAD_REQUEST, f"{host} cannot be reached over https") from None
        self._made.move_to_end(host)
        if len(self._made) > _MOST_KEPT_HOSTS:
            self._made.popitem(last=False)
        return self._made[host]


@implementer(IAgentEndpointFactory)
class PinnedEndpoints:
    """The endpoint factory of one URL whose addresses were judged. It makes no look-up."""

    def __init__(
        self, reactor: Any, url: SafeUrl, addresses: Sequence[Address], connect_seconds: float, tls: ClientTls
    ) -> None:
        plain = PinnedEndpoint(reactor, addresses[:MOST_TRIED], url.port, connect_seconds)
        self._endpoint: IStreamClientEndpoint = (
            wrapClientTLS(tls.for_host(url.host), plain) if url.scheme == "https" else plain
        )
        self._expected = (url.scheme.encode("ascii"), url.host.encode("ascii"), url.port)

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """Return the endpoint. Raises WrongPeer for any URL but the one it was made for."""
        if (uri.scheme, uri.host, uri.port) != self._expected:
            raise WrongPeer
        return self._endpoint


@implementer(IStreamClientEndpoint)
class PinnedEndpoint:
    """Connects to the first of `addresses` to answer, all within `connect_seconds`, and checks the peer's address."""

    def __init__(self, reactor: Any, addresses: Sequence[Address], port: int, connect_seconds: float) -> None:
        self._reactor = reactor
        self._addresses = frozenset(addresses)
        self._port = port
        self._connect_seconds = connect_seconds
        pinned = PinnedReactor(reactor, [_tcp(address, port) for address in addresses])
        # The name is not looked up: the resolver of `pinned` gives the pinned addresses for every name.
        self._endpoint = HostnameEndpoint(pinned, str(addresses[0]), port, timeout=connect_seconds)

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:  # noqa: N803  (Twisted's name)
        """Connect. Fails with WrongPeer when the peer is not one of the addresses."""
        connected: Deferred[Any] = self._endpoint.connect(protocolFactory)
        return connected.addTimeout(self._connect_seconds, self._reactor).addCallback(self._check_peer)

    def _check_peer(self, protocol: Any) -> IProtocol:
        peer = protocol.transport.getPeer()
        if parse_address(peer.host) not in self._addresses or peer.port != self._port:
            protocol.transport.abortConnection()
            raise WrongPeer
        connected: IProtocol = protocol
        return connected


@implementer(IReactorPluggableNameResolver)
class PinnedReactor:
    """The parts of a reactor that an endpoint needs, with a resolver that always gives the same answer."""

    def __init__(self, reactor: Any, answers: Sequence[IAddress]) -> None:
        self.nameResolver = _Pinned(answers)
        self.connectTCP = reactor.connectTCP
        self.callLater = reactor.callLater
        self.seconds = reactor.seconds

    def installNameResolver(self, resolver: IHostnameResolver) -> IHostnameResolver:
        """Refuse with WrongPeer: the resolver cannot be replaced."""
        raise WrongPeer


@implementer(IHostnameResolver)
class _Pinned:
    """Answers every question with the same addresses."""

    def __init__(self, answers: Sequence[IAddress]) -> None:
        self._answers = answers

    def resolveHostName(  # noqa: N802  (Twisted's name)
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> IHostResolution:
        """Give the answers at once."""
        resolution = _Resolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        for answer in self._answers:
            resolutionReceiver.addressResolved(answer)
        resolutionReceiver.resolutionComplete()
        return resolution


@implementer(IHostResolution)
class _Resolution:
    """A look-up that is already finished."""

    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """Do nothing: the look-up is finished."""


def _tcp(address: Address, port: int) -> IAddress:
    return (TcpIPv4 if address.version == 4 else TcpIPv6)("TCP", str(address), port)  # noqa: PLR2004
