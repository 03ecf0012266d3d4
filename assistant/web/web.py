"""The web of a process: the providers of the settings with their keys, and the chains that each assistant's tools use.

tool -> quota of the assistant -> filter by host -> cache -> chain -> for each provider: pace -> provider
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from msgspec import structs

from mud_assistant.assistant.config.sections import WebConfig, WebProviderConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.web.tools import policy_of, web_tools
from mud_assistant.resilience import HttpExchange
from mud_assistant.tools import Tool
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.extracting.extractor import Extractor
from mud_assistant.tools.web.fetch.fetcher import SafeFetcher
from mud_assistant.tools.web.fetch.judge import Resolver, ThreadedResolver, judge_for_reader
from mud_assistant.tools.web.fetch.url import UrlOrigin
from mud_assistant.tools.web.read.crawl4ai import Crawl4AIOptions, Crawl4AIReadProvider, Crawl4AISettings
from mud_assistant.tools.web.read.direct import DirectReadProvider
from mud_assistant.tools.web.read.jina import JinaOptions, JinaReadProvider, JinaSettings
from mud_assistant.tools.web.read.judging import JudgedReader
from mud_assistant.tools.web.registry import Providers, ProviderSettings, options_of
from mud_assistant.tools.web.search.api import ProviderOptions, Shared
from mud_assistant.tools.web.search.filtering import Domains, FilteredSearch
from mud_assistant.tools.web.source.answers import Hits, PageSource, SearchSource, WebPage
from mud_assistant.tools.web.source.cached import Cached, page_cache, search_cache
from mud_assistant.tools.web.source.first_of import FirstOf
from mud_assistant.tools.web.source.paced import Allotted, HourlyQuota, Paced
from mud_assistant.tools.web.source.protocol import ReadProvider, SearchProvider, SearchQuery
from mud_assistant.tools.web.source.state import OF_A_SERVICE, ProviderState, Rate, kinds_of_reader

#: Returns the current key of the provider of this name, empty when there is none.
RereadKey = Callable[[str], Awaitable[str]]
#: How often a provider may be asked in a minute by default, by its name: what it allows without a contract.
USUAL_PER_MINUTE = {
    "duckduckgo": 20.0,
    "tavily": 100.0,
    "searxng": 60.0,
    "perplexity": 50.0,
    "brave": 60.0,
    "jina": 20.0,
}
#: The default for the owner's own servers, and for pages that are read directly.
OTHERWISE_PER_MINUTE = 120.0


class Web:
    """The web that all assistants of a process share: the providers of the settings, in order, paced and cached."""

    # Any: the reactor as clock.
    def __init__(
        self,
        config: WebConfig,
        providers: WebProviders,
        reactor: Any,
        random: Random,
        reread_key: RereadKey | None = None,
    ) -> None:
        """Make the chains of providers. Raises SettingsError when a provider cannot work with its settings.

        `reread_key` returns the current key of a provider, empty when there is none.
        """
        self._reread_key = reread_key
        self._config = config
        self._now = reactor.seconds
        self._providers = providers
        self._clock = reactor
        self._random = random
        self._quotas: dict[str, tuple[HourlyQuota, HourlyQuota]] = {}
        try:
            self._search = [self._paced_search(name) for name in config.search_provider]
            self._readers = [self._paced_reader(name) for name in config.read_provider]
        except ValueError as error:
            raise SettingsError(f"web: {error}") from error
        self._found = search_cache(reactor, ttl_seconds=config.search_cache_seconds)
        self._searches = FirstOf(self._search, reactor, has_new_key=self._has_new_key)
        domains = Domains(config.allow_domains, config.block_domains)
        self._searching = FilteredSearch(Cached(self._searches, self._found), domains)
        self._pages = page_cache(reactor, ttl_seconds=config.page_cache_seconds)
        self._reads = FirstOf(self._readers, reactor, has_new_key=self._has_new_key)
        self._reading = Cached(self._reads, self._pages)

    def tools(self, assistant: str) -> tuple[Tool, ...]:
        """Return the tools of one assistant, which has its own quota."""
        searches, pages = self._quotas_of(assistant)
        return web_tools(
            self._config,
            Allotted(self._searching, searches),
            Allotted(self._reading, pages),
            self._now,
            (self._searches.total_seconds, self._reads.total_seconds),
        )

    def left(self, assistant: str) -> tuple[int, int]:
        """Return how many searches and pages this assistant has left in this hour."""
        searches, pages = self._quotas_of(assistant)
        return searches.left, pages.left

    def _quotas_of(self, assistant: str) -> tuple[HourlyQuota, HourlyQuota]:
        """Return the quotas of searches and pages of one assistant. It keeps them when it is restarted."""
        now, config = self._now, self._config
        if assistant not in self._quotas:
            searches = HourlyQuota(config.searches_per_hour, now, "searches", whose=assistant)
            self._quotas[assistant] = searches, HourlyQuota(config.pages_per_hour, now, "pages", whose=assistant)
        return self._quotas[assistant]

    async def settings_changed(self) -> None:
        """Read the keys again, and ask every provider again, including those that refused their key."""
        names = dict.fromkeys((*self._config.search_provider, *self._config.read_provider))
        for name in names:
            self._forgive(name)
        self._found.forget_errors()
        self._pages.forget_errors()
        for name in names:
            await self._has_new_key(name)

    async def stop(self) -> None:
        """End the threads and the process that the providers need."""
        await self._providers.stop()

    def status(self) -> str:
        """Return for the owner what went wrong lately, with a line for each provider; empty when nothing did."""
        now = self._now()
        return "\n".join(
            [*self._searches.describe_failures("search", now), *self._reads.describe_failures("reading", now)]
        )

    async def _has_new_key(self, name: str) -> bool:
        """Read the key of this provider again, and use it from now on. Return True when it has changed."""
        if self._reread_key is None or not self._providers.give_key(name, await self._reread_key(name)):
            return False
        for search in self._search:
            if search.name == name:
                search.replace(SearchSource(self._providers.search(name)))
        for reader in self._readers:
            if reader.name == name:
                reader.replace(PageSource(self._providers.read(name)))
        self._forgive(name)
        return True

    def _forgive(self, name: str) -> None:
        """Forget this provider's failures, and the pauses it asked for."""
        self._searches.change_configuration(name)
        self._reads.change_configuration(name)

    def _paced_search(self, name: str) -> Paced[SearchQuery, Hits]:
        return Paced(SearchSource(self._providers.search(name)), self._state(name, OF_A_SERVICE), self._clock)

    def _paced_reader(self, name: str) -> Paced[str, WebPage]:
        return Paced(PageSource(self._providers.read(name)), self._state(name, kinds_of_reader(name)), self._clock)

    def _state(self, name: str, cools: frozenset[ErrorKind]) -> ProviderState:
        per_minute = self._providers.setting(name).per_minute or USUAL_PER_MINUTE.get(name, OTHERWISE_PER_MINUTE)
        return ProviderState(self._now, self._random, Rate(60.0 / per_minute), cools)


