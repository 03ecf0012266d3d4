"""The tables of the settings for web, memory and company, and what the fields of every table have in common.

The web: whether and how assistants search and read it. Memory: how they find what they know. Company: conversations,
manners, and what wakes an assistant besides speech. Common are bounds, addresses, and references to keys.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, IPvAnyNetwork, field_validator, model_validator

from mud_assistant.assistant.http_server.addresses import checked_network
from mud_assistant.assistant.keys.reference import check_reference
from mud_assistant.tools.web import READ_PROVIDERS, SEARCH_PROVIDERS

Seconds = Annotated[float, Field(gt=0, le=3600)]

_ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:/[\w./~-]*)?")


class Settings(BaseModel):
    """Base of every table of the settings: unknown names are refused, values are frozen."""

    # An owner who writes a key where its reference belongs must not find it in an error. A table is built at first use,
    # but for those that every assistant has.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


def _address(value: str) -> str:
    if value and not _ADDRESS.fullmatch(value):
        raise ValueError("give the address of a server, such as http://127.0.0.1:8080/v1")
    return value


def _by_reference(value: str) -> str:
    if value:
        check_reference(value)
    return value


#: The address of a server, empty for a usual place.
Address = Annotated[
    str,
    Field(description="the address of a server, such as http://127.0.0.1:8080/v1; empty for the usual one"),
    AfterValidator(_address),
]
#: A reference to a key, never the key itself: env:NAME, file:PATH or keyring:NAME; empty for none.
KeyReference = Annotated[
    str,
    Field(description="where the key is, never the key: env:NAME, file:PATH or keyring:NAME; empty for none"),
    AfterValidator(_by_reference),
]


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
    from mud_assistant.tools.web.fetch.hosts import own_domains  # noqa: PLC0415  (only where such a name is set)

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


class ToolsConfig(Settings):
    """Tools of your own, beside those there are. They are for all assistants of the process."""

    #: Modules with tools, such as "world.ai_tools", or "world.ai_tools:HUM" for one of them. In a game they are found
    #: from its folder, elsewhere also from the folder of these settings.
    modules: tuple[Annotated[str, Field(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*)?$", max_length=200)], ...] = (
        Field(default=(), max_length=100, examples=[("world.ai_tools",)])
    )


class MemoryConfig(Settings):
    """How memories are found: by their words, and as an option by their meaning."""

    #: The language of the game, in English: "english" knows endings of words ("walks" finds "walked"); any other
    #: language finds parts of words.
    language: str = Field(default="english", pattern=r"^[a-z]+$", max_length=40)
    #: What finds memories that mean something alike in other words: "off"; "embedded", a small model for English,
    #: fetched once; the "ollama" or the "openai" server at `vectors_url`, with any that speaks OpenAI's API.
    vectors: Literal["off", "embedded", "ollama", "openai"] = "off"
    #: Base URL of that server; empty for its usual place.
    vectors_url: Address = ""
    #: The model that is asked there, such as "all-minilm" or "text-embedding-3-small".
    vectors_model: str = Field(default="", max_length=200)
    #: A reference to the key for it, never the key itself: env:NAME, file:PATH or keyring:NAME.
    vectors_key: KeyReference = ""
    #: How many memories are shown before a line is answered, and given back by a search, at most. Those that are shown
    #: take at most 400 tokens, and a sixteenth of the window's room for the talk; above 5, in proportion more.
    shown: int = Field(default=5, ge=1, le=20)

    #: Whether it draws conclusions while nobody is there, with calls of its own model.
    sleep: bool = True
    #: The hour of the day, 0 to 24, at which it sleeps even with players there; unset: only when none is there.
    sleep_hour: float | None = Field(default=None, ge=0, lt=24)
    #: The most calls of its model in a night, of about 4,000 tokens each.
    sleep_calls: int = Field(default=3, ge=1, le=50)

    @model_validator(mode="after")
    def _has_model(self) -> MemoryConfig:
        """Require the model's name where a server is asked: vectors of different models cannot be compared."""
        example = {"ollama": "all-minilm", "openai": "text-embedding-3-small"}.get(self.vectors)
        if example and not self.vectors_model:
            raise ValueError(f'vectors = "{self.vectors}" needs vectors_model, such as "{example}"')
        return self


class PageTokenConfig(Settings):
    """A token with which a program uses the API of the operator's page."""

    #: A reference to the token, never the token itself: env:NAME, file:PATH or keyring:NAME.
    key: KeyReference
    #: What it may do: a "viewer" reads no words of players, an "operator" reads them, stops and decides, an "owner"
    #: changes settings and deletes.
    role: Literal["viewer", "operator", "owner"] = "viewer"


