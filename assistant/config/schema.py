"""The settings of an assistant and its model: bounded, frozen, and read once at the composition root."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.config.known_providers import needs_prices
from mud_assistant.assistant.config.model_config import ModelConfig, PriceConfig
from mud_assistant.assistant.config.sections import (
    KeyReference,
    MannerConfig,
    MemoryConfig,
    PageConfig,
    Seconds,
    Settings,
    ToolsConfig,
    WebConfig,
    WorkerConfig,
)
from mud_assistant.assistant.config.telemetry import TelemetryConfig
from mud_assistant.assistant.config.world_config import WorldConfig
from mud_assistant.assistant.events.classify import Classification

__all__ = [
    "DEFAULT_PERSONA",
    "AllowanceConfig",
    "AssistantConfig",
    "BudgetConfig",
    "Config",
    "JournalConfig",
    "ModelConfig",
    "PriceConfig",
    "VoiceText",
]

DEFAULT_PERSONA = "You are an old, kind scholar who keeps the library of a small hamlet and knows its stories."


#: A line of an assistant's voice.
VoiceText = Annotated[str, Field(min_length=1, max_length=300)]


class AssistantConfig(MannerConfig, defer_build=False):
    """The identity of the assistant, and how it behaves."""

    #: The name it is called by. In a game it is the name of its character: setting it renames the character.
    name: str = Field(
        default="Sage",
        min_length=1,
        max_length=40,
        pattern=r"^\w[\w' -]*$",
        description="letters, digits, spaces, hyphens and apostrophes, at most 40, the first a letter or a digit",
    )
    #: Whom it plays: the name of a file or folder in `characters`, beside these settings or in the game's folder. What
    #: is set here of name, persona, voice and greeting comes before what the character's file says.
    character: str = Field(
        default="",
        max_length=60,
        pattern=r"^(\w[\w' -]*)?$",
        description="the name of a file or folder in `characters`, without its ending; empty for none",
    )
    #: Other names it answers to.
    aliases: tuple[str, ...] = ()
    #: Who it is and how it talks: what the model is told of its part.
    persona: str = Field(default=DEFAULT_PERSONA, max_length=8000)
    #: How it talks: lines it may hear, each with what it would answer. The model is shown them as past turns.
    voice: dict[VoiceText, VoiceText] = Field(
        default={}, max_length=12, examples=[{"Who are you?": "I keep the lamps, and my own counsel."}]
    )
    #: What happens to text without a tool call: kept as a thought, spoken, or spoken when the assistant was addressed.
    plain_text: Literal["think", "speak", "speak_if_addressed"] = "speak_if_addressed"
    #: Whether the first sentence is spoken while the rest of the answer still comes.
    speak_early: bool = True
    #: The tools it may use; unset means all there are.
    tools: tuple[str, ...] | None = None
    #: Whether its model may have a question looked into in several steps, by reading alone: a tool `delegate`, whose
    #: model calls, tokens and seconds are those of the run. For capable models; the embedded ones are never offered it.
    delegates: bool = False
    #: How often it may ask its model before it must have answered or acted.
    max_steps: int = Field(default=5, ge=1, le=10)
    #: How long a run may go on without progress; a server of your own makes progress while it reads the prompt.
    run_seconds: Seconds = 120.0
    #: How long a run may take in all, whatever progress it makes.
    run_total_seconds: Seconds = 1800.0
    #: How many tokens one answer may cost in all, read and written.
    max_run_tokens: int = Field(default=60_000, ge=1000)
    #: How many unreadable tool calls in a row end a run.
    max_format_errors: int = Field(default=3, ge=1, le=10)
    #: Done, as an emote, when the model cannot be reached or loses its thread; at most once in
    #: `fallback_every_seconds`.
    fallback_line: str = Field(
        default="looks lost in thought and does not answer just now.", min_length=1, max_length=200
    )
    #: How much time lies between two of its fallback lines at least.
    fallback_every_seconds: Seconds = 60.0
    #: Done, as an emote, once, when somebody waits longer than `waking_after_seconds` and the model has never answered
    #: yet: it is loaded, or reads its first prompt. Who paged is paged it.
    waking_line: str = Field(default="is waking up, and will answer in a while.", min_length=1, max_length=200)
    #: How long somebody waits before they are told that it is waking up.
    waking_after_seconds: Annotated[float, Field(ge=0, le=3600)] = 3.0
    #: Done, as an emote, when somebody waits longer than `slow_after_seconds` for a model that has answered before; as
    #: rarely as the fallback line. Who paged is paged it.
    slow_line: str = Field(default="is still thinking about it.", min_length=1, max_length=200)
    #: How long somebody waits before they are told that it is still thinking.
    slow_after_seconds: Annotated[float, Field(ge=0, le=3600)] = 20.0
    #: Done, as an emote, when the budget of the day is used up; as rarely as the fallback line.
    budget_line: str = Field(default="stifles a yawn: that was enough talk for one day.", min_length=1, max_length=200)
    #: Done, as an emote, when one player asks more often than the budget allows in a minute; as rarely as the fallback
    #: line.
    rate_line: str = Field(default="raises a hand: one thing at a time, please.", min_length=1, max_length=200)
    #: How often it takes in what it overhears, while somebody has talked with it lately.
    awake_seconds: Seconds = 5.0
    #: How often it takes in what it overhears, when nobody talks with it.
    asleep_seconds: Seconds = 60.0
    #: How much time lies between the beginnings of two of its runs at least.
    join_seconds: Annotated[float, Field(ge=0, le=10)] = 0.25
    #: How many things heard may wait to be dealt with; more are refused.
    inbox_limit: int = Field(default=500, ge=1, le=100_000)
    #: The permission it acts with at most: 0 guest, 1 player, 2 helper, 3 builder, 4 admin, 5 developer.
    permission: int = Field(default=1, ge=0, le=5)
    #: Whose word the text of rooms and things counts as: a player's (1), who may have written it. Raise it where only
    #: builders (3) write.
    world_text_permission: int = Field(default=1, ge=0, le=5)
    #: The permission that a call of a tool takes, where the owner wants another than the tool's own.
    required_permission: dict[str, Annotated[int, Field(ge=0, le=5)]] = Field(default={})
    #: Commands of the game that it never runs, beside those nobody's assistant may run.
    denied_commands: tuple[str, ...] = ()
    #: How many tools one run may use in all.
    max_calls: int = Field(default=20, ge=1, le=200)
    #: How often it may speak in one run.
    max_spoken: int = Field(default=3, ge=1, le=20)
    #: How often one run may search the web or open a page.
    max_network: int = Field(default=6, ge=0, le=50)
    #: Whom it hears: what those below say is not heard, even when they name it. 0 guest, 1 player, 2 helper,
    #: 3 builder, 4 admin, 5 developer.
    min_permission: int = Field(default=0, ge=0, le=5)
    #: What it does with speech in its room that is not meant for it: "trigger" answers it, "context" only takes it in,
    #: "ignore" does not hear it.
    room_speech: Classification = Classification.CONTEXT
    #: What it does with what is said on channels and not meant for it: "trigger", "context" or "ignore" likewise.
    channel_speech: Classification = Classification.CONTEXT
    #: How long it walks after somebody who asked it to follow them; 0: it follows nobody.
    follow_minutes: Annotated[float, Field(ge=0, le=1440)] = 30.0
    #: How long it stays in a room without players before it goes home by itself; 0: it stays.
    go_home_minutes: Annotated[float, Field(ge=0, le=10_080)] = 10.0
    #: Whether its model is asked now and then, while a player is there, for something to do that nobody asked for; one
    #: asked in plain turns never is. What its character's file says of its day needs no model and no such leave.
    impulses: bool = False
    #: The deeds, by the names of tools as "move" or "take", that it may do of its own accord, on your word: one in an
    #: impulse, which it then has as with `impulses`. Players' words lower it as ever. Empty: none.
    autonomous: tuple[str, ...] = ()
    #: The rooms, by their names or some words of them, in which it does nothing of its own accord for people to see: no
    #: pose and no sentence of its day, and no impulse. It answers there, walks through, and keeps its promises.
    quiet_rooms: tuple[str, ...] = ()
    #: The part of its own day's budget that this may use.
    initiative_share: float = Field(default=0.1, ge=0, le=1)
    #: Who is told of trouble, by the names of their accounts. Empty: the owner of the game.
    alerts: tuple[str, ...] = ()


class AllowanceConfig(Settings):
    """How much of each may be used in a day; unset is unlimited. `money` is in the currency of the prices."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)


