"""Describes the model in use: how its server is treated, and how its tokens are counted."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from mud_assistant.assistant.config.known_providers import constructor_options
from mud_assistant.assistant.config.model_config import expanded_tools, token_references, with_tokens
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.llm import LLMProvider, get_provider
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.tokens.tables import TableCounter, TableUnusable, load_counter, order_tables
from mud_assistant.resilience import BreakerConfig, DeadlineExceeded, InFlightConfig, Limits, UpstreamConfig

_log = Logger()


#: How long a server may be silent, in seconds: one of the owner's, and any other. The owner's servers send nothing
#: while they load a model and read a prompt: llama.cpp, Ollama, LM Studio and vLLM stay silent before the first token.
LOCAL_SECONDS, HOSTED_SECONDS = 900.0, 60.0
#: How long a server that is not the owner's may send only signs of life, in seconds.
HOSTED_PROGRESS_SECONDS = 300.0
#: How long a short question may wait for an answer from the owner's own server, in seconds.
LOCAL_QUESTION_SECONDS = 300.0
#: Billions of parameters up to which a model talks better in plain turns than with tools.
PLAIN_UP_TO = 2.0
#: The same for an embedded model, whose server also reads the longer prompts of tools slowly. One whose name does not
#: tell its size counts as small: it has to fit on this machine.
EMBEDDED_PLAIN_UP_TO = 4.0
#: The context of the embedded model, in tokens.
EMBEDDED_CONTEXT = 4096
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)(b|m)(?![a-z0-9])")
#: Endings of host names that exist only in a private network.
_PRIVATE_NAMES = (".localhost", ".local", ".lan", ".internal", ".home.arpa")


def provider_of(config: ModelConfig, key: str, name: str = "", url: str = "") -> LLMProvider:
    """Return the provider of these settings, or `name` instead, at their address or at `url`.

    Raises UnknownProviderError.
    """
    name = name or config.provider
    told = {field: getattr(config, field) for field in ModelConfig.model_fields}
    return get_provider(name, url or config.url, config.model, key=key, **constructor_options(name, told))


async def with_keys(config: ModelConfig, keys: KeySources) -> ModelConfig:
    """Return the settings with the keys of the MCP servers that they name. Raises KeyReferenceError."""
    references = token_references(config.extra_params)
    if not references:
        return config
    found = {reference: await resolve_key(reference, keys) for reference in references}
    return config.model_copy(update={"extra_params": with_tokens(config.extra_params, found)})


# Any: what `chat_completion` takes by name, each of its own type.
def call_options(config: ModelConfig) -> dict[str, Any]:
    """Return how a model is asked, as its settings say: the fields of CallOptions."""
    return {
        "max_tokens": config.max_answer_tokens,
        "temperature": config.temperature,
        "think": config.think,
        "server_tools": expanded_tools(config.provider, config.server_tools),
        "extra_params": config.extra_params,
        "structured": config.structured,
    }


def size_of(model: str) -> float | None:
    """Return the billions of parameters in a model's name, such as "qwen2.5:1.5b" or "-270m"; None when it has none."""
    found = _SIZE.findall(model.casefold())
    return min((float(number) / (1 if unit == "b" else 1000) for number, unit in found), default=None)


def is_local(provider: LLMProvider) -> bool:
    """Tell whether the server is the owner's own: of a kind that owners run themselves, at a private address."""
    host = urlsplit(provider.api_url).hostname or ""
    if provider.hosted or not host:
        return False
    try:
        return not ip_address(host.partition("%")[0]).is_global
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_NAMES)


def limits_of(config: ModelConfig, provider: LLMProvider) -> Limits:
    """Return the limits of one exchange with this server."""
    local = is_local(provider)
    silence = LOCAL_SECONDS if local else HOSTED_SECONDS
    return Limits(
        config.connect_seconds,
        config.first_byte_seconds or silence,
        config.idle_seconds or silence,
        progress_seconds=config.progress_seconds or (LOCAL_SECONDS if local else HOSTED_PROGRESS_SECONDS),
    )


def question_seconds(config: ModelConfig, provider: LLMProvider) -> float:
    """Return how many seconds a short question may wait for the first word of its answer."""
    return config.first_byte_seconds or (LOCAL_QUESTION_SECONDS if is_local(provider) else HOSTED_SECONDS)


class Served(Protocol):
    """A model whose server we start and stop."""

    def start(self) -> Deferred[Endpoint]:
        """Start the server and return its address. Fails with EmbeddedUnavailable. Cancelling ends what was begun."""
        ...

    def stop(self) -> Deferred[None]:
        """Stop the server; fires when no part of it runs any more."""
        ...


