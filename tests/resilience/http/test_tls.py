"""HTTPS on loopback with a certificate made for the test: believed, not believed, for another name, and made once."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from OpenSSL import SSL
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.ssl import Certificate, PrivateCertificate, trustRootFromCertificates
from twisted.protocols.policies import WrappingFactory
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Request as WebRequest
from twisted.web.server import Site

from resilience import Collected, ConnectFailed, HttpExchange, Limits, Request

reactor: Any = _reactor
#: Twisted still hands pyOpenSSL its own objects, the older one in more places.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@dataclass(frozen=True)
class Made:
    """A certificate and its key, as PEM."""

    public: bytes
    private: bytes


def certificate(name: x509.GeneralName) -> Made:
    """A self-signed certificate for one name, valid today."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([name]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Made(made.public_bytes(encoding), private)


class Hello(Resource):
    isLeaf = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Resource has no types

    def render_GET(self, request: WebRequest) -> bytes:
        return b"hello"


@asynccontextmanager
async def https(presented: Made) -> AsyncIterator[str]:
    options = PrivateCertificate.loadPEM(presented.public + presented.private).options()
    # Wrapped, because Twisted 24.11's own negotiation of HTTP/2 fails with today's pyOpenSSL.
    factory = WrappingFactory(Site(Hello()))
    port = reactor.listenSSL(0, factory, options, interface="127.0.0.1")
    try:
        yield f"https://127.0.0.1:{port.getHost().port}/"
    finally:
        await port.stopListening()


async def get(url: str, believed: list[Made], times: int = 1) -> list[bytes]:
    roots = trustRootFromCertificates([Certificate.loadPEM(each.public) for each in believed])
    exchange = HttpExchange(reactor, Limits(2, 2, 2), trust_root=roots)
    bodies = []
    try:
        for _ in range(times):
            sink = Collected()
            await exchange.perform(Request("GET", url, Headers()), sink)
            bodies.append(sink.body)
    finally:
        await exchange.close()
    return bodies


HERE = x509.IPAddress(ip_address("127.0.0.1"))


async def test_a_certificate_that_is_believed_and_fits() -> None:
    mine = certificate(HERE)
    async with https(mine) as url:
        assert await get(url, [mine]) == [b"hello"]


async def test_a_certificate_that_nobody_vouches_for() -> None:
    async with https(certificate(HERE)) as url:
        with pytest.raises(ConnectFailed, match="cannot be trusted"):
            await get(url, [certificate(HERE)])


async def test_a_certificate_for_another_name() -> None:
    other = certificate(x509.DNSName("example.org"))
    async with https(other) as url:
        with pytest.raises(ConnectFailed, match="another name"):
            await get(url, [other])


async def test_ten_requests_make_one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twisted 24.11 would make one for each request, 10 ms of CPU a piece."""
    made: list[object] = []
    original = SSL.Context.__init__

    def counting(self: SSL.Context, *arguments: Any) -> None:
        made.append(self)
        original(self, *arguments)

    mine = certificate(HERE)
    async with https(mine) as url:
        await get(url, [mine])  # the server's own context is made at its first connection
        monkeypatch.setattr(SSL.Context, "__init__", counting)
        assert len(await get(url, [mine], times=10)) == 10
        clients = len(made)
    assert clients == 1
