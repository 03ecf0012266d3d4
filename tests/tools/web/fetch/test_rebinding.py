"""Rebinding with a real DNS server on loopback: its answers change, and every one of them is judged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.names import dns
from twisted.names.client import Resolver as NamesClient
from twisted.names.error import DomainError, ResolverError
from twisted.names.server import DNSServerFactory

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.fetcher import SafeFetcher
from mud_assistant.tools.web.fetch.url import UrlRefused
from tests.tools.web.fetch.fetching import QUICK, policy, running


class Flipping:
    """A zone: each query for an address takes the next of the answers, all with a life of 0 s."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.queries = 0

    def query(self, query: dns.Query, timeout: object = None) -> Deferred[Any]:
        if query.type != dns.A:
            return succeed(([], [], []))
        answer = self.answers[min(self.queries, len(self.answers) - 1)]
        self.queries += 1
        name = query.name.name
        return succeed(([dns.RRHeader(name, dns.A, ttl=0, payload=dns.Record_A(each)) for each in answer], [], []))


class FromDns:
    """A resolver that asks one DNS server."""

    def __init__(self, reactor: Any, port: int) -> None:
        self._client = NamesClient(servers=[("127.0.0.1", port)], timeout=(1,), reactor=reactor)

    async def resolve(self, name: str) -> Sequence[str]:
        try:
            answers, _, _ = await self._client.lookupAddress(name)
        except (ResolverError, DomainError) as error:
            raise WebError(ErrorKind.NETWORK, f"the name {name} was not found") from error
        return [answer.payload.dottedQuad() for answer in answers if answer.type == dns.A]


@asynccontextmanager
async def dns_server(reactor: Any, zone: Flipping) -> AsyncIterator[FromDns]:
    factory = DNSServerFactory(clients=[zone])
    port = reactor.listenUDP(0, dns.DNSDatagramProtocol(controller=factory), interface="127.0.0.1")
    try:
        yield FromDns(reactor, port.getHost().port)
    finally:
        await port.stopListening()


async def test_the_second_answer_is_judged_like_the_first(reactor: Any) -> None:
    zone = Flipping(["127.0.0.1"], ["169.254.169.254"])
    async with dns_server(reactor, zone) as names, running(reactor) as it:
        it.site.page("/", "public")
        fetcher = SafeFetcher(reactor, names, policy(it.port), QUICK)
        assert (await fetcher.fetch(it.at("/", "flip.example"))).body == b"public"
        assert zone.queries == 1, "resolved once, and connected to what was judged"
        with pytest.raises(UrlRefused, match="link-local"):
            await fetcher.fetch(it.at("/", "flip.example"))
        assert (zone.queries, it.site.connections) == (2, 1)


async def test_a_redirect_to_itself_after_a_change(reactor: Any) -> None:
    zone = Flipping(["127.0.0.1"], ["10.0.0.1"])
    async with dns_server(reactor, zone) as names, running(reactor) as it:
        it.site.redirect("/a", "/b")
        it.site.page("/b", "inside")
        with pytest.raises(UrlRefused, match="private network"):
            await SafeFetcher(reactor, names, policy(it.port), QUICK).fetch(it.at("/a", "flip.example"))
        assert it.site.count("/b") == 0


async def test_a_good_and_a_bad_answer_together(reactor: Any) -> None:
    async with dns_server(reactor, Flipping(["127.0.0.1", "192.168.0.1"])) as names, running(reactor) as it:
        with pytest.raises(UrlRefused, match="private network"):
            await SafeFetcher(reactor, names, policy(it.port), QUICK).fetch(it.at("/", "both.example"))
        assert it.site.connections == 0
