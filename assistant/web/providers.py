"""Makes the web providers of the settings, with their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from assistant.config.sections import WebConfig, WebProviderConfig
from assistant.web.tools import policy_of
from resilience import HttpExchange
from tools.web.extracting.extractor import Extractor
from tools.web.fetch.fetcher import SafeFetcher
from tools.web.fetch.judge import Resolver, ThreadedResolver, judge_for_reader
from tools.web.fetch.url import UrlOrigin
from tools.web.read.crawl4ai import Crawl4AIOptions, Crawl4AIReadProvider, Crawl4AISettings
from tools.web.read.direct import DirectReadProvider
from tools.web.read.jina import JinaOptions, JinaReadProvider, JinaSettings
from tools.web.read.judging import JudgedReader
from tools.web.registry import Providers, ProviderSettings, options_of
from tools.web.search.api import ProviderOptions, Shared
from tools.web.source.protocol import ReadProvider, SearchProvider


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
                jina = replace(jina, base_url=settings.url or jina.base_url)
                return JinaReadProvider(self._shared, self._judge, settings.key, jina)
            case "crawl4ai":
                crawl4ai = Crawl4AISettings(**options_of(name, Crawl4AIOptions, settings).model_dump())
                crawl4ai = replace(crawl4ai, base_url=settings.url or crawl4ai.base_url)
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