class WebProviders:
    """The providers of the settings, made by name. `keys` holds the keys themselves, by provider."""

    # Any: the reactor as clock and as maker of connections, threads and processes.
    def __init__(
        self,
        config: WebConfig,
        keys: Mapping[str, str],
        reactor: Any,
        exchange: HttpExchange,
        resolver: Resolver | None = None,
        *,
        wall: Callable[[], float] | None = None,
    ) -> None:
        self._config = config
        self._wall = wall
        self._keys = dict(keys)
        self._reactor = reactor
        # The tool checks whether the model may open a page at all. A redirect leads to an address not seen before.
        self._policy = replace(policy_of(config), url_origin=UrlOrigin.ANY)
        self._resolver = resolver or ThreadedResolver(reactor)
        self._extractor = Extractor(reactor, reactor)
        self._shared = Shared(exchange, reactor)
        self._registered = Providers(self._shared, {name: self._settings(name) for name in config.providers})

    def give_key(self, name: str, key: str) -> bool:
        """Use another key for the provider of this name from now on. Return False for an empty key or the same one."""
        if not key or key == self._keys.get(name, ""):
            return False
        self._keys[name] = key
        self._registered.renew(name, self._settings(name))
        return True

    def setting(self, name: str) -> WebProviderConfig:
        """Return the owner's settings for this provider."""
        return self._config.providers.get(name, WebProviderConfig())

    def search(self, name: str) -> SearchProvider:
        """Return the search provider of this name. Raises ValueError, which says what is wrong with its settings."""
        return self._registered.search(name)

    def read(self, name: str) -> ReadProvider:
        """Return the reader of this name. Raises ValueError, which says what is wrong with its settings.

        A reader outside this program gets no URL that this program would not open itself.
        """
        settings = self._settings(name)
        match name:
            case "direct":
                if settings.key or settings.url:
                    raise ValueError("direct takes neither a key nor an address: it reads pages itself")
                options_of(name, ProviderOptions, settings)
                fetcher = SafeFetcher(self._reactor, self._resolver, self._policy, wall=self._wall)
                return DirectReadProvider(fetcher, self._extractor)
            case "jina":
                jina = JinaSettings(**options_of(name, JinaOptions, settings).model_dump())
                jina = structs.replace(jina, base_url=settings.url or jina.base_url)
                return JinaReadProvider(self._shared, self._judge, settings.key, jina)
            case "crawl4ai":
                crawl4ai = Crawl4AISettings(**options_of(name, Crawl4AIOptions, settings).model_dump())
                crawl4ai = structs.replace(crawl4ai, base_url=settings.url or crawl4ai.base_url)
                return Crawl4AIReadProvider(self._shared, self._judge, settings.key, crawl4ai)
            case _:
                return JudgedReader(self._registered.read(name), self._judge)

    async def stop(self) -> None:
        """End the threads and the process that the providers need."""
        self._registered.close()
        if isinstance(self._resolver, ThreadedResolver):
            self._resolver.close()
        await self._extractor.stop()

    async def _judge(self, url: str) -> None:
        await judge_for_reader(url, self._policy, None, self._resolver)

    def _settings(self, name: str) -> ProviderSettings:
        setting = self.setting(name)
        return ProviderSettings(self._keys.get(name, ""), setting.url, setting.options)
