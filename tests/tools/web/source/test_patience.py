"""How long each provider is waited for: what it needs by itself, counted from its turn on."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.resilience import HttpExchange
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.read.crawl4ai import Crawl4AIReadProvider, Crawl4AISettings
from mud_assistant.tools.web.read.jina import JinaReadProvider
from mud_assistant.tools.web.search.api import Shared
from mud_assistant.tools.web.source.answers import Hits, PageSource, SearchSource, WebPage
from mud_assistant.tools.web.source.first_of import FirstOf
from mud_assistant.tools.web.source.paced import Paced
from mud_assistant.tools.web.source.protocol import ReadProvider, ReadResult, SearchQuery, seconds_of
from mud_assistant.tools.web.source.state import OF_A_READER, ProviderState, Rate
from tests.tools.web.scripted import HIT, QUERY, Heard, Scripted


class Slow(Scripted):
    """Takes as long as it is told, and says how long it may take."""

    def __init__(self, clock: Clock, takes: float, total: float) -> None:
        super().__init__("slow", None)
        self.total_seconds = total
        self._clock, self._takes = clock, takes

    def search(self, query: Any) -> Any:
        waiting: Any = super().search(query)
        self._clock.callLater(self._takes, lambda: waiting.called or waiting.callback((HIT,)))
        return waiting


def chained(clock: Clock, provider: Slow, **rate: Any) -> FirstOf[SearchQuery, Hits]:
    state = ProviderState(clock.seconds, Random(1), Rate(**rate))  # noqa: S311  (jitter)
    return FirstOf([Paced(SearchSource(provider), state, clock)], clock)


def reading(clock: Clock, reader: ReadProvider) -> FirstOf[str, WebPage]:
    state = ProviderState(clock.seconds, Random(1), Rate(), OF_A_READER)  # noqa: S311  (jitter)
    return FirstOf([Paced(PageSource(reader), state, clock)], clock)


def test_a_provider_has_the_time_it_says_it_needs() -> None:
    clock = Clock()
    heard = Heard(chained(clock, Slow(clock, takes=44, total=45)).ask(QUERY))
    clock.pump([1] * 44)
    assert list(heard.value) == [HIT]
    late = Heard(chained(clock, Slow(clock, takes=50, total=45)).ask(QUERY))
    clock.pump([1] * 46)
    assert late.kind is ErrorKind.TIMEOUT
    assert "45 s" in late.error.message


def test_the_wait_for_its_turn_is_not_the_providers_time() -> None:
    clock = Clock()
    chain = chained(clock, Slow(clock, takes=19, total=20), seconds=9.0, burst=1, patience_seconds=10.0)
    first, second = Heard(chain.ask(QUERY)), Heard(chain.ask(QUERY))
    clock.pump([1] * 19)
    assert first.done
    assert not second.done
    clock.pump([1] * 9)
    assert list(second.value) == [HIT]


@pytest.mark.parametrize("name", ["jina", "crawl4ai"])
def test_the_readers_are_waited_for_as_long_as_they_need(reactor: Any, name: str) -> None:
    clock = Clock()
    shared = Shared(HttpExchange(reactor), clock)

    async def judge(_: str) -> None:
        return None

    readers: dict[str, ReadProvider] = {
        "jina": JinaReadProvider(shared, judge),
        "crawl4ai": Crawl4AIReadProvider(shared, judge, settings=Crawl4AISettings(total_seconds=60.0)),
    }
    least = {"jina": 30.0, "crawl4ai": 60.0}[name]
    assert (seconds_of(readers[name]) or 0) > least
    assert reading(clock, readers[name]).total_seconds > least

    class Page:
        total_seconds = seconds_of(readers[name])

        def __init__(self) -> None:
            self.name = name

        def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> Deferred[ReadResult]:
            page: Deferred[ReadResult] = Deferred()
            clock.callLater(least - 1, page.callback, ReadResult(url, "", "text", 4))
            return page

    heard = Heard(reading(clock, Page()).ask("https://a.org/"))
    clock.pump([1] * int(least))
    assert heard.value.content == "text"
