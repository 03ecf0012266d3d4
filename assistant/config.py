"""The settings of an assistant and its model: bounded, frozen, and read once at the composition root."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from assistant.classify import Verdict
from assistant.keys import check_reference

Seconds = Annotated[float, Field(gt=0, le=3600)]

_ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:/[\w./~-]*)?")
DEFAULT_PERSONA = "You are an old, kind scholar who keeps the library of a small hamlet and knows its stories."


class _Settings(BaseModel):
    # Who gives a key where its reference belongs must not find it in an error.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


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
    url: str = ""
    #: A reference to the key, never the key itself: env:NAME, file:PATH or keyring:NAME.
    key: str = ""
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

    @field_validator("url")
    @classmethod
    def _address(cls, value: str) -> str:
        if value and not _ADDRESS.fullmatch(value):
            raise ValueError("give the address of a server, such as http://127.0.0.1:8080/v1")
        return value

    @field_validator("key")
    @classmethod
    def _by_reference(cls, value: str) -> str:
        if value:
            check_reference(value)
        return value


class AssistantConfig(_Settings):
    """Who the assistant is and how it behaves."""

    name: str = Field(default="Sage", min_length=1, max_length=40, pattern=r"^\w[\w' -]*$")
    aliases: tuple[str, ...] = ()
    persona: str = Field(default=DEFAULT_PERSONA, max_length=8000)
    #: What happens to text without a tool call: kept as a thought, spoken, or spoken when the assistant was addressed.
    plain_text: Literal["think", "speak", "speak_if_addressed"] = "speak_if_addressed"
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


class Config(_Settings):
    """The whole of `assistant.toml`."""

    model: ModelConfig = ModelConfig()
    #: Asked in this order when the model before cannot answer.
    fallback: tuple[ModelConfig, ...] = ()
    assistant: AssistantConfig = AssistantConfig()
    budget: BudgetConfig = BudgetConfig()

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
