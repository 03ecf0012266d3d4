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
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.ssl import Certificate, CertificateOptions, PrivateCertificate, trustRootFromCertificates
from twisted.protocols.policies import WrappingFactory
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Request as WebRequest
from twisted.web.server import Site

from mud_assistant.resilience import Collected, ConnectFailed, ConnectionLost, HttpExchange, Limits, Request, TimedOut

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


def server_options(presented: Made) -> CertificateOptions:
    """A server's side of TLS. It names its protocol: a Twisted server that names none ends a handshake with ALPN."""
    own = PrivateCertificate.loadPEM(presented.public + presented.private)
    return CertificateOptions(own.privateKey.original, own.original, acceptableProtocols=[b"http/1.1"])


@asynccontextmanager
async def https(presented: Made) -> AsyncIterator[str]:
    options = server_options(presented)
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


class Bare(Protocol):
    """A server that takes a request and answers it with these bytes, then drops the connection without a farewell."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def dataReceived(self, data: bytes) -> None:
        self.transport.write(self.answer)  # type: ignore[union-attr]  # a TLS transport
        self.dropping = reactor.callLater(0.05, self.transport.transport.loseConnection)  # type: ignore[union-attr]  # TCP

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.dropping.active():
            self.dropping.cancel()


@asynccontextmanager
async def listening(factory: Any, options: CertificateOptions | None) -> AsyncIterator[int]:
    served = factory if options is None else TLSMemoryBIOFactory(options, False, factory)
    port = reactor.listenTCP(0, served, interface="127.0.0.1")
    try:
        yield port.getHost().port
    finally:
        await port.stopListening()


@pytest.mark.parametrize(
    ("answer", "is_whole"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", False),
    ],
)
async def test_tls_without_a_farewell_is_no_end_of_a_body(answer: bytes, is_whole: bool) -> None:
    """Anybody on the way can drop a TCP connection; only the server can say farewell (RFC 9112 section 9.8)."""
    mine = certificate(HERE)
    factory = Factory.forProtocol(lambda: Bare(answer))
    async with listening(factory, server_options(mine)) as port:
        url = f"https://127.0.0.1:{port}/"
        if is_whole:
            assert await get(url, [mine]) == [b"hello"]
        else:
            with pytest.raises(ConnectionLost):
                await get(url, [mine])


class Kept(Protocol):
    """A server that answers each request with these bytes, and keeps its connections."""

    def __init__(self, answer: bytes, made: list[Kept]) -> None:
        self.answer = answer
        made.append(self)

    def dataReceived(self, data: bytes) -> None:
        self.transport.write(self.answer)  # type: ignore[union-attr]  # a TLS transport


#: What TLS hands on at a time: one record (RFC 8446 section 5.1).
RECORD_BYTES = 16 * 1024


@pytest.mark.parametrize(("behind", "connections"), [(b"", 1), (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!", 3)])
@pytest.mark.parametrize("records", [1, 2, 4])
async def test_what_comes_behind_an_answer_of_whole_records_is_none(
    behind: bytes, connections: int, records: int
) -> None:
    mine, head = certificate(HERE), b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    body = b"x" * (records * RECORD_BYTES - len(head % (records * RECORD_BYTES)))
    made: list[Kept] = []
    factory = Factory.forProtocol(lambda: Kept(head % len(body) + body + behind, made))
    async with listening(factory, server_options(mine)) as port:
        assert await get(f"https://127.0.0.1:{port}/", [mine], times=3) == [body] * 3
    assert len(made) == connections


async def test_only_http_1_1_is_offered() -> None:
    offered: list[list[bytes]] = []

    def choose(_: SSL.Connection, protocols: list[bytes]) -> bytes:
        offered.append(protocols)
        return protocols[0]

    mine = certificate(HERE)
    options = server_options(mine)
    options.getContext().set_alpn_select_callback(choose)
    factory = Factory.forProtocol(lambda: Bare(b"HTTP/1.1 204 No\r\n\r\n"))
    async with listening(factory, options) as port:
        await get(f"https://127.0.0.1:{port}/", [mine])
    assert offered == [[b"http/1.1"]]


@pytest.mark.parametrize("cancels", [False, True])
async def test_a_handshake_that_never_ends(cancels: bool) -> None:
    gone: Deferred[None] = Deferred()

    class Silent(Protocol):
        def connectionLost(self, reason: Failure = connectionDone) -> None:
            gone.callback(None)

    async with listening(Factory.forProtocol(Silent), None) as port:
        exchange = HttpExchange(reactor, Limits(2, 5 if cancels else 0.1, 2))
        request = Request("GET", f"https://127.0.0.1:{port}/", Headers())
        running = Deferred.fromCoroutine(exchange.perform(request, Collected()))
        if cancels:
            reactor.callLater(0.1, running.cancel)
        with pytest.raises(CancelledError if cancels else TimedOut):
            await running
        await gone
        await exchange.close()
