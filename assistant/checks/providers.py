"""Makes the web providers of the settings, with their keys, and checks them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from assistant.checks.check_runner import CheckRunner
from assistant.checks.finding import FindingState, Problem
from assistant.checks.web import reads, searches
from assistant.config.web import WebConfig, WebProviderConfig
from assistant.errors import KeyReferenceError
from assistant.keys.reference import KEY_SECONDS, KeySources, resolve_key

if TYPE_CHECKING:
    from assistant.web.providers import WebProviders

#: The longest time for a search and for a page, in seconds: providers give up earlier by themselves.
SEARCH_SECONDS = 30.0
PAGE_SECONDS = 60.0
_NOT_SET = 'the web is not set up: set web.search_provider, for example to ["duckduckgo"], or run mud-assistant setup'

#: Makes the providers of these settings. The keys are given by provider name.
MakeProviders = Callable[[WebConfig, Mapping[str, str]], "WebProviders"]


@dataclass(frozen=True, slots=True)
class WebChecks:
    """The checks of all providers of [web]. Each is checked on its own, because a fallback must work too."""

    config: WebConfig
    keys: KeySources
    runner: CheckRunner
    page: str
    make: MakeProviders

    async def run(self) -> None:
        """Run the checks."""
        config = self.config
        if not config.search_provider:
            self.runner.note("web", FindingState.WRONG, _NOT_SET)
            return
        keys: dict[str, str] = {}
        for name in dict.fromkeys((*config.search_provider, *config.read_provider)):
            if (key := await self._key(name)) is not None:
                keys[name] = key
        providers = self.make(config, keys)
        try:
            await self._each(providers, keys)
        finally:
            await providers.stop()

    async def _each(self, providers: WebProviders, keys: Collection[str]) -> None:
        """Check each provider whose key could be resolved."""
        check = self.runner.check
        for name in self.config.search_provider:
            if name in keys:
                await check(f"search {name}", SEARCH_SECONDS, partial(self._search, providers, name))
        for name in self.config.read_provider:
            if name in keys:
                await check(f"read {name}", PAGE_SECONDS, partial(self._read, providers, name))

    async def _key(self, name: str) -> str | None:
        """Return the provider's key: empty when none is set, None when it cannot be resolved."""
        config = self.config.providers.get(name, WebProviderConfig())
        key = ""

        async def reference() -> str:
            nonlocal key
            try:
                key = await resolve_key(config.key, self.keys)
            except KeyReferenceError as error:
                raise Problem(f"{error} (web.providers.{name}.key)") from error
            return f"{config.key} leads to one"

        if config.key and not await self.runner.check(f"key {name}", KEY_SECONDS, reference):
            return None
        return key

    async def _search(self, providers: WebProviders, name: str) -> str:
        try:
            provider = providers.search(name)
        except ValueError as error:
            raise Problem(f"{error}: see web.providers.{name}") from error
        return await searches(provider, self.runner.clock)

    async def _read(self, providers: WebProviders, name: str) -> str:
        try:
            provider = providers.read(name)
        except ValueError as error:
            raise Problem(f"{error}: see web.providers.{name}") from error
        return await reads(provider, self.page, self.runner.clock)
