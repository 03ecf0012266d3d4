"""Puts an assistant together from its settings, a model, a world and a journal. Opens nothing and starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from msgspec import Struct, field
from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.characters import Character, LoreScanner
from mud_assistant.assistant.characters.day_entries import NO_DAYS
from mud_assistant.assistant.characters.macros import with_own_name
from mud_assistant.assistant.config.schema import AssistantConfig, BudgetConfig
from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.events.classify import Manners
from mud_assistant.assistant.events.conversation import Conversations
from mud_assistant.assistant.life.goal_book import GoalBook
from mud_assistant.assistant.life.life_state import keep_day, keep_following
from mud_assistant.assistant.life.pairs import PairTalks, keep_pairs
from mud_assistant.assistant.life.peace import OwnersQuiet, Peace
from mud_assistant.assistant.life.presence import Restraints
from mud_assistant.assistant.loop.asking import ask_for_itself
from mud_assistant.assistant.loop.goal_offers import GoalOffers
from mud_assistant.assistant.loop.granted import request_text
from mud_assistant.assistant.loop.impulse_offers import ImpulseOffers, check_autonomous
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.run_parts import (
    CharacterBody,
    MemoryParts,
    ModelParts,
    ProcessParts,
    SpeechParts,
    Toolbox,
)
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.assistant.loop.spending import Billing
from mud_assistant.assistant.memory.questions import Questions
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.memory.rights import Rights
from mud_assistant.assistant.memory.stream.compaction import Compactor, summary_tokens
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.assistant.memory.stream.window import MIN_STREAM_TOKENS, Front, Window
from mud_assistant.assistant.memory.topics.knowledge import CharacterIndex, Knowledge, index_character
from mud_assistant.assistant.models.chosen import ChosenModel, call_options
from mud_assistant.assistant.models.clients import client_of
from mud_assistant.assistant.runtime.character import Assistant, OnFailure
from mud_assistant.assistant.runtime.fronts import fronts_of
from mud_assistant.assistant.runtime.inbox import Inbox
from mud_assistant.assistant.runtime.initiative import Initiative, InitiativeParts
from mud_assistant.assistant.runtime.sleeping import Sleep
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.llm import Link, Message, ModelChain
from mud_assistant.resilience import Launcher, Ledger
from mud_assistant.tools import EffectLimits, Pending, PolicyConfig, Principal, Registry

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

    body: CharacterBody
    process: ProcessParts
    storage: Storage
    tools: Toolbox
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    #: How many memories it is shown, and the owner's limits on its sleep.
    memory: MemoryConfig = field(default_factory=usual_memory)
    #: Tells those who wait that an answer takes long; None to make a new one.
    waking: Waking | None = None
    #: What it hears already goes in here; None to open a new one.
    inbox: Inbox | None = None
    #: What its character knows of the world and says, None for a character without lore and topics.
    character: CharacterIndex | None = None
    #: What owners want of the initiative of all assistants of the journal.
    quiet: OwnersQuiet = field(default_factory=OwnersQuiet)


def build_assistant(
    settings: AssistantConfig, models: Sequence[ChosenModel], around: Dependencies, on_failure: OnFailure | None = None
) -> Assistant:
    """Return an assistant ready to start, which asks the first of `models` that can answer.

    Raises SettingsError when the settings grant a tool that does not exist.
    """
    withheld = frozenset[str]() if models[0].asked_plainly else models[0].withheld
    grant = around.tools.registry.same(granted_tools(settings, around.tools.registry) - withheld)
    context = _context(settings, models, around, grant)
    memory, utc_offset = context.memory, around.budget.utc_offset
    rights = Rights(memory.history, memory.memories, around.storage.mutes, memory.journal, memory.people)
    memory.people.utc_offset = utc_offset
    if isinstance(memory.memories, IndexedMemories):
        memory.memories.utc_offset = utc_offset
    launcher = Launcher()
    keep_following(context.tools.following, around.storage.lasting, launcher)
    keep_pairs(context.speech.pairs, around.storage.lasting, launcher)
    sleep = Sleep(context, around.storage.sleep, around.memory, launcher, utc_offset=utc_offset)
    days = NO_DAYS if around.character is None else with_own_name(around.character.days, settings.name)
    goals = GoalOffers(context)
    peace = Peace(around.body.me.id, around.quiet, around.storage.lasting)
    may = Restraints(peace.why_quiet, goals.stays, lambda: rights.muted, lambda: peace.unwanted)
    impulses = None
    if settings.impulses or settings.autonomous:
        has_budget = _budget_left(context, around.process.pipeline.ledger)
        impulses = ImpulseOffers(context, around.storage.lasting, launcher, has_budget)
    parts, lasting = InitiativeParts(days, goals, may, impulses, utc_offset), around.storage.lasting
    if days:  # most have none, and hold nothing for it
        parts = replace(parts, begun=lasting.state.day_begun, on_begun=partial(keep_day, lasting, launcher))
    initiative = Initiative(context, parts)
    manners = manners_of(settings, around.body.me)
    if (inbox := around.inbox) is None:
        process, speech = context.process, context.speech
        inbox = Inbox(manners, process.clock, process.watchers, speech.waking, speech.fallback_line)
        inbox.open(around.storage)
    own = (context, manners, rights, _compactor(context), sleep)
    return Assistant(*own, inbox=inbox, initiative=initiative, promised=goals, peace=peace, on_failure=on_failure)


def _budget_left(context: RunContext, ledger: Ledger | None) -> Callable[[], bool]:
    """Return what tells whether a character's share of the day's budget for impulses is not used up."""
    accounts = context.model.billing.caller_of_itself(context.body.me).accounts
    return lambda: ledger is None or ledger.check(accounts) is None


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
    """Return the names of the tools the owner grants.

    Raises SettingsError for one that does not exist, and for a deed that the owner cannot let it do of its own accord.
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
    check_autonomous(settings, registry, grant)
    return grant


