"""A fetcher for tests over loopback: names from a table, loopback allowed explicitly, short times."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

from mud_assistant.resilience.testing.fault_server import serve
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.fetcher import FetchLimits, SafeFetcher
from mud_assistant.tools.web.fetch.url import UrlOrigin, UrlPolicy
from mud_assistant.tools.web.testing.site import FakeSite

LOOPBACK = frozenset({ip_network("127.0.0.0/8")})
QUICK = FetchLimits(connect_seconds=2, whole_seconds=5)


@dataclass
class Names:
    """A resolver with a table: each look-up of a name takes its next answer, the last one for ever."""

    table: Mapping[str, Sequence[Sequence[str]]]
    asked: list[str] = field(default_factory=list)

    async def resolve(self, name: str) -> Sequence[str]:
        self.asked.append(name)
        if name not in self.table:
            raise WebError(ErrorKind.NETWORK, f"the name {name} was not found")
        answers = self.table[name]
        return answers[min(self.asked.count(name), len(answers)) - 1]


@dataclass
class Running:
    """A site under the name site.example, and a fetcher that finds it."""

    site: FakeSite
    port: int
    scheme: str
    names: Names
    fetcher: SafeFetcher

    def at(self, path: str, host: str = "site.example") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


def policy(port: int, origin: UrlOrigin = UrlOrigin.ANY) -> UrlPolicy:
    return UrlPolicy(ports=frozenset({port}), allow_private=LOOPBACK, url_origin=origin)


@asynccontextmanager
async def running(
    reactor: Any,
    limits: FetchLimits = QUICK,
    names: Mapping[str, Sequence[Sequence[str]]] | None = None,
    *,
    tls: Any = None,
    trust_root: Any = None,
    origin: UrlOrigin = UrlOrigin.ANY,
) -> AsyncIterator[Running]:
    site = FakeSite()
    table = {"site.example": [["127.0.0.1"]], "other.example": [["127.0.0.1"]], **(names or {})}
    async with serve(site, reactor, tls=tls) as url:
        parts = urlsplit(url)
        assert parts.port is not None
        resolver = Names(table)
        fetcher = SafeFetcher(reactor, resolver, policy(parts.port, origin), limits, trust_root=trust_root)
        yield Running(site, parts.port, parts.scheme, resolver, fetcher)
