"""Puts an assistant together from its settings, a model, a world and a journal. Opens nothing and starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct, field
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.characters import Character, LoreScanner
from mud_assistant.assistant.characters.day_entries import NO_DAYS
from mud_assistant.assistant.config.schema import AssistantConfig, BudgetConfig
from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.events.classify import Manners
from mud_assistant.assistant.events.conversation import Conversations, Floor
from mud_assistant.assistant.events.scheduler import Scheduler
from mud_assistant.assistant.events.trace import Observer
from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.keys.disguises import KeyPieces
from mud_assistant.assistant.life.goal_book import GoalBook
from mud_assistant.assistant.life.life_state import keep_following
from mud_assistant.assistant.life.peace import OwnersQuiet, Peace
from mud_assistant.assistant.life.restraints import Restraints
from mud_assistant.assistant.loop.asking import ask_for_itself
from mud_assistant.assistant.loop.granted import request_text
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.assistant.loop.spending import Billing, MinuteCounts
from mud_assistant.assistant.memory.compaction import Compactor, summary_tokens
from mud_assistant.assistant.memory.history import History
from mud_assistant.assistant.memory.questions import Questions
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.memory.rights import Rights
from mud_assistant.assistant.memory.topics.knowledge import CharacterIndex, Knowledge, index_character
from mud_assistant.assistant.memory.window import MIN_STREAM_TOKENS, Front, Window
from mud_assistant.assistant.models.chosen import ChosenModel, call_options
from mud_assistant.assistant.models.clients import ClientParts, client_of
from mud_assistant.assistant.runtime.character import Assistant, OnFailure
from mud_assistant.assistant.runtime.fronts import fronts_of
from mud_assistant.assistant.runtime.goal_offers import GoalOffers
from mud_assistant.assistant.runtime.initiative import Initiative, InitiativeParts, budget_left
from mud_assistant.assistant.runtime.sleeping import Sleep
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.runtime.warming import Warmer
from mud_assistant.llm import CallReports, Capabilities, Link, Message, ModelChain
from mud_assistant.resilience import HttpExchange, Launcher, Pipeline
from mud_assistant.tools import Approvals, EffectLimits, Pending, PolicyConfig, Principal, Registry, World
from mud_assistant.tools.context import Following, no_http
from mud_assistant.tools.web.fetch.seen import SeenUrls

if TYPE_CHECKING:
    from treq.client import HTTPClient

#: How long a summary may take, in seconds.
SUMMARY_SECONDS = 60.0
#: For how many prompts of a full window the tokens of one run must suffice, and the smallest window that may result.
PROMPTS_A_RUN, MIN_WINDOW = 3, 4096
#: An empty set, shared by all assistants that are denied no command.
_NOTHING: frozenset[str] = frozenset()
_log = Logger()


@cache
def usual_memory() -> MemoryConfig:
    """Return the memory of an owner who sets nothing, one for all assistants."""
    return MemoryConfig()


class Dependencies(Struct, frozen=True):
    """The dependencies of an assistant: its world, its storage, and what all assistants of the process share."""

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
    #: Returns a text without the keys in it.
    scrub: Callable[[str], str] = str
    #: Finds pieces of keys in everything this assistant says.
    pieces: KeyPieces = field(default_factory=KeyPieces)
    #: Seconds since 1970, for dates that servers send; None when the wall clock must not be read.
    wall: Callable[[], float] | None = None
    #: Schedules the steps of runs, one for all assistants of the process; None for an assistant that is alone.
    scheduler: Scheduler | None = None
    #: The approvals it asked for earlier in this process, None for none.
    approvals: Approvals | None = None
    #: Tells a player one sentence outside the story.
    notify: Callable[[Principal, str], None] = lambda _, __: None
    #: How often each player was answered lately, one for all assistants of the process; None for one that is alone.
    minutes: MinuteCounts | None = None
    #: Has servers read the beginning of prompts ahead, one for all assistants of the process.
    warmer: Warmer = field(default_factory=Warmer)
    #: Tells those who wait that an answer takes long; None to make a new one.
    waking: Waking | None = None
    #: Decides which assistant of the process speaks when, None for one that is alone.
    floor: Floor | None = None
    #: Returns the identity of the room its body is in, empty when that is not known.
    where: Callable[[], str] = str
    #: What its character knows of the world and says, None for a character without lore and topics.
    character: CharacterIndex | None = None
    #: Told of every exchange with a model; shared by the process.
    reports: CallReports = field(default_factory=CallReports)
    #: What owners want of the initiative of all assistants of the journal.
    quiet: OwnersQuiet = field(default_factory=OwnersQuiet)
    #: How many memories it is shown, and the owner's limits on its sleep.
    memory: MemoryConfig = field(default_factory=usual_memory)
    #: Those who watch all assistants of the process.
    watchers: Watchers = field(default_factory=Watchers)
    #: Makes the HTTP client of a tool (`ToolContext.http`).
    http_client: Callable[[], HTTPClient] = no_http


def build_assistant(
    settings: AssistantConfig, models: Sequence[ChosenModel], around: Dependencies, on_failure: OnFailure | None = None
) -> Assistant:
    """Return an assistant ready to start, which asks the first of `models` that can answer.

    Raises SettingsError when the settings grant a tool that does not exist.
    """
    withheld = frozenset[str]() if models[0].asked_plainly else models[0].withheld
    grant = around.registry.same(granted_tools(settings, around.registry) - withheld)
    context = _context(settings, models, around, grant)
    rights = Rights(context.history, context.memories, around.storage.mutes, context.journal, context.people)
    utc_offset = context.people.utc_offset = around.budget.utc_offset
    if isinstance(context.memories, IndexedMemories):
        context.memories.utc_offset = utc_offset
    launcher = Launcher()
    keep_following(context.following, around.storage.lasting, launcher)
    sleep = Sleep(context, around.storage.sleep, around.memory, launcher, utc_offset=utc_offset)
    days = NO_DAYS if around.character is None else around.character.days
    goals = GoalOffers(context)
    has_budget = budget_left(context, around.pipeline.ledger)
    peace = Peace(around.me.id, around.quiet, around.storage.lasting)
    may = Restraints(peace.why_quiet, goals.stays, lambda: rights.muted, lambda: peace.unwanted, has_budget)
    initiative = Initiative(context, InitiativeParts(days, goals, may, utc_offset))
    parts = (context, manners_of(settings, around.me), rights, _compactor(context), sleep)
    return Assistant(*parts, initiative=initiative, promised=goals, peace=peace, on_failure=on_failure)


def manners_of(settings: AssistantConfig, me: Principal) -> Manners:
    """Return who the assistant is and what it minds."""
    return Manners(
        me.id,
        settings.name,
        settings.aliases,
        min_permission=settings.min_permission,
        room_speech=settings.room_speech,
        channel_speech=settings.channel_speech,
        to_everybody=settings.to_everybody,
        wake_on=settings.wake_on,
        greets=bool(settings.greeting),
    )


def granted_tools(settings: AssistantConfig, registry: Registry) -> frozenset[str]:
    """Return the names of the tools the owner grants. Raises SettingsError for one that does not exist.

    Where tools could not be loaded, it may be one of those: it is logged and left out, and the assistant lives on.
    """
    names = registry.names()
    grant = frozenset(names if settings.tools is None else settings.tools)
    if unknown := sorted(grant.difference(names)):
        if registry.lacks:
            for name in unknown:
                _log.warn("{who} is granted '{tool}', and no such tool was loaded", who=settings.name, tool=name)
            return grant.intersection(names)
        raise SettingsError(f"assistant.tools: there is no tool '{unknown[0]}'; those there are: {', '.join(names)}")
    return grant


def _context(
    settings: AssistantConfig, models: Sequence[ChosenModel], around: Dependencies, grant: frozenset[str]
) -> RunContext:
    """Return what the runs think with. The front of their prompts is measured against the first model's window."""
    provider, model = models[0].provider, models[0].config
    history = History(provider.count_tokens, MIN_STREAM_TOKENS)
    client = ModelChain([_link(chosen, around) for chosen in models], around.clock)
    fronts = fronts_of(settings, models[0], around.registry, grant, around.world)
    window = _window(settings, models, fronts, client, history)
    now = around.clock.seconds
    approvals = Approvals(now) if around.approvals is None else around.approvals
    history.load(around.storage.stream)
    every = settings.fallback_every_seconds
    return RunContext(
        me=around.me, world=around.world, memories=around.storage.memories, client=client, registry=around.registry,
        rules=_rules(settings, grant, approvals, around),
        approvals=approvals,
        journal=around.storage.journal,
        history=history,
        plain=models[0].asked_plainly,
        may_turn_plain=models[0].may_turn_plain,
        window=window, settings=settings, model=model, clock=around.clock,
        scheduler=Scheduler(around.clock) if around.scheduler is None else around.scheduler,
        random=around.pipeline.random,
        observer=around.observer,
        billing=Billing(around.budget, around.minutes or MinuteCounts(now), settings.initiative_share),
        scrub=around.scrub,
        pieces=around.pieces,
        seen=SeenUrls(),
        fallback_line=FallbackLine(around.world, around.clock, settings.fallback_line, every),
        budget_line=FallbackLine(around.world, around.clock, settings.budget_line, every),
        notify=around.notify,
        rate_line=FallbackLine(around.world, around.clock, settings.rate_line, every),
        waking=_waking(settings, models[0], around),
        talk=Conversations(now, settings.conversation_seconds),
        questions=Questions(now),
        floor=around.floor,
        where=around.where,
        people=around.storage.people,
        goals=GoalBook(around.storage.goals),
        known=_knowledge(around, model.context_tokens),
        following=Following(now, settings.follow_minutes),
        watchers=around.watchers,
        http_client=around.http_client,
        shown_memories=around.memory.shown,
    )  # fmt: skip


