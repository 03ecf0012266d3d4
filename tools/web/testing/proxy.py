"""A proxy on this machine that stands in for the whole web, for the library ddgs, which takes a proxy but no base URL.

It answers CONNECT, speaks TLS with a certificate of its own making (so its client must not check it), and serves the
page that people see at html.duckduckgo.com. For other hosts it serves the page that blocks robots.
"""

from __future__ import annotations

import datetime as dt
import html
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.ssl import CertificateOptions, PrivateCertificate
from twisted.python.failure import Failure

from mud_assistant.resilience.testing.client_connection import ClientConnection
from mud_assistant.resilience.testing.fake import Fake, Response, ServedRequest
from mud_assistant.resilience.testing.fault_server import FaultServer
from mud_assistant.tools.web.testing.service import HITS, Hit, page

#: How the proxy behaves: it answers, serves the page for robots, finds nothing, refuses CONNECT, or stays silent.
MODES = ("answer", "blocked", "empty", "refuse", "silent")
_MAX_HEAD_BYTES = 16 * 1024
_HEAD_END = b"\r\n\r\n"
_NAME = "html.duckduckgo.com"


class SearchPages(Fake[ServedRequest]):
    """The search page. `asked` are the searches as (host, fields of the form or of the address)."""

    request_type = ServedRequest

    def __init__(self, hits: Sequence[Hit] = HITS, mode: str = "answer") -> None:
        super().__init__()
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.mode = mode
        self._hits = hits

    def answer(self, request: ServedRequest) -> Response:
        """Return the page with the hits, an empty one, or the page that blocks robots."""
        host = request.headers.get("host", "").partition(":")[0]
        form = parse_qsl(request.raw.decode("utf-8", "replace"), keep_blank_values=True)
        self.asked.append((host, {**request.query, **dict(form)}))
        if self.mode == "blocked" or (self.mode == "answer" and host != _NAME):
            return page(202, "<html><body>Unfortunately, bots use this too.</body></html>")
        hits = self._hits if self.mode == "answer" else ()
        return page(200, f"<html><body>{''.join(map(_entry, hits))}</body></html>")


class FakeProxy(FaultServer):
    """Serves `pages` for every host that a client wants to reach through it. `connects` are these hosts."""

    def __init__(self, reactor: IReactorTime, pages: SearchPages) -> None:
        super().__init__(reactor, pages)
        self.pages = pages
        self.connects: list[str] = []
        self.certificate = _certificate()

    def connection(self) -> Protocol:
        """Return what speaks with one client."""
        return _Front(self)


class _Front(Protocol):
    """Reads CONNECT, then acts as the server of the host that was asked for."""

    transport: Any

    def __init__(self, proxy: FakeProxy) -> None:
        self._proxy = proxy
        self._head = b""
        self._inner: Any = None

    def connectionMade(self) -> None:
        """Count the connection."""
        self._proxy.clients.add(self)

    def abort(self) -> None:
        """Reset the connection."""
        self.transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:
        """Collect the request's head, or pass data on to the inner server."""
        if self._inner is not None:
            self._inner.dataReceived(data)
            return
        self._head += data
        if _HEAD_END in self._head:
            self._connect()
        elif len(self._head) > _MAX_HEAD_BYTES:
            self.transport.abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell the inner server."""
        if self._inner is not None:
            self._inner.connectionLost(reason)
        self._proxy.clients.remove(self)

    def _connect(self) -> None:
        words = self._head.split(b"\r\n", 1)[0].split()
        self._proxy.connects.append(words[1].decode("latin-1") if len(words) > 1 else "")
        if self._proxy.pages.mode == "silent":
            return
        if self._proxy.pages.mode == "refuse" or words[0] != b"CONNECT":
            self.transport.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.transport.loseConnection()
            return
        self.transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.transport.startTLS(self._proxy.certificate)
        inner: Any = ClientConnection(self._proxy)
        inner.makeConnection(self.transport)
        self._inner = inner


def _entry(hit: Hit) -> str:
    title, url, snippet = html.escape(hit.title), html.escape(hit.url), html.escape(hit.snippet)
    return (
        f'<div class="result results_links"><div class="links_main result__body"><h2><a href="{url}">{title}</a></h2>'
        f'<a class="result__snippet" href="{url}">{snippet}</a></div></div>'
    )


def _certificate() -> CertificateOptions:
    """Make a certificate and its key; no client trusts them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fake")])
    now = dt.datetime.now(dt.UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(x509.random_serial_number())
    built = built.not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=30))
    public = built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    loaded = PrivateCertificate.loadPEM(public + private)
    # Without a protocol of ours to choose, a client that offers some gets an internal error.
    return CertificateOptions(loaded.privateKey.original, loaded.original, acceptableProtocols=[b"http/1.1"])
