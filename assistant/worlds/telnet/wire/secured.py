"""Where a game is connected to: plain, or over TLS with a certificate that is checked or known by its fingerprint."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from OpenSSL import SSL
from OpenSSL.crypto import FILETYPE_ASN1, X509, dump_certificate
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IStreamClientEndpoint
from twisted.internet.ssl import optionsForClientTLS
from zope.interface import implementer

#: Seconds that a connection may take.
CONNECT_SECONDS = 30


def game_endpoint(
    reactor: Any, host: str, port: int, *, tls: bool = False, fingerprint: str = ""
) -> IStreamClientEndpoint:
    """Return where the game is. A `fingerprint` (SHA-256, hexadecimal) takes the place of the certificate's signature.

    It is for games that signed their certificate themselves. Raises ValueError for what is no fingerprint.
    """
    plain = HostnameEndpoint(reactor, host, port, timeout=CONNECT_SECONDS)
    if not tls:
        return plain
    options: IOpenSSLClientConnectionCreator = _Pinned(fingerprint) if fingerprint else optionsForClientTLS(host)
    endpoint: IStreamClientEndpoint = wrapClientTLS(options, plain)
    return endpoint


@implementer(IOpenSSLClientConnectionCreator)
class _Pinned:
    """Makes TLS connections to whoever has the certificate of this fingerprint, and to nobody else."""

    def __init__(self, fingerprint: str) -> None:
        self._digest = bytes.fromhex(fingerprint.replace(":", "").strip())
        if len(self._digest) != sha256().digest_size:
            raise ValueError("a fingerprint is the SHA-256 of the certificate: 64 hexadecimal digits")
        self._context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        self._context.set_verify(SSL.VERIFY_PEER, self._verify)

    def clientConnectionForTLS(self, tlsProtocol: Any) -> SSL.Connection:  # noqa: N802, N803  (Twisted's names)
        """Return a connection of the one context."""
        return SSL.Connection(self._context, None)

    def _verify(self, _connection: SSL.Connection, certificate: X509, _error: int, depth: int, _ok: int) -> bool:
        """Tell whether the certificate of the game itself, which is at depth 0, is the one that is known."""
        return depth > 0 or sha256(dump_certificate(FILETYPE_ASN1, certificate)).digest() == self._digest
