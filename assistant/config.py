"""The settings of an assistant and its model: bounded, frozen, and read once at the composition root."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, IPvAnyNetwork, field_validator, model_validator

from assistant.classify import Verdict
from assistant.keys import check_reference
from tools.web.names import READ_PROVIDERS, SEARCH_PROVIDERS

Seconds = Annotated[float, Field(gt=0, le=3600)]

_ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:/[\w./~-]*)?")
DEFAULT_PERSONA = "You are an old, kind scholar who keeps the library of a small hamlet and knows its stories."


class _Settings(BaseModel):
    # Who gives a key where its reference belongs must not find it in an error.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _address(value: str) -> str:
    if value and not _ADDRESS.fullmatch(value):
        raise ValueError("give the address of a server, such as http://127.0.0.1:8080/v1")
    return value


def _by_reference(value: str) -> str:
    if value:
        check_reference(value)
    return value


#: The address of a server, empty for a usual place.
Address = Annotated[str, AfterValidator(_address)]
#: A reference to a key, never the key itself: env:NAME, file:PATH or keyring:NAME; empty for none.
KeyReference = Annotated[str, AfterValidator(_by_reference)]


class PriceConfig(_Settings):
    """What a million tokens cost, in the owner's currency. Unset: the price of `input`."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class ModelConfig(_Settings):
    """Which model thinks, and how it is asked."""

    #: "auto" takes a local Ollama that answers and has a model, else the embedded model.
    provider: str = "auto"
    #: Empty: the provider's own choice where it has one. For the embedded model, the path of a GGUF file.
    model: str = ""
    #: Base URL; empty for the provider's usual place.
    url: Address = ""
    #: A reference to the key, never the key itself: env:NAME, file:PATH or keyring:NAME.
    key: KeyReference = ""
    #: The context window in tokens.
    context_tokens: int = Field(default=8192, ge=1024, le=2_000_000)
    #: The longest answer in tokens.
    max_answer_tokens: int = Field(default=400, ge=16, le=32_000)
    temperature: float | None = Field(default=None, ge=0, le=2)
    #: Turns a thinking model's thoughts on or off; unset leaves it to the model.
    think: bool | None = None
    #: "required" makes servers that can enforce it answer with a tool call.
    tool_choice: Literal["auto", "required"] = "auto"
    #: Show the model examples of how to act; small models need them.
    examples: bool = True
    #: Search the web for what somebody asks before the model is asked, for models too small to do it themselves; unset:
    #: only for the embedded model.
    search_first: bool | None = None
    #: For the cost of a call, when the provider does not report it.
    prices: PriceConfig | None = None
    #: How often one request is made in all when it fails in a way that may pass.
    max_attempts: int = Field(default=3, ge=1, le=10)
    #: How many requests may be on their way to this server; unset: 1 for the embedded model, 4 for a server of your
    #: own, 32 for a provider on the internet.
    max_in_flight: int | None = Field(default=None, ge=1, le=1000)
    connect_seconds: Seconds = 5.0
    first_byte_seconds: Seconds = 60.0
    idle_seconds: Seconds = 60.0
    #: How long nothing but signs of life may come.
    progress_seconds: Seconds = 300.0


class AssistantConfig(_Settings):
    """Who the assistant is and how it behaves."""

    name: str = Field(default="Sage", min_length=1, max_length=40, pattern=r"^\w[\w' -]*$")
    aliases: tuple[str, ...] = ()
    persona: str = Field(default=DEFAULT_PERSONA, max_length=8000)
    #: What happens to text without a tool call: kept as a thought, spoken, or spoken when the assistant was addressed.
    plain_text: Literal["think", "speak", "speak_if_addressed"] = "speak_if_addressed"
    #: Whether the first sentence is spoken while the rest of the answer still comes.
    speak_early: bool = True
    #: The tools it may use; unset means all there are.
    tools: tuple[str, ...] | None = None
    max_steps: int = Field(default=5, ge=1, le=10)
    run_seconds: Seconds = 120.0
    max_run_tokens: int = Field(default=60_000, ge=1000)
    max_format_errors: int = Field(default=3, ge=1, le=10)
    #: Done, as an emote, when the model cannot be reached or loses its thread; at most once in `excuse_every_seconds`.
    excuse: str = Field(default="looks lost in thought and does not answer just now.", min_length=1, max_length=200)
    excuse_every_seconds: Seconds = 60.0
    #: Done, as an emote, when the budget of the day is used up; as rarely as the excuse.
    budget_excuse: str = Field(
        default="stifles a yawn: that was enough talk for one day.", min_length=1, max_length=200
    )
    awake_seconds: Seconds = 5.0
    asleep_seconds: Seconds = 60.0
    join_seconds: Annotated[float, Field(ge=0, le=10)] = 0.25
    inbox_limit: int = Field(default=500, ge=1, le=100_000)
    #: The permission it acts with at most, on the game's ladder: 0 guest, 1 player ... 5 developer.
    permission: int = Field(default=1, ge=0, le=5)
    #: Whose word the text of rooms and things counts as: a player's, who may have written it.
    world_text_permission: int = Field(default=1, ge=0, le=5)
    #: The permission that a call of a tool takes, where the owner wants another than the tool's own.
    needs: dict[str, Annotated[int, Field(ge=0, le=5)]] = {}
    #: Commands of the game that it never runs, beside those nobody's assistant may run.
    denied_commands: tuple[str, ...] = ()
    #: Calls of one run: of all kinds, of speech, and over the network.
    max_calls: int = Field(default=20, ge=1, le=200)
    max_spoken: int = Field(default=3, ge=1, le=20)
    max_network: int = Field(default=6, ge=0, le=50)
    min_permission: int = Field(default=0, ge=0, le=5)
    room_speech: Verdict = Verdict.CONTEXT
    channel_speech: Verdict = Verdict.CONTEXT