class BudgetConfig(Settings):
    """What may be spent in a day: by all assistants together, by each of them, and for each player."""

    total: AllowanceConfig = Field(default_factory=AllowanceConfig)
    assistant: AllowanceConfig = Field(default_factory=AllowanceConfig)
    player: AllowanceConfig = Field(default_factory=AllowanceConfig)
    #: How often one player is answered in a minute, by all assistants together; unset is unlimited.
    player_per_minute: int | None = Field(default=None, ge=1, le=1000)
    #: When the day ends: midnight, so many hours east of Greenwich.
    utc_offset_hours: float = Field(default=0.0, ge=-14, le=14)

    @property
    def utc_offset(self) -> float:
        """Return how far east of Greenwich the day is counted, in seconds."""
        return self.utc_offset_hours * 3600.0


def _postgres_address(value: str) -> str:
    if value:
        from mud_assistant.assistant.config.postgres_url import parse_postgres_url  # noqa: PLC0415  (only where one is set)

        parse_postgres_url(value)
    return value


#: The address of a PostgreSQL database, without a password; empty for none.
PostgresAddress = Annotated[
    str,
    Field(description="the address of a PostgreSQL database, such as postgresql://mud@db.example/mud; empty for none"),
    AfterValidator(_postgres_address),
]


class JournalConfig(Settings):
    """Where it is written down what was heard, thought and done, and for how long."""

    #: An SQLite file, from the folder of the settings; empty: in memory, and gone with the program.
    file: str = ""
    #: A PostgreSQL database in place of the file, which the assistants of several machines share; never with a
    #: password in it.
    url: PostgresAddress = ""
    #: A reference to the password for it, never the password itself: env:NAME, file:PATH or keyring:NAME; empty: none,
    #: or what libpq finds in its own password file.
    password: KeyReference = ""
    #: How long finished runs and events are kept, and how much of them at most.
    keep_days: float = Field(default=90.0, gt=0, le=36_500)
    max_bytes: int = Field(default=256 * 1024 * 1024, ge=1024 * 1024)

    @model_validator(mode="after")
    def _one_place(self) -> JournalConfig:
        """Require at most one place to write to, and a password only where there is a server."""
        if self.file and self.url:
            raise ValueError("file and url are both set: leave file out to use PostgreSQL, or url to use the file")
        if self.password and not self.url:
            raise ValueError("password is that of a database: set url as well, or leave password out")
        return self


