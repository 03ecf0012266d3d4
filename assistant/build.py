"""Puts an assistant together from its settings, a model, a world and a journal. Opens nothing and starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from twisted.internet.interfaces import IReactorTime

from assistant.character import Assistant, OnFailure
from assistant.chosen_model import ChosenModel
from assistant.classify import Manners
from assistant.config import AssistantConfig, BudgetConfig
from assistant.excuse import Excuse
from assistant.history import History
from assistant.journal import Journal
from assistant.mind import Mind
from assistant.prompt import example_messages, system_message
from assistant.purse import Purse
from assistant.react import MIN_STREAM_TOKENS
from assistant.settings import SettingsError
from assistant.trace import Observer
from llm import CallOptions, Capabilities, Link, ModelChain, UnifiedLLMClient
from llm.prices import Prices
from resilience import HttpExchange, Pipeline, RetryConfig
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
    pipeline: Pipeline
    clock: IReactorTime
    observer: Observer
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    #: Seconds since 1970, for dates that servers send; None when it is not to be asked.
    wall: Callable[[], float] | None = None


def build_assistant(
    settings: AssistantConfig, models: Sequence[ChosenModel], around: Surroundings, on_failure: OnFailure | None = None
) -> Assistant:
    """An assistant ready to start, which asks the first of `models` that can answer.

    Raises SettingsError when the settings grant a tool that does not exist.
    """
    grant = granted(settings, around.registry) - models[0].withheld
    manners = Manners(
        around.me.id,
        settings.name,
        settings.aliases,
        min_permission=settings.min_permission,
        room_speech=settings.room_speech,
        channel_speech=settings.channel_speech,
    )
    return Assistant(_mind(settings, models, around, grant), manners, on_failure)


def granted(settings: AssistantConfig, registry: Registry) -> frozenset[str]:
    """The names of the tools the owner grants. Raises SettingsError for one that does not exist."""
    names = registry.names()
    grant = frozenset(names if settings.tools is None else settings.tools)
    if unknown := sorted(grant.difference(names)):
        raise SettingsError(f"assistant.tools: there is no tool '{unknown[0]}'; those there are: {', '.join(names)}")
    return grant


def _mind(
    settings: AssistantConfig, models: Sequence[ChosenModel], around: Surroundings, grant: frozenset[str]
) -> Mind:
    """What the runs think with, the unchanging front of their prompts measured against the first model's window."""
    provider, model = models[0].provider, models[0].config
    front = [system_message(settings.name, settings.persona, grant)]
    if model.examples:
        front += example_messages(settings.name, grant)
    head_bytes = len(provider.build_request((), around.registry.specs(grant), None, CallOptions()))
    fixed = provider.count_tokens(front) + provider.tokens.of_bytes(head_bytes)
    room = min(chosen.config.context_tokens - chosen.config.max_answer_tokens for chosen in models) - fixed
    every = settings.excuse_every_seconds
    return Mind(
        me=around.me,
        world=around.world,
        notes=around.notes,
        client=ModelChain([_link(chosen, around) for chosen in models], around.clock),
        registry=around.registry,
        grant=grant,
        journal=around.journal,
        history=History(provider.count_tokens, max(MIN_STREAM_TOKENS, room)),
        front=tuple(front),
        head_bytes=head_bytes,
        settings=settings,
        model=model,
        clock=around.clock,
        random=around.pipeline.random,
        observer=around.observer,
        purse=Purse(around.budget),
        excuse=Excuse(around.world, around.clock, settings.excuse, every),
        tired=Excuse(around.world, around.clock, settings.budget_excuse, every),
    )


def _link(chosen: ChosenModel, around: Surroundings) -> Link:
    """One model, asked as its settings say."""
    config = chosen.config
    client = UnifiedLLMClient(
        chosen.provider,
        around.exchange,
        around.clock,
        capabilities=around.capabilities,
        limits=chosen.limits,
        prices=Prices(**config.prices.model_dump()) if config.prices else None,
        wall=around.wall,
        pipeline=around.pipeline,
        retry=RetryConfig(max_attempts=config.max_attempts),
        upstream=chosen.upstream,
    )
    asked = {
        "tool_choice": config.tool_choice,
        "max_tokens": config.max_answer_tokens,
        "temperature": config.temperature,
        "think": config.think,
    }
    return Link(client, asked)
