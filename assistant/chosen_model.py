"""The model in use, and how its server is treated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from assistant.config import ModelConfig
from assistant.keys import KeySources, resolve_key
from assistant.known_providers import constructor_options
from assistant.model_options import expanded_tools, token_references, with_tokens
from llm import LLMProvider, get_provider
from llm.embedded.progress import Endpoint
from resilience import BreakerConfig, InFlightConfig, Limits, UpstreamConfig


def provider_of(config: ModelConfig, key: str, name: str = "", url: str = "") -> LLMProvider:
    """The provider of these settings, or `name` in its place, at their address or at `url`.

    Raises UnknownProviderError.
    """
    name = name or config.provider
    told = {field: getattr(config, field) for field in ModelConfig.model_fields}
    return get_provider(name, url or config.url, config.model, key=key, **constructor_options(name, told))


async def with_keys(config: ModelConfig, keys: KeySources) -> ModelConfig:
    """The settings with the keys of the MCP servers that they name. Raises KeyReferenceError."""
    references = token_references(config.extra_params)
    if not references:
        return config
    found = {reference: await resolve_key(reference, keys) for reference in references}
    return config.model_copy(update={"extra_params": with_tokens(config.extra_params, found)})


# Any: what `chat_completion` takes by name, each of its own type.
def call_options(config: ModelConfig) -> dict[str, Any]:
    """How a model is asked, as its settings say; the fields of CallOptions."""
    return {
        "max_tokens": config.max_answer_tokens,
        "temperature": config.temperature,
        "think": config.think,
        "server_tools": expanded_tools(config.provider, config.server_tools),
        "extra_params": config.extra_params,
        "structured": config.structured,
    }


class Served(Protocol):
    """A model whose server is ours to start and to stop."""

    def start(self) -> Deferred[Endpoint]:
        """Where it answers. Fails with EmbeddedUnavailable; cancelling it ends what was begun."""
        ...

    def stop(self) -> Deferred[None]:
        """Fires when nothing of it runs any more."""
        ...


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model in use, and in one line why it is this one."""

    provider: LLMProvider
    why: str
    config: ModelConfig
    embedded: Served | None = None
    #: Tools this model is better off without.
    withheld: frozenset[str] = frozenset()
    #: Whether it answered when it was chosen.
    is_there: bool = True

    @property
    def limits(self) -> Limits:
        """The limits of one exchange with it."""
        config = self.config
        return Limits(
            config.connect_seconds,
            config.first_byte_seconds,
            config.idle_seconds,
            progress_seconds=config.progress_seconds,
        )

    @property
    def upstream(self) -> UpstreamConfig:
        """How its server is treated.

        A call counts as hanging after half the time that the server has for a sign of life. The owner's own cap is
        used from the beginning; the usual one is approached.
        """
        config = self.config
        most = config.max_in_flight or (1 if self.embedded else self.provider.in_flight)
        hang = min(config.first_byte_seconds, config.idle_seconds) / 2
        return UpstreamConfig(
            BreakerConfig(hang_seconds=hang), InFlightConfig(most, config.max_in_flight or InFlightConfig().first)
        )