class AllowanceConfig(_Settings):
    """How much of each may be used in a day; unset is unlimited. `money` is in the currency of the prices."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)


class BudgetConfig(_Settings):
    """What may be spent in a day: by all assistants together, by each of them, and for each player."""

    total: AllowanceConfig = AllowanceConfig()
    assistant: AllowanceConfig = AllowanceConfig()
    player: AllowanceConfig = AllowanceConfig()
    #: When the day ends: midnight, so many hours east of Greenwich.
    utc_offset_hours: float = Field(default=0.0, ge=-14, le=14)


class JournalConfig(_Settings):
    """Where it is written down what was heard, thought and done, and for how long."""

    #: An SQLite file, from the folder of the settings; empty: in memory, and gone with the program.
    file: str = ""
    #: How long finished runs and events are kept, and how much of them at most.
    keep_days: float = Field(default=90.0, gt=0, le=36_500)
    max_bytes: int = Field(default=256 * 1024 * 1024, ge=1024 * 1024)


class WebProviderConfig(_Settings):
    """One provider of searches or pages."""

    #: A reference to its key, never the key itself: env:NAME, file:PATH or keyring:NAME.
    key: KeyReference = ""
    #: Its base URL, where it is your own server; empty for its usual place.
    url: Address = ""
    #: How often it may be asked; unset: what it allows without a contract.
    per_minute: float | None = Field(default=None, gt=0, le=10_000)
    #: What only this provider has, such as search_depth of tavily; docs/web.md lists them.
    options: dict[str, str | int | float | bool | tuple[str, ...]] = {}


def _host_name(written: str) -> str:
    """A host as people write it, in its normal form."""
    from tools.web.hosts import domains  # noqa: PLC0415  (only where such a name is set)

    try:
        (name,) = domains([written])
    except ValueError as error:
        raise ValueError(
            f"'{written[:80]}' is no host ({error}): write a name such as nas.lan, an address, or a network such as "
            "192.168.7.0/24"
        ) from None
    return name


PrivateName = Annotated[str, AfterValidator(_host_name)]


class WebConfig(_Settings):
    """Whether and how assistants search and read the web. Without a search provider they do neither."""

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
    block_domains: tuple[str, ...] = ()
    #: Of your own network, whose pages may be read: names such as nas.lan (with all below them), addresses, networks
    #: such as 192.168.7.0/24; pages elsewhere must be public.
    allow_private: tuple[Annotated[IPvAnyNetwork | PrivateName, Field(union_mode="left_to_right")], ...] = ()
    ports: tuple[Annotated[int, Field(ge=1, le=65_535)], ...] = (80, 443)
    #: How often one assistant may search and open a page in an hour.
    searches_per_hour: int = Field(default=60, ge=0, le=100_000)
    pages_per_hour: int = Field(default=60, ge=0, le=100_000)
    search_cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 900.0
    page_cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 3600.0
    #: Keys, addresses and rates by the provider's name.
    providers: dict[str, WebProviderConfig] = {}

    @field_validator("search_provider", "read_provider", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) and value else value or ()

    @model_validator(mode="after")
    def _known(self) -> WebConfig:
        """A name that no provider has is a mistake of the owner's, told with those there are."""
        for field, names in (("search_provider", SEARCH_PROVIDERS), ("read_provider", READ_PROVIDERS)):
            for name in getattr(self, field):
                if name not in names:
                    raise ValueError(f"{field}: there is no '{name}'; those there are: {', '.join(names)}")
        for name in self.providers:
            if name not in {*SEARCH_PROVIDERS, *READ_PROVIDERS}:
                raise ValueError(f"providers: there is no '{name}'")
        return self


class Config(_Settings):
    """The whole of `assistant.toml`."""

    model: ModelConfig = ModelConfig()
    #: Asked in this order when the model before cannot answer.
    fallback: tuple[ModelConfig, ...] = ()
    assistant: AssistantConfig = AssistantConfig()
    budget: BudgetConfig = BudgetConfig()
    journal: JournalConfig = JournalConfig()
    web: WebConfig = WebConfig()

    @model_validator(mode="after")
    def _money_has_prices(self) -> Config:
        """A limit in money needs to know what a call costs; OpenRouter reports it, the others need prices."""
        limits = (self.budget.total.money, self.budget.assistant.money, self.budget.player.money)
        named = {"model": self.model, **{f"fallback[{at}]": model for at, model in enumerate(self.fallback)}}
        for name, model in named.items():
            is_free = model.provider in {"auto", "embedded", "ollama", "local", "openrouter"}
            if any(limit is not None for limit in limits) and model.prices is None and not is_free:
                raise ValueError(f"a budget in money needs the prices of {model.provider}'s model: set {name}.prices")
        return self
