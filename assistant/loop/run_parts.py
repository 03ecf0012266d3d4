"""The values that a `RunContext` is made of. Some are shared with the other assistants of the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.events.conversation import Conversations, Floor
from mud_assistant.assistant.events.scheduler import Scheduler
from mud_assistant.assistant.events.trace import Observer
from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.journal import Journal
from mud_assistant.assistant.keys.disguises import KeyPieces
from mud_assistant.assistant.life.goal_book import GoalBook
from mud_assistant.assistant.life.pairs import PairTalks
from mud_assistant.assistant.life.reasons import Reasons
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.assistant.loop.speech.screening import Repeats
from mud_assistant.assistant.loop.spending import Billing, MinuteCounts
from mud_assistant.assistant.memory.acquaintance.known_people import KnownPeople
from mud_assistant.assistant.memory.questions import Questions
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.assistant.memory.stream.origins import Voices
from mud_assistant.assistant.memory.stream.window import Window
from mud_assistant.assistant.memory.topics.knowledge import Knowledge
from mud_assistant.assistant.models.clients import ClientParts
from mud_assistant.llm import ModelChain
from mud_assistant.resilience import HttpExchange, Pipeline
from mud_assistant.tools import Approvals, Memories, Principal, Registry, World
from mud_assistant.tools.context import Following, no_http
from mud_assistant.tools.memories import RECALLED
from mud_assistant.tools.web.fetch.seen import SeenUrls

if TYPE_CHECKING:
    from treq.client import HTTPClient


class CharacterBody(Struct, frozen=True):
    """Who the character is, the world it is in, and the ways by which anything of it leaves that world."""

    me: Principal
    world: World
    observer: Observer
    #: Returns the identity of the room it is in, empty when that is not known.
    where: Callable[[], str] = str
    #: Tells a player one sentence outside the story, where they are. A player who is away is told nothing.
    notify: Callable[[Principal, str], None] = lambda _, __: None
    #: Returns a text without the keys in it.
    scrub: Callable[[str], str] = str
    #: Keeps it from telling a key piece by piece.
    pieces: KeyPieces = field(default_factory=KeyPieces)


class ProcessParts(ClientParts, frozen=True, kw_only=True):
    """What all assistants of a process share."""

    #: A run waits here to begin, and to go on after each answer.
    scheduler: Scheduler
    #: How often each player was answered lately.
    minutes: MinuteCounts
    #: Says which assistant speaks when, None for one that is alone.
    floor: Floor | None = None
    #: Those who watch what is heard, thought and said.
    watchers: Watchers = field(default_factory=Watchers)
    #: The models that have answered somebody, each by its address and name.
    answered: set[str] = field(default_factory=set)


class Toolbox(Struct, frozen=True):
    """The tools there are, and what they keep from one call to the next."""

    registry: Registry
    #: The calls it has asked leave for. The policy has the same object.
    approvals: Approvals
    #: The player it follows.
    following: Following
    #: The addresses that may be opened: those that stood in a search result or in a player's words.
    seen: SeenUrls = field(default_factory=SeenUrls)
    #: Makes the HTTP client of a tool (`ToolContext.http`).
    http_client: Callable[[], HTTPClient] = no_http


class ModelParts(Struct, frozen=True):
    """The model it thinks with, and what that costs."""

    client: ModelChain
    config: ModelConfig
    #: How the model's context window is divided between the front of the prompt, the stream, and the answer.
    window: Window
    billing: Billing
    #: Whether the model is asked in plain turns, as a small one is (`assistant/loop/talk/`), and not with tools.
    plain: bool
    #: Whether the model is asked in plain turns as well once its calls turn out to be unreadable.
    may_turn_plain: bool


class MemoryParts(Struct, frozen=True):
    """What it remembers and knows, and where that is kept."""

    journal: Journal
    memories: Memories
    #: Whom it has met.
    people: KnownPeople
    history: History
    #: What its character knows of the world, and what its owner wrote for it to say.
    known: Knowledge
    #: What it has promised and not kept yet.
    goals: GoalBook = field(default_factory=GoalBook)
    #: Why it does what it does of itself, and whether the reason still holds.
    reasons: Reasons = field(default_factory=Reasons)
    #: How many memories are shown before a line is answered, and given back by a search, at most.
    shown: int = RECALLED
    #: Those whose words and names it met, to tell whose words lower what it may do.
    voices: Voices = field(default_factory=Voices)


class SpeechParts(Struct, frozen=True):
    """What it goes by when it speaks, and what it says without a model."""

    #: The conversations it is in.
    talk: Conversations
    #: The questions that wait for an answer where it is.
    questions: Questions
    #: What the character does when the model cannot be asked (`fallback_line`), when the budget of the day is used up
    #: (`budget_line`), and when a player asks too often (`rate_line`).
    fallback_line: FallbackLine
    budget_line: FallbackLine
    rate_line: FallbackLine
    #: Told that a player waits while the model has never answered yet.
    waking: Waking
    #: How much it has talked with other assistants.
    pairs: PairTalks
    #: Keeps it from repeating what it heard, what it said, or an example of the prompt.
    repeats: Repeats = field(default_factory=Repeats)


def new_process(
    exchange: HttpExchange, clock: IReactorTime, pipeline: Pipeline, wall: Callable[[], float] | None = None
) -> ProcessParts:
    """Return what the assistants of a new process share, where nobody watches them and each speaks when it likes."""
    scheduler, minutes = Scheduler(clock), MinuteCounts(clock.seconds)
    return ProcessParts(exchange, clock, pipeline, wall=wall, scheduler=scheduler, minutes=minutes)


def new_toolbox(registry: Registry, now: Callable[[], float]) -> Toolbox:
    """Return the toolbox of an assistant that has asked leave for nothing and follows nobody. `now` gives seconds."""
    return Toolbox(registry, Approvals(now), Following(now))
