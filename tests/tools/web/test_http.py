"""The HTTP client of tools against a site on loopback: what is sent, where it goes, and what it may cost."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from treq.client import HTTPClient
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.ssl import PrivateCertificate
from twisted.internet.task import deferLater
from twisted.web.http_headers import Headers

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.fetcher import FetchLimits
from mud_assistant.tools.web.fetch.url import UrlPolicy, UrlRefused
from mud_assistant.tools.web.http import MOST_AT_ONCE, MOST_WAITING, ToolHttp
from mud_assistant.tools.web.testing.site import FakeSite
from tests.resilience.http.test_tls import certificate
from tests.tools.web.fetch.fetching import QUICK, Names, policy, running
from tests.tools.web.fetch.test_tls import SITE, believing

BRIEF = FetchLimits(connect_seconds=2, whole_seconds=0.3)


@dataclass
class Reaching:
    """A site under the name site.example, and clients that find it."""

    site: FakeSite
    url: str
    names: Names
    http: ToolHttp

    @property
    def client(self) -> HTTPClient:
        return self.http.client()

    def at(self, path: str, host: str) -> str:
        return f"http://{host}:{self.url.rpartition(':')[2]}{path}"


@asynccontextmanager
async def reaching(
    reactor: Any,
    limits: FetchLimits = QUICK,
    names: Mapping[str, Sequence[Sequence[str]]] | None = None,
    **secured: Any,
) -> AsyncIterator[Reaching]:
    async with running(reactor, names=names, **secured) as it:
        http = ToolHttp(reactor, it.names, policy(it.port), limits, trust_root=secured.get("trust_root"))
        yield Reaching(it.site, it.at(""), it.names, http)


async def until(reactor: Any, done: Any) -> None:
    for _ in range(400):
        if done():
            return
        await deferLater(reactor, 0.005)
    raise AssertionError("it did not come to that")


async def test_json_and_what_is_sent(reactor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    async with reaching(reactor) as it:
        it.site.page("/tea", '{"tea": "green"}', "application/json")
        response = await it.client.get(
            f"{it.url}/tea", params={"a": "b"}, headers=Headers({"Host": ["evil.example"], "X-Own": ["y"]})
        )
        assert (response.code, await response.json()) == (200, {"tea": "green"})
        asked = it.site.requests[0]
        assert asked.target == "/tea?a=b"
        assert asked.headers["host"] == it.url.removeprefix("http://")
        assert asked.headers["user-agent"].startswith("mud-assistant")
        assert (asked.headers["accept-encoding"], asked.headers["x-own"]) == ("identity, gzip", "y")
        assert asked.headers["x-forwarded-for"] == "true"
        assert not {"cookie", "authorization", "referer"} & set(asked.headers)
        assert it.names.asked == ["site.example"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Twisted still hands pyOpenSSL its own objects
async def test_https_is_checked_against_the_name(reactor: Any) -> None:
    mine = certificate(SITE)
    options = PrivateCertificate.loadPEM(mine.public + mine.private).options()
    async with reaching(reactor, tls=options, trust_root=believing(mine)) as it:
        it.site.page("/", "secret")
        assert await (await it.client.get(f"{it.url}/")).content() == b"secret"
        with pytest.raises(WebError, match="it is for another name"):
            await it.client.get(f"{it.url}/".replace("site.", "other."))


async def test_private_addresses_are_refused_unless_the_policy_allows_them(reactor: Any) -> None:
    async with reaching(reactor) as it:
        port = int(it.url.rpartition(":")[2])
        strict = ToolHttp(reactor, it.names, UrlPolicy(ports=frozenset({port}))).client()
        for host in ("site.example", "127.0.0.1", "localhost"):
            with pytest.raises(UrlRefused):
                await strict.get(it.at("/", host))
        for url in ("ftp://site.example/", "http://anna:tea@site.example/", "http://site.example:25/"):
            with pytest.raises(UrlRefused):
                await it.client.get(url)
        assert it.site.connections == 0


async def test_each_redirect_is_judged(reactor: Any) -> None:
    names = {"inner.example": [["10.1.2.3"]], "flip.example": [["127.0.0.1"], ["169.254.169.254"]]}
    async with reaching(reactor, names=names) as it:
        it.site.page("/", "here")
        it.site.redirect("/out", it.at("/", "other.example"))
        it.site.redirect("/in", it.at("/", "inner.example"))
        it.site.redirect("/again", it.at("/", "flip.example"))
        assert await (await it.client.get(f"{it.url}/out")).content() == b"here"
        with pytest.raises(UrlRefused, match="private network"):
            await it.client.get(f"{it.url}/in")
        with pytest.raises(UrlRefused, match="link-local"):
            await it.client.get(it.at("/again", "flip.example"))


async def test_a_secret_is_not_sent_to_where_a_redirect_leads(reactor: Any) -> None:
    async with reaching(reactor) as it:
        it.site.page("/", "here")
        it.site.redirect("/out", it.at("/", "other.example"))
        await (await it.client.get(f"{it.url}/out", headers=Headers({"Authorization": ["Bearer planted"]}))).content()
        assert it.site.requests[0].headers["authorization"] == "Bearer planted"
        assert "authorization" not in it.site.requests[1].headers


async def test_cookies_are_kept_by_one_client_only(reactor: Any) -> None:
    async with reaching(reactor) as it:
        it.site.page("/", "x", headers={"Set-Cookie": "tea=green"})
        client = it.client
        for asks in (client, client, it.client):
            await (await asks.get(f"{it.url}/")).content()
        assert [asked.headers.get("cookie") for asked in it.site.requests] == [None, "tea=green", None]


async def test_packed_answers(reactor: Any) -> None:
    async with reaching(reactor) as it:
        it.site.gzipped("/packed", b"green ", b"tea")
        assert await (await it.client.get(f"{it.url}/packed")).content() == b"green tea"
        it.site.bomb("/bomb")
        with pytest.raises(WebError, match="the answer has more than 2000000 bytes"):
            await (await it.client.get(f"{it.url}/bomb")).content()
        it.site.page("/cut", gzip.compress(b"tea" * 99)[:-9], headers={"Content-Encoding": "gzip"})
        with pytest.raises(WebError, match="gzip cannot be read: it ends early"):
            await (await it.client.get(f"{it.url}/cut")).content()
        it.site.page("/broken", b"no gzip", headers={"Content-Encoding": "gzip"})
        with pytest.raises(WebError, match="gzip cannot be read"):
            await (await it.client.get(f"{it.url}/broken")).content()
        for packing in ("gzip, gzip", "br"):
            it.site.page("/twice", b"", headers={"Content-Encoding": packing})
            with pytest.raises(WebError, match="packed in a way that was not asked for"):
                await it.client.get(f"{it.url}/twice")
        head = await it.client.head(f"{it.url}/packed")
        assert (head.code, await head.content()) == (200, b"")


async def test_a_body_without_end_is_cut_off(reactor: Any) -> None:
    async with reaching(reactor) as it:
        it.site.endless("/")
        with pytest.raises(WebError) as refused:
            await (await it.client.get(f"{it.url}/")).content()
        assert refused.value.kind is ErrorKind.PARSE


@pytest.mark.parametrize("path", ["silent", "drip"])
async def test_all_of_it_takes_no_longer_than_its_time(reactor: Any, path: str) -> None:
    async with reaching(reactor, BRIEF) as it:
        it.site.silent("/silent")
        it.site.drip("/drip", 0.02)
        with pytest.raises(WebError) as late:
            await (await it.client.get(f"{it.url}/{path}")).content()
        assert late.value.kind is ErrorKind.TIMEOUT


async def test_a_server_that_is_not_there(reactor: Any) -> None:
    async with reaching(reactor, names={"gone.example": [["127.0.0.2"]]}) as it:
        with pytest.raises(WebError) as lost:
            await it.client.get(it.at("/", "gone.example"))
        assert lost.value.kind is ErrorKind.NETWORK
        with pytest.raises(WebError, match="was not found"):
            await it.client.get(it.at("/", "nowhere.example"))


async def test_few_requests_at_once_and_few_that_wait(reactor: Any) -> None:
    async with reaching(reactor) as it:
        it.site.silent("/")
        asked: list[Deferred[Any]] = [it.client.get(f"{it.url}/") for _ in range(MOST_AT_ONCE + MOST_WAITING)]
        with pytest.raises(WebError, match="32 requests of tools wait already") as refused:
            await it.client.get(f"{it.url}/")
        assert refused.value.kind is ErrorKind.RATE_LIMITED
        await until(reactor, lambda: len(it.site.requests) == MOST_AT_ONCE)
        assert it.site.connections == MOST_AT_ONCE
        for each in reversed(asked):
            each.cancel()
            with pytest.raises(CancelledError):
                await each
        await until(reactor, lambda: it.site.open_connections == 0)
        it.site.page("/", "free again")
        assert await (await it.client.get(f"{it.url}/")).content() == b"free again"


async def test_answers_that_nobody_reads_give_their_places_back(reactor: Any) -> None:
    async with reaching(reactor, BRIEF) as it:
        it.site.endless("/")
        it.site.redirect("/moved", "/")
        for path in ["/", "/moved"] * MOST_AT_ONCE:
            assert (await it.client.get(f"{it.url}{path}")).code == 200
        await until(reactor, lambda: it.site.open_connections == 0)
