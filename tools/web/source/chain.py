"""Several providers in order of preference: the first one that can answer does.

When a provider fails in a way that another may not (`FALLS_THROUGH`), the next one is asked; a wrong query and a
refused address end the chain. A provider that failed is left alone for a while (`standing.py`). The answer says who
served it and what went wrong before.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Awaitable, Sequence

from twisted.internet.interfaces import IReactorTime

from tools.web.errors import ErrorKind
from tools.web.source.health import CLIENTS, OF_A_READER, OF_A_SERVICE
from tools.web.source.links import ChainOptions, HasNewKey, Links, joined
from tools.web.source.protocol import (
    USUAL_SECONDS,
    ReadProvider,
    ReadResult,
    SearchProvider,
    SearchQuery,
    SearchResult,
    seconds_of,
)
from tools.web.source.served import Hits, Page, hits, page

__all__ = ["ChainOptions", "ReadChain", "SearchChain", "joined"]


class SearchChain:
    """Asks search providers in order."""

    def __init__(
        self,
        providers: Sequence[SearchProvider],
        clock: IReactorTime,
        random: random_module.Random,
        manner: ChainOptions | None = None,
        *,
        has_new_key: HasNewKey | None = None,
    ) -> None:
        """Set up the chain. `has_new_key` rereads the key of the named provider and tells whether it has changed."""
        self.name = ",".join(provider.name for provider in providers)
        self.total_seconds = sum(seconds_of(provider) or USUAL_SECONDS for provider in providers)
        self._manner = manner or ChainOptions()
        self._links: Links[SearchProvider] = Links(
            providers, lambda _: OF_A_SERVICE, clock, random, self._manner, has_new_key=has_new_key
        )

    async def search(self, query: SearchQuery) -> Hits:
        """Return the hits of the first provider that can answer.

        Raises WebError, with every reason when all failed. May be cancelled.
        """

        def is_enough(found: Sequence[SearchResult]) -> bool:
            return bool(found) or not self._manner.empty_falls_through

        served = await self._links.first(lambda provider: provider.search(query), is_enough)
        return hits(served.answer, served.by, served.failed)

    def troubles(self, now: float) -> list[str]:
        """Return for the owner what went wrong with each provider when it was asked last."""
        return self._links.troubles("search", now)

    def configuration_changed(self, name: str) -> None:
        """Ask the provider of this name again: it has new settings."""
        self._links.configuration_changed(name)


class ReadChain:
    """Asks readers in order. Those named in `clients` fetch pages themselves, so their failures are the page's."""

    def __init__(
        self,
        providers: Sequence[ReadProvider],
        clock: IReactorTime,
        random: random_module.Random,
        manner: ChainOptions | None = None,
        clients: frozenset[str] = CLIENTS,
        *,
        has_new_key: HasNewKey | None = None,
    ) -> None:
        self.name = ",".join(provider.name for provider in providers)
        self.total_seconds = sum(seconds_of(provider) or USUAL_SECONDS for provider in providers)

        def cools(provider: ReadProvider) -> frozenset[ErrorKind]:
            return frozenset() if provider.name in clients else OF_A_READER

        self._links: Links[ReadProvider] = Links(
            providers, cools, clock, random, manner or ChainOptions(), has_new_key=has_new_key
        )

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> Page:
        """Return the page from the first reader that can read it. Raises WebError, with every reason when all failed.

        May be cancelled. Two readers' texts of one page differ, so a caller that pages through it keeps the whole
        (`caching.py`).
        """

        def ask(provider: ReadProvider) -> Awaitable[ReadResult]:
            return provider.read_url(url, offset=offset, max_length=max_length)

        served = await self._links.first(ask, lambda _: True)
        return page(served.answer, served.by, served.failed)

    def troubles(self, now: float) -> list[str]:
        """Return for the owner what went wrong with each reader when it was asked last."""
        return self._links.troubles("reading", now)

    def configuration_changed(self, name: str) -> None:
        """Ask the reader of this name again: it has new settings."""
        self._links.configuration_changed(name)
