"""How the tests of the search providers call them: over loopback to a fake, or over a canned exchange."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers

from mud_assistant.resilience import HttpExchange, Limits, Request, Sink
from mud_assistant.resilience.testing.fault_server import serve
from mud_assistant.tools.testing import now
from mud_assistant.tools.web.errors import WebError
from mud_assistant.tools.web.search.api import Shared
from mud_assistant.tools.web.search.brave import BraveSearchProvider
from mud_assistant.tools.web.search.perplexity import PerplexitySearchProvider
from mud_assistant.tools.web.search.searxng import SearxngSearchProvider
from mud_assistant.tools.web.search.tavily import TavilyProvider
from mud_assistant.tools.web.source.protocol import SearchProvider, SearchQuery
from mud_assistant.tools.web.testing import FakeBrave, FakePerplexity, FakeSearxng, FakeTavily
from mud_assistant.tools.web.testing.service import FakeService

KEY = "planted-0123456789"
WELL = SearchQuery("village well")
T = TypeVar("T")

#: Providers with an API, by name: their class and their fake.
SERVED: dict[str, tuple[Callable[[Shared, str, str], SearchProvider], type[FakeService]]] = {
    "brave": (BraveSearchProvider, FakeBrave),
    "perplexity": (PerplexitySearchProvider, FakePerplexity),
    "searxng": (SearxngSearchProvider, FakeSearxng),
    "tavily": (TavilyProvider, FakeTavily),
}


@asynccontextmanager
async def served(fake: FakeService, reactor: Any, clock: Any = None) -> AsyncIterator[tuple[Shared, str]]:
    """What a provider needs to speak to `fake`: time is the reactor's unless a `clock` is given."""
    exchange = HttpExchange(reactor)
    async with serve(fake, reactor) as url:
        try:
            yield Shared(exchange, clock or reactor), url
        finally:
            await exchange.close()


async def error_of(work: Awaitable[object]) -> WebError:
    """The WebError that `work` ends with."""
    with pytest.raises(WebError) as caught:
        await work
    return caught.value


@dataclass
class Canned:
    """An exchange that gives one answer to everything and keeps what it was asked."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: Exception | None = None
    asked: list[Request] = field(default_factory=list)

    async def perform(self, request: Request, sink: Sink, limits: Limits | None = None) -> None:
        self.asked.append(request)
        if self.status:
            sink.head(self.status, Headers({name: [value] for name, value in self.headers.items()}))
            sink.data(self.body)
        if self.error is not None:
            raise self.error

    @property
    def records(self) -> list[dict[str, Any]]:
        return [orjson.loads(request.body) for request in self.asked]


def canned(record: object = None, status: int = 200, **headers: str) -> Canned:
    """An exchange that answers with this record."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Canned(orjson.dumps(record if record is not None else {"results": []}), status, named)


def shared(exchange: Canned, clock: Clock | None = None) -> Shared:
    return Shared(exchange, clock or Clock())


def done(work: Awaitable[T]) -> T:
    """The result of what ends at once."""

    async def whole() -> T:
        return await work

    result: T = now(Deferred.fromCoroutine(whole()))
    return result


def failed(work: Awaitable[object]) -> WebError:
    """The WebError of what fails at once."""
    with pytest.raises(WebError) as caught:
        done(work)
    return caught.value
