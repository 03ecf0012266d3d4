"""The settings of the web, which say whether and how assistants search and read it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, IPvAnyNetwork, field_validator, model_validator

from assistant.config.types import Address, KeyReference, Settings
from tools.web import READ_PROVIDERS, SEARCH_PROVIDERS


class WebProviderConfig(Settings):
    """One provider of searches or pages."""

    #: A reference to its key, never the key itself: env:NAME, file:PATH or keyring:NAME.
    key: KeyReference = ""
    #: Its base URL, where it is your own server; empty for its usual place.
    url: Address = ""
    #: How often it may be asked; unset: what it allows without a contract.
    per_minute: float | None = Field(default=None, gt=0, le=10_000)
    #: What only this provider has, such as search_depth of tavily; docs/web.md lists them.
    options: dict[str, str | int | float | bool | tuple[str, ...]] = Field(default={})


def _host_name(written: str) -> str:
    """Return the normal form of a host as people write it."""
    from tools.web.fetch.hosts import own_domains  # noqa: PLC0415  (only where such a name is set)

    try:
        (name,) = own_domains([written])
    except ValueError as error:
        raise ValueError(
            f"'{written[:80]}' is no host ({error}): write a name such as nas.lan, an address, or a network such as "
            "192.168.7.0/24"
        ) from None
    return name


PrivateName = Annotated[str, AfterValidator(_host_name)]


class WebConfig(Settings):
    """The settings for searching and reading the web. Without a search provider assistants do neither."""

    #: duckduckgo, tavily, searxng, perplexity, brave: one, or several in the order in which they are tried.
    search_provider: tuple[str, ...] = ()
    #: direct, jina, tavily, crawl4ai: one, or several in order.
    read_provider: tuple[str, ...] = ("direct",)
    #: Characters of a page that the model is given at once.
    max_page_length: int = Field(default=15_000, ge=500, le=200_000)
    #: Which pages may be opened: "seen" only those whose address stood in a search result or a player's words.
    url_origin: Literal["seen", "any"] = "seen"
    #: Only these domains and what is below them; empty: all but the blocked ones.
    allow_domains: tuple[str, ...] = ()
    #: Domains that are never searched or read, with what is below them.
    block_domains: tuple[str, ...] = ()
    #: Of your own network, whose pages may be read: names such as nas.lan (with all below them), addresses, networks
    #: such as 192.168.7.0/24; pages elsewhere must be public.
    allow_private: tuple[Annotated[IPvAnyNetwork | PrivateName, Field(union_mode="left_to_right")], ...] = ()
    #: The ports at which pages are read.
    ports: tuple[Annotated[int, Field(ge=1, le=65_535)], ...] = (80, 443)
    #: How often one assistant may search in an hour.
    searches_per_hour: int = Field(default=60, ge=0, le=100_000)
    #: How often one assistant may open a page in an hour.
    pages_per_hour: int = Field(default=60, ge=0, le=100_000)
    #: How long the hits of a search are kept and not asked for again.
    search_cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 900.0
    #: How long a page is kept and not fetched again.
    page_cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 3600.0
    #: Keys, addresses and rates by the provider's name.
    providers: dict[str, WebProviderConfig] = Field(default={})

    @field_validator("search_provider", "read_provider", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) and value else value or ()

    @model_validator(mode="after")
    def _known(self) -> WebConfig:
        """Reject a name that no provider has. For searching and reading, the error lists the names there are."""
        for field, names in (("search_provider", SEARCH_PROVIDERS), ("read_provider", READ_PROVIDERS)):
            for name in getattr(self, field):
                if name not in names:
                    raise ValueError(f"{field}: there is no '{name}'; those there are: {', '.join(names)}")
        for name in self.providers:
            if name not in {*SEARCH_PROVIDERS, *READ_PROVIDERS}:
                raise ValueError(f"providers: there is no '{name}'")
        return self
