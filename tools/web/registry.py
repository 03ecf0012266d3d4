"""Finds the provider that a name means. A new provider is a file, a line here and one in `mud_assistant.tools.web`.

docs/adding-a-search-provider.md says how to add one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from pydantic import ValidationError

from mud_assistant.tools.web.search import brave, perplexity, tavily
from mud_assistant.tools.web.search.api import ProviderOptions, Shared
from mud_assistant.tools.web.search.brave import BraveOptions, BraveSearchProvider
from mud_assistant.tools.web.search.duckduckgo import DuckDuckGoOptions, DuckDuckGoSearchProvider
from mud_assistant.tools.web.search.perplexity import PerplexityOptions, PerplexitySearchProvider
from mud_assistant.tools.web.search.searxng import SearxngOptions, SearxngSearchProvider
from mud_assistant.tools.web.search.tavily import TavilyOptions, TavilyProvider
from mud_assistant.tools.web.source.protocol import ReadProvider, SearchProvider

Chosen = TypeVar("Chosen", bound=ProviderOptions)


class MakeProvider(Protocol):
    """A provider's class, or a function like one. Raises ValueError when it cannot work with these settings."""

    def __call__(self, shared: Shared, key: str, url: str, options: Any) -> Any:  # Any: each has options of its own
        """Make the provider."""
        ...


class ProviderSpec(Struct, frozen=True):
    """How to make a provider: its class, its options, what it needs, and its usual address.

    A key is bound to the address, so a provider that takes a key and has a usual address names it here.
    """

    make: MakeProvider
    options: type[ProviderOptions] = ProviderOptions
    needs_key: bool = False
    needs_url: bool = False
    usual_url: str = ""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What the operator set for one provider. `key` is the key itself; references to keys are resolved elsewhere."""

    key: str = field(default="", repr=False)
    url: str = ""
    options: Mapping[str, object] = field(default_factory=dict)


_TAVILY = ProviderSpec(TavilyProvider, TavilyOptions, usual_url=tavily.URL)

#: In the order in which an owner reads them, those that need no key first.
SEARCH_PROVIDERS: dict[str, ProviderSpec] = {
    "duckduckgo": ProviderSpec(DuckDuckGoSearchProvider, DuckDuckGoOptions),
    "tavily": _TAVILY,
    "searxng": ProviderSpec(SearxngSearchProvider, SearxngOptions, needs_url=True),
    "perplexity": ProviderSpec(PerplexitySearchProvider, PerplexityOptions, needs_key=True, usual_url=perplexity.URL),
    "brave": ProviderSpec(BraveSearchProvider, BraveOptions, needs_key=True, usual_url=brave.URL),
}

READ_PROVIDERS: dict[str, ProviderSpec] = {
    "tavily": _TAVILY,
}


class Providers:
    """Makes providers from their settings. One that both searches and reads is made once and serves both."""

    def __init__(self, shared: Shared, settings: Mapping[str, ProviderSettings] | None = None) -> None:
        self._shared = shared
        self._settings = dict(settings or {})
        self._made: dict[tuple[str, ProviderSpec], Any] = {}

    def search(self, name: str) -> SearchProvider:
        """Return the search provider of this name. Raises ValueError that says what is wrong with its settings."""
        made: SearchProvider = self._provider(name, SEARCH_PROVIDERS, "search_provider")
        return made

    def read(self, name: str) -> ReadProvider:
        """Return the read provider of this name. Raises ValueError that says what is wrong with its settings."""
        made: ReadProvider = self._provider(name, READ_PROVIDERS, "read_provider")
        return made

    def renew(self, name: str, settings: ProviderSettings) -> None:
        """Make the provider of this name anew, with these settings, when it is asked for again."""
        self._settings[name] = settings
        for key in [key for key in self._made if key[0] == name]:
            self._close(self._made.pop(key))

    def close(self) -> None:
        """Close what providers hold, such as threads."""
        for provider in self._made.values():
            self._close(provider)
        self._made.clear()

    def _close(self, provider: Any) -> None:
        if hasattr(provider, "close"):
            provider.close()

    def _provider(self, name: str, specs: Mapping[str, ProviderSpec], setting: str) -> Any:
        spec = specs.get(name)
        if spec is None:
            raise ValueError(f"{setting} {name!r} is unknown; there are {', '.join(sorted(specs))}")
        if (name, spec) not in self._made:
            self._made[name, spec] = make_provider(name, spec, self._settings.get(name), self._shared)
        return self._made[name, spec]


def make_provider(name: str, spec: ProviderSpec, settings: ProviderSettings | None, shared: Shared) -> Any:
    """Make the provider that the settings describe. Raises ValueError."""
    settings = settings or ProviderSettings()
    refuse_what_is_missing(name, spec, settings)
    return spec.make(shared, settings.key, settings.url, options_of(name, spec.options, settings))


def refuse_what_is_missing(name: str, spec: ProviderSpec, settings: ProviderSettings) -> None:
    """Raise ValueError when a key or an address is missing that the provider needs."""
    if spec.needs_key and not settings.key:
        raise ValueError(f"{name} needs a key")
    if spec.needs_url and not settings.url:
        raise ValueError(f"{name} needs the address (url) of your server")


def options_of(name: str, options: type[Chosen], settings: ProviderSettings) -> Chosen:
    """Return the provider's own options, checked. Raises ValueError that says which is wrong."""
    try:
        return options.model_validate(dict(settings.options))
    except ValidationError as error:
        raise ValueError(f"{name}: {_first_error(error, options)}") from None


def _first_error(error: ValidationError, options: type[ProviderOptions]) -> str:
    """Return the first thing wrong with the options, without their values."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"there is no option {place!r}; there are {', '.join(options.model_fields) or 'none'}"
    return f"option {place!r}: {first['msg']}"
