"""Puts an assistant together from its settings, a model, a world and a journal. Opens nothing and starts nothing."""

from __future__ import annotations

from dataclasses import dataclass

from twisted.internet.interfaces import IReactorTime

from assistant.character import Assistant, OnFailure
from assistant.choose_model import ChosenModel
from assistant.classify import Manners
from assistant.config import AssistantConfig
from assistant.history import History
from assistant.journal import Journal
from assistant.mind import Mind
from assistant.prompt import example_messages, system_message
from assistant.react import MIN_STREAM_TOKENS
from assistant.settings import SettingsError
from assistant.trace import Observer
from llm import CallOptions, Capabilities, UnifiedLLMClient
from llm.prices import Prices
from resilience import HttpExchange
from tools import Notes, Principal, Registry, World


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an assistant is put into: its body's world, its memory, and what the whole process shares."""

    me: Principal
    world: World
    notes: Notes
    registry: Registry
    journal: Journal
    exchange: HttpExchange
    capabilities: Capabilities
    clock: IReactorTime
    observer: Observer


def build_assistant(
    settings: AssistantConfig, chosen: ChosenModel, around: Surroundings, on_failure: OnFailure | None = None
) -> Assistant:
    """An assistant ready to start. Raises SettingsError when the settings grant a tool that does not exist."""
    grant = granted(settings, around.registry) - chosen.withheld
    manners = Manners(
        around.me.id,
        settings.name,
        settings.aliases,
        min_permission=settings.min_permission,
        room_speech=settings.room_speech,
        channel_speech=settings.channel_speech,
    )
    return Assistant(_mind(settings, chosen, around, grant), manners, on_failure)


def granted(settings: AssistantConfig, registry: Registry) -> frozenset[str]:
    """The names of the tools the owner grants. Raises SettingsError for one that does not exist."""
    names = registry.names()
    grant = frozenset(names if settings.tools is None else settings.tools)
    if unknown := sorted(grant.difference(names)):
        raise SettingsError(f"assistant.tools: there is no tool '{unknown[0]}'; those there are: {', '.join(names)}")
    return grant


def _mind(settings: AssistantConfig, chosen: ChosenModel, around: Surroundings, grant: frozenset[str]) -> Mind:
    """What the runs think with, the unchanging front of their prompts measured against the model's window."""
    provider, model = chosen.provider, chosen.config
    front = [system_message(settings.name, settings.persona, grant)]
    if model.examples:
        front += example_messages(settings.name, grant)
    head_bytes = len(provider.build_request((), around.registry.specs(grant), None, CallOptions()))
    fixed = provider.count_tokens(front) + provider.tokens.of_bytes(head_bytes)
    return Mind(
        me=around.me,
        world=around.world,
        notes=around.notes,
        client=UnifiedLLMClient(
            provider,
            around.exchange,
            around.clock,
            capabilities=around.capabilities,
            limits=chosen.limits,
            prices=Prices(**model.prices.model_dump()) if model.prices else None,
        ),
        registry=around.registry,
        grant=grant,
        journal=around.journal,
        history=History(
            provider.count_tokens, max(MIN_STREAM_TOKENS, model.context_tokens - model.max_answer_tokens - fixed)
        ),
        front=tuple(front),
        head_bytes=head_bytes,
        settings=settings,
        model=model,
        clock=around.clock,
        observer=around.observer,
    )