class PageConfig(Settings):
    """The settings of the operator's page."""

    #: Whether there is a page. In a game of Evennia it is at /assistants of the game's own web server.
    enabled: bool = True
    #: The port of a page outside games; 0 takes one that is free.
    port: int = Field(default=8410, ge=0, le=65_535)
    #: The address it listens on; another than this machine's own shows the page to the network.
    interface: str = Field(default="127.0.0.1", max_length=60, pattern=r"^[0-9A-Za-z.:]+$")
    #: Further names under which it may be opened, such as that of a proxy.
    hosts: tuple[Annotated[str, Field(min_length=1, max_length=253)], ...] = ()
    #: The addresses of proxies before it, such as 127.0.0.1: they are believed who their client is, and whether they
    #: came by HTTPS.
    proxies: tuple[Annotated[str, AfterValidator(checked_network)], ...] = ()
    #: Whether everybody who reaches the port may read /metrics; otherwise it takes a token or somebody logged in.
    open_metrics: bool = False
    #: Tokens for programs, by a name for each.
    tokens: dict[Annotated[str, Field(pattern=r"^[\w-]{1,40}$")], PageTokenConfig] = Field(default={}, max_length=50)


class MannerConfig(Settings):
    """The settings that say how an assistant behaves in company."""

    #: How long a conversation goes on without its name: so long after the last exchange, what the same player says is
    #: for it, unless they speak to somebody else, say farewell, or somebody else answers them. 0: never.
    conversation_seconds: Annotated[float, Field(ge=0, le=3600)] = 90.0
    #: Whether lines to everybody, such as "Hello everyone", are for it as well; one character in the room answers.
    to_everybody: bool = True
    #: Whether a player who speaks in company, names nobody and gets no answer is told once how to talk with it.
    hint: bool = True
    #: Whether it may answer with what it just heard or said, nearly word for word: a herald does. Otherwise such an
    #: answer is asked for once more.
    may_repeat: bool = False
    #: How old a line may be before its answer says what it answers; a greeting, a farewell or a pose that old gets no
    #: answer, nor does the line of somebody who is gone.
    late_after_seconds: Annotated[float, Field(ge=1, le=86400)] = 60.0
    #: What stands before such an answer: {name} stands for the speaker where others hear it, {line} for the line.
    late_words: str = Field(default='{name}, a while ago you said: "{line}"', min_length=1, max_length=200)
    #: How long it pauses between the pieces of a long speech; 0 says them all at once.
    pause_seconds: Annotated[float, Field(ge=0, le=10)] = 1.5
    #: How much time lies between two lines of assistants in one room at least; 0: none. Players are never held up.
    room_pause_seconds: Annotated[float, Field(ge=0, le=5)] = 1.5
    #: Said to a player who comes in, without asking the model; {name} stands for theirs. Empty: it greets nobody.
    greeting: str = Field(default="", max_length=300, examples=["Welcome, {name}."])
    #: Further greetings, said by chance to players it has met before, and not the same twice in a row; the first is
    #: then for those it has never met.
    more_greetings: tuple[Annotated[str, Field(min_length=1, max_length=300)], ...] = Field(
        default=(), max_length=20, examples=[("Mind the step, {name}.",)]
    )
    #: How many hours lie between two greetings of the same player at least.
    greet_hours: Annotated[float, Field(ge=0, le=8760)] = 12.0
    #: What wakes it besides speech: a pose that names it or that nobody else sees, a gift to it, the arrival of a
    #: player. Where it has a greeting, an arrival gets that and wakes it for nothing more.
    wake_on: Annotated[tuple[Literal["pose", "gift", "arrival"], ...], Field(max_length=3)] = ("pose", "gift")
    #: How long one person's poses wake it no more after one did, and likewise their gifts and their arrivals; speech to
    #: it always does.
    wake_seconds: Annotated[float, Field(ge=0, le=86400)] = 60.0
    #: Stands after its name where players look round in an Evennia game; empty for nothing. Who looks at the character
    #: itself is told in any case.
    ai_mark: str = Field(default="(AI)", max_length=20)
    #: The colour of what it says in an Evennia game; "none" leaves it to the game.
    speech_colour: Literal["none", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "grey"] = "none"


#: The name of a character's folder or file, or the plain name of an assistant.
WorkerName = Annotated[
    str,
    Field(
        pattern=r"^\w[\w' -]*$",
        max_length=60,
        description="names of assistants, or of characters in `characters`, such as sage",
    ),
]


class WorkerConfig(Settings):
    """Whom `mud-assistant worker` runs; several machines may run it with the same settings."""

    #: The assistants: each plays the character of this name, if there is one in `characters` or among those that ship,
    #: else it is who [assistant] says, under this name. Empty: the one of [assistant].
    assistants: tuple[WorkerName, ...] = Field(default=(), max_length=10_000, examples=[("sage", "mira")])
