"""Makes the client of a chosen model, as its settings say, from what all clients of the process share."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.llm import CallReports, Capabilities, UnifiedLLMClient
from mud_assistant.llm.response import Prices
from mud_assistant.resilience import HttpExchange, Pipeline, RetryConfig


class ClientParts(Struct, frozen=True):
    """What all clients of a process share. `wall` gives seconds since 1970, None when it must not be read."""

    exchange: HttpExchange
    clock: IReactorTime
    pipeline: Pipeline
    capabilities: Capabilities = field(default_factory=Capabilities)
    wall: Callable[[], float] | None = None
    #: Told of every exchange with a model.
    reports: CallReports = field(default_factory=CallReports)


def client_of(chosen: ChosenModel, parts: ClientParts) -> UnifiedLLMClient:
    """Return the client of a model."""
    config = chosen.config
    return UnifiedLLMClient(
        chosen.provider,
        parts.exchange,
        parts.clock,
        capabilities=parts.capabilities,
        limits=chosen.limits,
        prices=Prices(**config.prices.model_dump()) if config.prices else None,
        wall=parts.wall,
        pipeline=parts.pipeline,
        retry=RetryConfig(max_attempts=config.max_attempts),
        upstream=chosen.upstream,
        is_local=chosen.is_local,
        reread_key=chosen.reread_key,
        reports=parts.reports,
    )