def _knowledge(around: Dependencies, window: int) -> Knowledge:
    """Return what its character knows and says, as much of its lore at once as fits a window of so many tokens."""
    if around.character is None:
        return _knows_nothing()
    lore = LoreScanner(around.character.lore, window=window, random=around.pipeline.random)
    return Knowledge(around.character, lore, around.storage.people.told)


@cache
def _knows_nothing() -> Knowledge:
    """Return what a character without lore and topics knows, one for all."""
    index = index_character(Character(""))
    return Knowledge(index, LoreScanner(index.lore), None)


def _waking(settings: AssistantConfig, chosen: ChosenModel, around: Dependencies) -> Waking:
    """Return what tells players that an answer takes long: only a model of the owner's own has to be loaded."""
    waking = around.waking or Waking(around.world, around.clock, settings)
    model = f"{chosen.provider.api_url} {chosen.provider.model}"
    waking.thinks_with(model, around.warmer.answered, is_loaded=not chosen.is_local)
    return waking


def _window(
    settings: AssistantConfig,
    models: Sequence[ChosenModel],
    fronts: Sequence[Front],
    client: ModelChain,
    history: History,
) -> Window:
    """Return the window that fits every one of the models."""
    least = min((chosen.config for chosen in models), key=lambda each: each.context_tokens - each.max_answer_tokens)
    # A run of a few steps must not use up its tokens before it has answered, however large the window is.
    wanted = max(MIN_WINDOW, min(least.context_tokens, settings.max_run_tokens // PROMPTS_A_RUN))
    return Window(fronts, client, history, min(wanted, least.context_tokens), least.max_answer_tokens)


def _rules(
    settings: AssistantConfig, grant: frozenset[str], approvals: Approvals, around: Dependencies
) -> PolicyConfig:
    """Return what the assistant may do, and on whose word.

    A player whose request needs an approval is told so at once; why it does is for the log, and for those who decide.
    """
    notify, name = around.notify, settings.name

    def tell(pending: Pending) -> None:
        _log.info(
            "{name} asks leave, number {number}: {why}",
            name=name,
            number=pending.number,
            why=around.scrub(pending.because),
        )
        if pending.requester is not None:
            notify(pending.requester, request_text(name, pending, settings.world_text_permission))

    return PolicyConfig(
        grant,
        limits=EffectLimits(settings.max_calls, settings.max_spoken, settings.max_network),
        denied=frozenset(settings.denied_commands) or _NOTHING,
        required_permission=settings.required_permission,
        world_text=settings.world_text_permission,
        approvals=approvals,
        on_request=tell,
    )


def _compactor(context: RunContext) -> Compactor:
    """Return a compactor that summarises old memories with the assistant's own model."""

    async def ask(messages: Sequence[Message]) -> str:
        most = 2 * summary_tokens(context.history.budget)
        return await ask_for_itself(context, messages, max_tokens=most, seconds=SUMMARY_SECONDS)

    return Compactor(context.history, ask, context.clock.seconds, context.me.name)


def _link(chosen: ChosenModel, around: Dependencies) -> Link:
    """Return one model with its client and its call options, as its settings say."""
    config = chosen.config
    shared = ClientParts(
        around.exchange, around.clock, around.capabilities, around.pipeline, around.wall, around.reports
    )
    client = client_of(chosen, shared)
    return Link(client, {"tool_choice": config.tool_choice, "cache_key": around.me.id, **call_options(config)})
