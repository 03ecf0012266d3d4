"""Fake web services for tests, benches and people: `python -m tools.web.testing --help` serves one.

A fake speaks its service's protocol over real HTTP, finds what it is told to, and records its requests. It can fail
in every way the service was seen or documented to fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.interfaces import IReactorTime

from llm.testing.serving import CountedConnections, serve
from tools.web.testing.proxy import FakeProxy, SearchPages
from tools.web.testing.search_engines import FakeBrave, FakePerplexity, FakeSearxng
from tools.web.testing.service import FACTS, HITS, ApiRequest, FakeService, Hit, known
from tools.web.testing.site import FakeSite, serve_site
from tools.web.testing.tavily import FakeTavily

__all__ = [
    "FACTS",
    "HITS",
    "SERVICES",
    "ApiRequest",
    "FakeBrave",
    "FakePerplexity",
    "FakeProxy",
    "FakeSearxng",
    "FakeService",
    "FakeSite",
    "FakeTavily",
    "Hit",
    "SearchPages",
    "known",
    "serve",
    "serve_proxy",
    "serve_site",
]

#: The services that `python -m tools.web.testing` can serve, beside the proxy.
SERVICES: dict[str, type[FakeService]] = {
    "brave": FakeBrave,
    "perplexity": FakePerplexity,
    "searxng": FakeSearxng,
    "tavily": FakeTavily,
}


@asynccontextmanager
async def serve_proxy(pages: SearchPages, reactor: IReactorTime, port: int = 0) -> AsyncIterator[tuple[str, FakeProxy]]:
    """Serve a proxy on a loopback port; give its URL and factory.

    Port 0 takes a free one. `reactor` must be a real one.
    """
    proxy = FakeProxy(pages)
    counted = CountedConnections(proxy)  # type: ignore[arg-type]  # it wraps any factory
    listening = await TCP4ServerEndpoint(reactor, port, interface="127.0.0.1").listen(counted)
    try:
        yield f"http://127.0.0.1:{listening.getHost().port}", proxy
    finally:
        await listening.stopListening()
        await counted.close()