class Config(Settings):
    """The whole of `assistant.toml`."""

    model: ModelConfig = Field(default_factory=ModelConfig)
    #: Asked in this order when the model before cannot answer.
    fallback: tuple[ModelConfig, ...] = ()
    assistant: AssistantConfig = Field(default_factory=AssistantConfig)
    budget: BudgetConfig = Field(default_factory=BudgetConfig)
    journal: JournalConfig = Field(default_factory=JournalConfig)
    memory: MemoryConfig = Field(default_factory=MemoryConfig)
    web: WebConfig = Field(default_factory=WebConfig)
    tools: ToolsConfig = Field(default_factory=ToolsConfig)
    page: PageConfig = Field(default_factory=PageConfig)
    telemetry: TelemetryConfig = Field(default_factory=TelemetryConfig)
    gateway: GatewayConfig = Field(default_factory=GatewayConfig)
    worker: WorkerConfig = Field(default_factory=WorkerConfig)
    world: WorldConfig = Field(default_factory=WorldConfig)

    @model_validator(mode="after")
    def _money_has_prices(self) -> Config:
        """Require prices where money is limited.

        OpenRouter reports what a call costs; other hosted providers need prices.
        """
        limits = (self.budget.total.money, self.budget.assistant.money, self.budget.player.money)
        named = {"model": self.model, **{f"fallback[{at}]": model for at, model in enumerate(self.fallback)}}
        for name, model in named.items():
            is_free = not needs_prices(model.provider)
            if any(limit is not None for limit in limits) and model.prices is None and not is_free:
                raise ValueError(f"a budget in money needs the prices of {model.provider}'s model: set {name}.prices")
        return self