def _context(
    settings: AssistantConfig, models: Sequence[ChosenModel], around: Dependencies, grant: frozenset[str]
) -> RunContext:
    """Return what the runs think with. The front of their prompts is measured against the first model's window."""
    chosen, body, storage, now = models[0], around.body, around.storage, around.process.clock.seconds
    history = History(chosen.provider.count_tokens, MIN_STREAM_TOKENS)
    client = ModelChain([_link(each, around) for each in models], around.process.clock)
    fronts = fronts_of(settings, chosen, around.tools.registry, grant, body.world)
    window = _window(settings, models, fronts, client, history)
    billing = Billing(around.budget, around.process.minutes, settings.initiative_share)
    history.load(storage.stream)
    around.tools.following.minutes = settings.follow_minutes
    line = partial(FallbackLine, body.world, around.process.clock, every_seconds=settings.fallback_every_seconds)
    known = _knowledge(around, chosen.config.context_tokens)
    return RunContext(
        body,
        around.process,
        settings,
        around.tools,
        _rules(settings, grant, around),
        ModelParts(client, chosen.config, window, billing, chosen.asked_plainly, chosen.may_turn_plain),
        MemoryParts(
            storage.journal,
            storage.memories,
            storage.people,
            history,
            known,
            GoalBook(storage.goals),
            shown=around.memory.shown,
        ),
        SpeechParts(
            Conversations(now, settings.conversation_seconds),
            Questions(now),
            line(settings.fallback_line),
            line(settings.budget_line),
            line(settings.rate_line),
            _waking(settings, chosen, around),
            PairTalks(storage.lasting.wall, body.me.name),
        ),
    )


def _knowledge(around: Dependencies, window: int) -> Knowledge:
    """Return what its character knows and says, as much of its lore at once as fits a window of so many tokens."""
    if around.character is None:
        return _knows_nothing()
    lore = LoreScanner(around.character.lore, window=window, random=around.process.pipeline.random)
    return Knowledge(around.character, lore, around.storage.people.told)


@cache
def _knows_nothing() -> Knowledge:
    """Return what a character without lore and topics knows, one for all."""
    index = index_character(Character(""))
    return Knowledge(index, LoreScanner(index.lore), None)


def _waking(settings: AssistantConfig, chosen: ChosenModel, around: Dependencies) -> Waking:
    """Return what tells players that an answer takes long: only a model of the owner's own has to be loaded."""
    waking = around.waking or Waking(around.body.world, around.process.clock, settings)
    model = f"{chosen.provider.api_url} {chosen.provider.model}"
    waking.thinks_with(model, around.process.answered, is_loaded=not chosen.is_local)
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


def _rules(settings: AssistantConfig, grant: frozenset[str], around: Dependencies) -> PolicyConfig:
    """Return what the assistant may do, and on whose word.

    A player whose request needs an approval is told so at once; why it does is for the log, and for those who decide.
    """
    body, name = around.body, settings.name

    def tell(pending: Pending) -> None:
        why = body.scrub(pending.because)
        _log.info("{name} asks leave, number {number}: {why}", name=name, number=pending.number, why=why)
        if pending.requester is not None:
            body.notify(pending.requester, request_text(name, pending, settings.world_text_permission))

    return PolicyConfig(
        grant,
        limits=_limits(settings.max_calls, settings.max_spoken, settings.max_network),
        denied=frozenset(settings.denied_commands) or _NOTHING,
        required_permission=settings.required_permission,
        world_text=settings.world_text_permission,
        approvals=around.tools.approvals,
        on_request=tell,
    )


@cache
def _limits(calls: int, spoken: int, network: int) -> EffectLimits:
    """Return these limits: one object for all assistants that have them."""
    return EffectLimits(calls, spoken, network)


def _compactor(context: RunContext) -> Compactor:
    """Return a compactor that summarises old memories with the assistant's own model."""

    async def ask(messages: Sequence[Message]) -> str:
        most = 2 * summary_tokens(context.memory.history.budget)
        return await ask_for_itself(context, messages, max_tokens=most, seconds=SUMMARY_SECONDS)

    return Compactor(context.memory.history, ask, context.process.clock.seconds, context.body.me.name)


def _link(chosen: ChosenModel, around: Dependencies) -> Link:
    """Return one model with its client and its call options, as its settings say."""
    config, client = chosen.config, client_of(chosen, around.process)
    return Link(client, {"tool_choice": config.tool_choice, "cache_key": around.body.me.id, **call_options(config)})
