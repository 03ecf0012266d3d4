"""HTTPS through pinned connections: SNI and the certificate are those of the name, whatever address it has."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509
from OpenSSL import SSL
from twisted.internet.ssl import Certificate, PrivateCertificate, trustRootFromCertificates

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.connect import ClientTls
from mud_assistant.tools.web.fetch.url import UrlRefused
from tests.resilience.http.test_tls import Made, certificate
from tests.tools.web.fetch.fetching import running

#: Twisted still hands pyOpenSSL its own objects, the older one in more places.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SITE = x509.DNSName("site.example")


class Presented:
    """A server's TLS that notes which name each client asked for."""

    def __init__(self, made: Made) -> None:
        self.names: list[bytes | None] = []
        self.options: Any = PrivateCertificate.loadPEM(made.public + made.private).options()
        self.options.getContext().set_tlsext_servername_callback(self._note)

    def _note(self, connection: SSL.Connection) -> None:
        self.names.append(connection.get_servername())


def believing(*made: Made) -> Any:
    return trustRootFromCertificates([Certificate.loadPEM(each.public) for each in made])


async def test_a_good_certificate_and_the_name_that_is_asked_for(reactor: Any) -> None:
    mine = certificate(SITE)
    presented = Presented(mine)
    async with running(reactor, tls=presented.options, trust_root=believing(mine)) as it:
        it.site.page("/", "secret")
        assert (await it.fetcher.fetch(it.at("/"))).body == b"secret"
        assert presented.names == [b"site.example"]
        headers = it.site.requests[0].headers
        assert headers["host"] == f"site.example:{it.port}"
        assert "x-forwarded-for" not in headers


async def test_a_certificate_for_another_name(reactor: Any) -> None:
    mine = certificate(x509.DNSName("other.example"))
    async with running(reactor, tls=Presented(mine).options, trust_root=believing(mine)) as it:
        it.site.page("/", "secret")
        with pytest.raises(WebError, match="it is for another name") as refused:
            await it.fetcher.fetch(it.at("/"))
        assert refused.value.kind is ErrorKind.NETWORK
        assert (await it.fetcher.fetch(it.at("/", "other.example"))).body == b"secret"
        assert [asked.path for asked in it.site.requests] == ["/"]


async def test_a_certificate_for_the_address_is_not_one_for_the_name(reactor: Any) -> None:
    from ipaddress import ip_address  # noqa: PLC0415

    mine = certificate(x509.IPAddress(ip_address("127.0.0.1")))
    presented = Presented(mine)
    async with running(reactor, tls=presented.options, trust_root=believing(mine)) as it:
        it.site.page("/", "x")
        with pytest.raises(WebError, match="another name"):
            await it.fetcher.fetch(it.at("/"))
        assert (await it.fetcher.fetch(it.at("/", "127.0.0.1"))).body == b"x"
        assert presented.names == [b"site.example", None]


async def test_a_certificate_that_nobody_vouches_for(reactor: Any) -> None:
    mine = certificate(SITE)
    async with running(reactor, tls=Presented(mine).options, trust_root=believing(certificate(SITE))) as it:
        with pytest.raises(WebError, match="cannot be trusted"):
            await it.fetcher.fetch(it.at("/"))
    async with running(reactor, tls=Presented(mine).options) as it:  # the platform's roots
        with pytest.raises(WebError, match="cannot be trusted"):
            await it.fetcher.fetch(it.at("/"))


async def test_a_redirect_from_https_to_http_ends_there(reactor: Any) -> None:
    mine = certificate(SITE)
    async with running(reactor, tls=Presented(mine).options, trust_root=believing(mine)) as it:
        it.site.redirect("/", f"http://site.example:{it.port}/b")
        with pytest.raises(UrlRefused, match="redirect from https to http"):
            await it.fetcher.fetch(it.at("/"))
        assert it.site.connections == 1


async def test_a_server_that_speaks_no_tls(reactor: Any) -> None:
    async with running(reactor) as it:
        with pytest.raises(WebError) as refused:
            await it.fetcher.fetch(it.at("/").replace("http:", "https:"))
        assert refused.value.kind is ErrorKind.NETWORK


def test_tls_contexts_are_kept_for_the_last_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    tls = ClientTls()
    first = tls.for_host("a.example")
    assert tls.for_host("a.example") is first
    for number in range(64):
        tls.for_host(f"h{number}.example")
    assert tls.for_host("a.example") is not first


def test_a_name_that_no_certificate_can_be_for() -> None:
    with pytest.raises(WebError, match="over https"):
        ClientTls().for_host("r3---sn-x.googlevideo.com")