class ChosenModel(Struct, frozen=True):
    """The model in use, and in one line why it was chosen."""

    provider: LLMProvider
    why: str
    config: ModelConfig
    embedded: Served | None = None
    #: Tools this model is better off without.
    withheld: frozenset[str] = frozenset()
    #: Whether it answered when it was chosen.
    is_there: bool = True
    #: Returns its current key, empty when there is none to be had.
    reread_key: Callable[[], Awaitable[str]] | None = None

    @property
    def limits(self) -> Limits:
        """The limits of one exchange with it."""
        return limits_of(self.config, self.provider)

    @property
    def is_local(self) -> bool:
        """Whether its server is the owner's own, which may read a prompt slowly and in silence."""
        return is_local(self.provider)

    @property
    def may_be_warmed(self) -> bool:
        """Whether it may read a prompt ahead of any request: when that costs nothing, or its settings say so."""
        if self.config.warm is not None:
            return self.config.warm
        is_paid = self.config.key or self.config.prices or self.provider.model.endswith(("-cloud", ":cloud"))
        return self.is_local and self.is_there and not is_paid

    @property
    def asked_plainly(self) -> bool:
        """Whether it is asked in plain turns: as its settings say, else when its name says that it is small."""
        if self.config.asking != "auto":
            return self.config.asking == "plain"
        size = size_of(self.provider.model)
        if self.embedded is not None:
            return size is None or size <= EMBEDDED_PLAIN_UP_TO
        return self.is_local and size is not None and size <= PLAIN_UP_TO

    @property
    def may_turn_plain(self) -> bool:
        """Whether it may be asked in plain turns once its calls cannot be read: a local server with nothing set."""
        return self.config.asking == "auto" and self.is_local

    @property
    def upstream(self) -> UpstreamConfig:
        """The breaker and the limit of calls in flight for its server.

        A call counts as hanging after half the time that the server has for a sign of life. The owner's own server has
        all of that time, because it may still be reading. A cap that the owner sets holds from the beginning; the usual
        cap is approached.
        """
        config = self.config
        most = config.max_in_flight or (1 if self.embedded else self.provider.in_flight)
        hang = min(self.limits.first_byte_seconds, self.limits.idle_seconds) / (1 if self.is_local else 2)
        return UpstreamConfig(
            BreakerConfig(hang_seconds=hang), InFlightConfig(most, config.max_in_flight or InFlightConfig().first)
        )


def patient(config: ModelConfig) -> ModelConfig:
    """Return the settings of an embedded model, which is small, and slow to read."""
    return config.model_copy(
        update={
            "context_tokens": min(config.context_tokens, EMBEDDED_CONTEXT),
            "search_first": config.search_first is not False,
            "first_byte_seconds": config.first_byte_seconds and max(config.first_byte_seconds, LOCAL_SECONDS),
            "idle_seconds": config.idle_seconds and max(config.idle_seconds, LOCAL_SECONDS),
            "temperature": 0.2 if config.temperature is None else config.temperature,
            "max_answer_tokens": min(config.max_answer_tokens, 200),
            "tool_choice": "required",
        }
    )


async def load_table(provider: LLMProvider, config: ModelConfig, keys: KeySources) -> str:
    """Let a provider count with its table, when there is one here. Return why it does not, empty when it does.

    The table is read in another thread. Cancelling leaves that thread to end by itself. Nothing is fetched.
    """
    if not provider.token_tables:
        return f"{provider.name} has no public table of tokens"
    found: list[TableCounter] = []

    def work() -> str:
        file = keys.folder / Path(config.token_table).expanduser() if config.token_table else None
        names = order_tables(provider.token_tables, provider.model)
        try:
            found.append(load_counter(names, file, keys.environment))
        except TableUnusable as error:
            return str(error)
        return ""

    try:
        why = await keys.in_thread(work)
    except DeadlineExceeded as error:
        why = f"the table of tokens was not read within {error.seconds:g} s"
    if not why:
        provider.tokens.use(found[0])
    elif config.token_table:
        _log.warn("tokens are counted by bytes: {why}", log_event="token table", why=why)
    return why


def how_counted(provider: LLMProvider, why_not: str = "") -> str:
    """Say which counter is in use for a provider and how far off it has been, as the end of a sentence."""
    tokens = provider.tokens
    if tokens.counter:
        how = f"{'counted' if provider.tables_fit() else 'estimated'} with tiktoken and {tokens.counter}"
    else:
        how = f"estimated from {tokens.bytes_per_token:.1f} bytes a token"
        how += f" ({why_not})" if why_not and provider.token_tables else ""
    if not tokens.compared:
        return f"{how}; no answer has told yet how far off that is"
    answers = "1 answer" if tokens.compared == 1 else f"{tokens.compared} answers"
    return f"{how}, {tokens.mean_error:.0%} off the server's own count in {answers}"
