"""Where a game is connected to: plain, or over TLS with a certificate that is checked or known by its fingerprint."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from OpenSSL import SSL
from OpenSSL.crypto import FILETYPE_ASN1, X509, dump_certificate
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.ssl import CertificateOptions, optionsForClientTLS

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
    options = _pinned(fingerprint) if fingerprint else optionsForClientTLS(host)
    endpoint: IStreamClientEndpoint = wrapClientTLS(options, plain)
    return endpoint


def _pinned(fingerprint: str) -> CertificateOptions:
    """Return options for connections to whoever has the certificate of this fingerprint, and to nobody else."""
    digest = bytes.fromhex(fingerprint.replace(":", "").strip())
    if len(digest) != sha256().digest_size:
        raise ValueError("a fingerprint is the SHA-256 of the certificate: 64 hexadecimal digits")

    def verify(_connection: SSL.Connection, certificate: X509, _error: int, depth: int, _ok: int) -> bool:
        # The certificate of the game itself is at depth 0.
        return depth > 0 or sha256(dump_certificate(FILETYPE_ASN1, certificate)).digest() == digest

    options = CertificateOptions()
    options.getContext().set_verify(SSL.VERIFY_PEER, verify)
    return options
