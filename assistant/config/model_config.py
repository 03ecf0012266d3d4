"""The settings of a model: which one, where, and how it is asked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mud_assistant.assistant.config.model_options import (
    ApiVersion,
    Betas,
    Duration,
    ExtraParams,
    Form,
    HeaderText,
    ModelName,
    ServerTools,
    SpecialText,
    ThinkingTokens,
)
from mud_assistant.assistant.config.sections import Address, KeyReference, Seconds, Settings


class PriceConfig(Settings):
    """What a million tokens cost, in the owner's currency. Unset: the price of `input`."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class ModelConfig(Settings, defer_build=False):
    """Which model thinks, and how it is asked."""

    #: "auto" takes a local Ollama that answers and has a model, else the embedded model.
    provider: str = "auto"
    #: Empty: the provider's own choice where it has one. Of the embedded models "small", "better", the path of a GGUF
    #: file, or "hf:OWNER/REPO:QUANT" for one of a hub.
    model: ModelName = ""
    #: Fetch the better embedded model and the sentence vectors while the usual one talks, and change over; unset: in a
    #: trial at a terminal and in the demo game.
    fetch_better: bool | None = None
    #: Base URL; empty for the provider's usual place.
    url: Address = ""
    #: A reference to the key, never the key itself: env:NAME, file:PATH or keyring:NAME.
    key: KeyReference = ""
    #: The context window in tokens.
    context_tokens: int = Field(default=8192, ge=1024, le=2_000_000)
    #: The longest answer in tokens.
    max_answer_tokens: int = Field(default=400, ge=16, le=32_000)
    #: How freely it chooses its words: 0 is always the likeliest one. Unset: the server's own default.
    temperature: float | None = Field(default=None, ge=0, le=2)
    #: Turns a thinking model's thoughts on or off; unset leaves it to the model.
    think: bool | None = None
    #: "required" makes servers that can enforce it answer with a tool call.
    tool_choice: Literal["auto", "required"] = "auto"
    #: How the model is asked: with "tools", or in "plain" turns, in which small ones talk better; "auto": plain turns
    #: for a model of your own server that is small by its name, tools for any other.
    asking: Literal["tools", "plain", "auto"] = "auto"
    #: Tell the model which tool answers what, which weak models need; unset: only a model of your own server.
    examples: bool | None = None
    #: Search the web for what somebody asks before the model is asked, for models too small to do it themselves; unset:
    #: only for the embedded model.
    search_first: bool | None = None
    #: For the cost of a call, when the provider does not report it.
    prices: PriceConfig | None = None
    #: Tools that the provider runs itself: "web_search", "web_fetch", or a table as its API has it.
    server_tools: ServerTools = ()
    #: Added to every request: tables are merged, lists joined, anything else replaces what would be sent.
    extra_params: ExtraParams = Field(default={})
    #: How the server is asked to hold calls that come as text: "schema", its "json" mode, "off"; "auto" learns it.
    structured: Form = "auto"
    #: How long an Ollama keeps the model loaded: "10m", seconds, or -1 for ever; unset: 10 minutes.
    keep_alive: Duration = None
    #: The organization that OpenAI bills, for a key that has several.
    organization: HeaderText = ""
    #: The project that OpenAI bills, for a key that has several.
    project: HeaderText = ""
    #: Features of Anthropic's API to ask for in every request, as its header anthropic-beta names them.
    betas: Betas = ()
    #: The version of Anthropic's API, a date; unset: 2023-06-01. For openai-responses that of Azure's API; unset: it is
    #: not Azure.
    api_version: ApiVersion = ""
    #: What thinking may take besides the answer when it is turned on, in tokens; unset: 2048. With 0 the model chooses
    #: (Anthropic), or the answer's bound holds for both (openai-responses).
    thinking_tokens: ThinkingTokens = None
    #: The address of your game in OpenRouter's statistics.
    referer: HeaderText = ""
    #: The name of your game in OpenRouter's statistics.
    title: HeaderText = ""
    #: A file in tiktoken's format to count tokens with; unset: the one in tiktoken's cache, else bytes are counted.
    token_table: SpecialText = ""
    #: How often one request is made in all when it fails in a way that may pass.
    max_attempts: int = Field(default=3, ge=1, le=10)
    #: How many requests may be on their way to this server; unset: 1 for the embedded model, 4 for a server of your
    #: own, 32 for a provider on the internet.
    max_in_flight: int | None = Field(default=None, ge=1, le=1000)
    #: How long connecting to the server may take.
    connect_seconds: Seconds = 5.0
    #: Whether the server reads the unchanging beginning of every prompt as soon as an assistant starts; unset: a server
    #: of your own does, unless a key or prices say that somebody pays for it.
    warm: bool | None = None
    #: How long the server may be silent until it answers; unset: 900 for a server of your own, which says nothing
    #: while it loads the model and reads the prompt, else 60.
    first_byte_seconds: Seconds | None = None
    #: How long the server may be silent between two pieces of an answer; unset: 900 for a server of your own, else 60.
    idle_seconds: Seconds | None = None
    #: How long nothing but signs of life may come; unset: 900 for a server of your own, else 300.
    progress_seconds: Seconds | None = None
