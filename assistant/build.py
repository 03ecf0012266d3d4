"""Puts an assistant together from its settings, a model, a world and a journal. Opens nothing and starts nothing."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from assistant.character import Assistant, OnFailure
from assistant.choose_model import ChosenModel
from assistant.classify import Manners
from assistant.config import AssistantConfig
from assistant.history import History
from assistant.journal import Journal
from assistant.prompt import example_messages, system_message
from assistant.react import Mind
from assistant.trace import Observer
from llm import CallOptions, Capabilities, UnifiedLLMClient
from resilience import HttpExchange
from tools import Notes, Principal, Registry, World

#: Tokens the stream always has, however small the window is.
MIN_STREAM_TOKENS = 256


def build_assistant(
    settings: AssistantConfig,
    chosen: ChosenModel,
    *,
    me: Principal,
    world: World,
    notes: Notes,
    registry: Registry,
    journal: Journal,
    exchange: HttpExchange,
    capabilities: Capabilities,
    clock: IReactorTime,
    observer: Observer,
    on_failure: OnFailure | None = None,
) -> Assistant:
    """An assistant ready to start. Raises ValueError when the settings grant a tool that does not exist."""
    provider, model = chosen.provider, chosen.config
    client = UnifiedLLMClient(provider, exchange, clock, capabilities=capabilities, limits=chosen.limits)
    grant = frozenset(settings.tools if settings.tools is not None else registry.names())
    if unknown := sorted(grant.difference(registry.names())):
        raise ValueError(f"there is no tool '{unknown[0]}'; those there are: {', '.join(registry.names())}")
    grant -= chosen.withheld
    specs = registry.specs(grant)
    front = [system_message(settings.name, settings.persona, grant)]
    if model.examples:
        front += example_messages(settings.name, grant)
    head_bytes = len(provider.build_request((), specs, None, CallOptions()))
    fixed = provider.count_tokens(front) + provider.tokens.of_bytes(head_bytes)
    stream_tokens = max(MIN_STREAM_TOKENS, model.context_tokens - model.max_answer_tokens - fixed)
    mind = Mind(
        me=me,
        world=world,
        notes=notes,
        client=client,
        registry=registry,
        grant=grant,
        journal=journal,
        history=History(provider.count_tokens),
        front=tuple(front),
        head_bytes=head_bytes,
        stream_tokens=stream_tokens,
        settings=settings,
        model=model,
        clock=clock,
        observer=observer,
    )
    manners = Manners(
        me.id,
        settings.name,
        settings.aliases,
        min_permission=settings.min_permission,
        room_speech=settings.room_speech,
        channel_speech=settings.channel_speech,
    )
    return Assistant(mind, manners, on_failure)
