"""Puts an assistant together from its settings, a model, a world and a journal. Opens nothing and starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from twisted.internet.interfaces import IReactorTime

from assistant.character import Assistant, OnFailure
from assistant.chosen_model import ChosenModel
from assistant.classify import Manners
from assistant.compaction import Compactor, summary_tokens
from assistant.config import AssistantConfig, BudgetConfig
from assistant.excuse import Excuse
from assistant.history import History
from assistant.journal.shapes import MESSAGE
from assistant.mind import Mind
from assistant.prompt import example_messages, system_message
from assistant.purse import Purse
from assistant.react import MIN_STREAM_TOKENS
from assistant.rights import Rights
from assistant.settings import SettingsError
from assistant.storage import Storage
from assistant.trace import Observer
from assistant.turnstile import Turnstile
from llm import CallOptions, Capabilities, Link, Message, ModelChain, UnifiedLLMClient
from llm.packed import Joined, Part
from llm.packing import pack
from llm.prices import Prices
from resilience import Deadline, HttpExchange, Pipeline, RetryConfig
from tools import Approvals, Caps, Principal, Registry, Rules, World
from tools.web.seen import SeenUrls

#: How long a summary may take, in seconds.
SUMMARY_SECONDS = 60.0
#: The same for all who are denied nothing.
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an assistant is put into: its body's world, what it remembers in, and what the whole process shares."""

    me: Principal
    world: World
    storage: Storage
    registry: Registry
    exchange: HttpExchange
    capabilities: Capabilities
    pipeline: Pipeline
    clock: IReactorTime
    observer: Observer
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    #: Gives a text back without the keys in it.
    scrub: Callable[[str], str] = str
    #: Seconds since 1970, for dates that servers send; None when it is not to be asked.
    wall: Callable[[], float] | None = None
    #: Where runs go on in turn, one for all assistants of the process; None for one that is alone.
    turnstile: Turnstile | None = None


def build_assistant(
    settings: AssistantConfig, models: Sequence[ChosenModel], around: Surroundings, on_failure: OnFailure | None = None
) -> Assistant:
    """An assistant ready to start, which asks the first of `models` that can answer.

    Raises SettingsError when the settings grant a tool that does not exist.
    """
    grant = around.registry.same(granted(settings, around.registry) - models[0].withheld)
    mind = _mind(settings, models, around, grant)
    rights = Rights(mind.history, mind.notes, around.storage.mutes, mind.journal)
    return Assistant(mind, manners_of(settings, around.me), rights, _compactor(mind), on_failure)


def manners_of(settings: AssistantConfig, me: Principal) -> Manners:
    """Who the assistant is and what it minds."""
    return Manners(
        me.id,
        settings.name,
        settings.aliases,
        min_permission=settings.min_permission,
        room_speech=settings.room_speech,
        channel_speech=settings.channel_speech,
    )


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
    fixed_bytes = len(provider.build_request(front, around.registry.specs(grant), None, CallOptions()))
    fixed = provider.tokens.of_bytes(fixed_bytes)
    room = min(chosen.config.context_tokens - chosen.config.max_answer_tokens for chosen in models) - fixed
    history = History(provider.count_tokens, max(MIN_STREAM_TOKENS, room))
    approvals = Approvals(around.clock.seconds)
    history.load(around.storage.stream)
    every = settings.excuse_every_seconds
    return Mind(
        me=around.me,
        world=around.world,
        notes=around.storage.notes,
        client=ModelChain([_link(chosen, around) for chosen in models], around.clock),
        registry=around.registry,
        rules=_rules(settings, grant, approvals),
        approvals=approvals,
        granted={},
        journal=around.storage.journal,
        history=history,
        front=_packed(front),
        fixed_bytes=fixed_bytes,
        settings=settings,
        model=model,
        clock=around.clock,
        turnstile=Turnstile(around.clock) if around.turnstile is None else around.turnstile,
        random=around.pipeline.random,
        observer=around.observer,
        purse=Purse(around.budget),
        scrub=around.scrub,
        seen=SeenUrls(),
        excuse=Excuse(around.world, around.clock, settings.excuse, every),
        tired=Excuse(around.world, around.clock, settings.budget_excuse, every),
    )


def _packed(front: Sequence[Message]) -> Joined:
    """The front as bytes; its first message for itself, because one for a model that calls in text is made of it."""
    first: list[Part] = []
    rest: list[Part] = []
    pack([front[:1]], first, MESSAGE)
    pack([front[1:]], rest, MESSAGE)
    return Joined([*first, *rest])


def _rules(settings: AssistantConfig, grant: frozenset[str], approvals: Approvals) -> Rules:
    """What the assistant may do, and on whose word."""
    return Rules(
        grant,
        caps=Caps(settings.max_calls, settings.max_spoken, settings.max_network),
        denied=frozenset(settings.denied_commands) or _NOTHING,
        needs=settings.needs,
        world_text=settings.world_text_permission,
        approvals=approvals,
    )


def _compactor(mind: Mind) -> Compactor:
    """Puts old memories in short with the assistant's own model, at its own expense and after everybody who waits."""

    async def ask(messages: Sequence[Message]) -> str:
        response = await mind.client.chat_completion(
            messages,
            tool_choice="auto",
            max_tokens=2 * summary_tokens(mind.history.budget),
            deadline=Deadline.after(mind.clock, SUMMARY_SECONDS),
            caller=mind.purse.caller(mind.me, None),
        )
        return mind.scrub(response.content)

    return Compactor(mind.history, ask, mind.clock.seconds, mind.me.name)


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
        reread_key=chosen.reread_key,
    )
    asked = {
        "tool_choice": config.tool_choice,
        "max_tokens": config.max_answer_tokens,
        "temperature": config.temperature,
        "think": config.think,
    }
    return Link(client, asked)
