"""What every part of a run is given: what it works with (`RunContext`), and how far it is (`Run`)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import msgspec
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.config.schema import AssistantConfig, ModelConfig
from mud_assistant.assistant.events.conversation import Conversations, Floor
from mud_assistant.assistant.events.events import ByRule, audience_of, format_event, hearers_of, spoken_text
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.scheduler import Scheduler
from mud_assistant.assistant.events.trace import Observer
from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.journal import Accepted, Journal
from mud_assistant.assistant.keys.disguises import KeyPieces
from mud_assistant.assistant.life.goal_book import GoalBook
from mud_assistant.assistant.life.reasons import Reasons
from mud_assistant.assistant.loop.choosing import approved_call, triggers_in
from mud_assistant.assistant.loop.recovery import EarlySpeech
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.assistant.loop.speech.screening import Repeats
from mud_assistant.assistant.loop.spending import Billing, Meter
from mud_assistant.assistant.loop.writing import Writes
from mud_assistant.assistant.memory.acquaintance.known_people import KnownPeople
from mud_assistant.assistant.memory.acquaintance.spoken_answers import KnownAnswer
from mud_assistant.assistant.memory.history import History
from mud_assistant.assistant.memory.origins import Voices
from mud_assistant.assistant.memory.questions import Questions
from mud_assistant.assistant.memory.topics.knowledge import Knowledge
from mud_assistant.assistant.memory.window import Window
from mud_assistant.llm import LLMResponse, Message, ModelChain
from mud_assistant.llm.modes.capabilities import is_hopeless
from mud_assistant.tools import (
    Approvals,
    ContextTrust,
    Dispatcher,
    Executed,
    Kind,
    Memories,
    Pending,
    PolicyConfig,
    Principal,
    Registry,
    Scene,
    World,
)
from mud_assistant.tools.context import Following, no_http
from mud_assistant.tools.memories import RECALLED, Memory
from mud_assistant.tools.trust import Audience, may_hear
from mud_assistant.tools.web.cite import WebTurn
from mud_assistant.tools.web.fetch.seen import SeenUrls

if TYPE_CHECKING:
    from treq.client import HTTPClient

#: The kinds of principal that have a right to be forgotten.
_PEOPLE = {Kind.PLAYER, Kind.OPERATOR}


class RunContext(msgspec.Struct, frozen=True):
    """The dependencies with which a run thinks and acts. The composition root makes it once."""

    me: Principal
    world: World
    memories: Memories
    client: ModelChain
    registry: Registry
    #: What the assistant may do, and on whose word.
    rules: PolicyConfig
    #: The calls it has asked leave for. The same object as in the rules.
    approvals: Approvals
    journal: Journal
    history: History
    #: Whether the model is asked in plain turns, as a small one is (`assistant/loop/talk/`), and not with tools.
    plain: bool
    #: Whether the model is asked in plain turns as well once its calls turn out to be unreadable.
    may_turn_plain: bool
    #: How the model's context window is divided between the front of the prompt, the stream, and the answer.
    window: Window
    settings: AssistantConfig
    model: ModelConfig
    clock: IReactorTime
    #: Shared with the other assistants of the process: a run waits here to begin, and to go on after each answer.
    scheduler: Scheduler
    random: Random
    observer: Observer
    billing: Billing
    #: The addresses that may be opened: those that stood in a search result or in a player's words.
    seen: SeenUrls
    #: Returns a text without the keys in it.
    scrub: Callable[[str], str]
    #: Keeps it from telling a key piece by piece.
    pieces: KeyPieces
    #: What the character does when the model cannot be asked (`fallback_line`), when the budget of the day is used up
    #: (`budget_line`), and when a player asks too often (`rate_line`).
    fallback_line: FallbackLine
    budget_line: FallbackLine
    rate_line: FallbackLine
    #: Told that a player waits while the model has never answered yet.
    waking: Waking
    #: Tells a player one sentence outside the story, where they are. A player who is away is told nothing.
    notify: Callable[[Principal, str], None]
    #: The player it follows.
    following: Following
    #: Whom it has met.
    people: KnownPeople
    #: What its character knows of the world, and what its owner wrote for it to say.
    known: Knowledge
    #: What it has promised and not kept yet.
    goals: GoalBook = msgspec.field(default_factory=GoalBook)
    #: Those whose words and names it met, to tell whose words lower what it may do.
    voices: Voices = msgspec.field(default_factory=Voices)
    #: The conversations it is in.
    talk: Conversations = msgspec.field(default_factory=lambda: Conversations(lambda: 0.0, 0.0))
    #: The questions that wait for an answer where it is.
    questions: Questions = msgspec.field(default_factory=Questions)
    #: Keeps it from repeating what it heard, what it said, or an example of the prompt.
    repeats: Repeats = msgspec.field(default_factory=Repeats)
    #: Shared with the other assistants of the process: says which of them speaks when.
    floor: Floor | None = None
    #: The identity of the room it is in, empty when that is not known.
    where: Callable[[], str] = str
    #: Why it does what it does of itself, and whether the reason still holds.
    reasons: Reasons = msgspec.field(default_factory=Reasons)
    #: How many memories are shown before a line is answered, and given back by a search, at most.
    shown_memories: int = RECALLED
    #: Shared with the other assistants of the process: those who watch what it hears, thinks and says.
    watchers: Watchers = msgspec.field(default_factory=Watchers)
    #: Makes the HTTP client of a tool (`ToolContext.http`).
    http_client: Callable[[], HTTPClient] = no_http

    @property
    def is_asked_plainly(self) -> bool:
        """Whether the model is asked in plain turns, because it is small or because its calls were unreadable."""
        return self.plain or (self.may_turn_plain and is_hopeless(self.client.record.calls))

    def room_turn(self) -> Awaitable[None] | None:
        """Take the next turn to speak in the room it is in. Return None when it may speak at once."""
        return None if self.floor is None else self.floor.turn(self.where(), self.settings.room_pause_seconds)

    @property
    def front(self) -> Sequence[Message]:
        """The messages before the stream in every prompt, which never change: persona, rules, examples."""
        return self.window.front.messages


@dataclass(slots=True, weakref_slot=True)
class Run:
    """The state of one run."""

    id: str
    events: Sequence[Accepted]
    meter: Meter
    dispatcher: Dispatcher
    #: The lowest trust label of all that the model is shown.
    trust: ContextTrust
    #: What the run knows of the web.
    web: WebTurn
    #: Writes down what it does.
    writes: Writes
    #: The ids of the people whose events the run deals with: what it adds to the stream may speak of them.
    people: frozenset[str] = field(init=False)
    #: The principals whose words woke the run, in the order they spoke.
    askers: tuple[Principal, ...] = field(init=False)
    #: Those who hear the answer, None for everybody. What they may not be told is masked in the prompt.
    hearers: Audience = field(init=False)
    #: The events that are answered.
    _woken_by: list[Accepted] = field(init=False)
    #: The most important event that asks for an answer and is paid for; of equal ones the last.
    trigger: Accepted | None = field(init=False)
    #: The approved call that the run is there to make, None for any other run.
    granted: Pending | None = field(init=False)
    #: What the character remembers of what it is asked.
    recalled: tuple[Memory, ...] = ()
    #: What the character knows of the world that the lines bring up.
    lore: tuple[Memory, ...] = ()
    #: Who the asker is to the character, in a sentence or three: since when it knows them, and what they told before
    #: this visit. It stays the same while they stay. Empty for nothing.
    visitor: str = ""
    #: What is known of the people and times that the line asks for, as sentences: what stands beside the line.
    beside: tuple[str, ...] = ()
    #: What the character can say of people without a model, where the line asks for just that.
    known_answer: KnownAnswer | None = None
    #: The memories that these repeat.
    told: tuple[Memory, ...] = ()
    #: How many steps are recorded: answers of the model, and first sentences spoken before the rest of an answer.
    written: int = 0
    #: What the assistant saw round it when the run began, None when it could not see.
    scene: Scene | None = None
    #: What was said of an answer before all of it was there.
    early: EarlySpeech = field(default_factory=EarlySpeech)
    #: Whether the approved call of this run was begun, and whether the call being made now is that one.
    granted_begun: bool = False
    making_granted: bool = False
    #: From when on the line that it answers is long past, in clock seconds; never for what no line asked for.
    late_from: float = math.inf
    #: Whether the model was asked again without what is trusted too little.
    is_asked_again: bool = False
    #: Whether the last answer had neither text nor a call.
    nudge: bool = False
    #: The results of the calls of the last step.
    executed: Sequence[Executed] = ()
    #: How often the prompt was cut because the server found it too long.
    cuts: int = 0
    #: The calls made so far with their results: a model that repeats one is told so.
    known: set[str] = field(default_factory=set)
    #: The ids of players for whom nothing more is spent today, or not now.
    broke: set[str] = field(default_factory=set)
    #: The id of the player whose answer was already counted.
    counted: str = ""
    #: The goals that words of this run promise, by the id of the call that says them.
    promised: dict[str, Sequence[Goal]] = field(default_factory=dict)
    #: The goals that are changed with the end of the run.
    goals: tuple[Goal, ...] = ()
    #: The person for whom the run keeps a goal, with their rank of now; None for any other run.
    acts_for: Principal | None = None

    def __post_init__(self) -> None:
        """Derive people, audience, askers and trigger from the events."""
        self.people = frozenset(heard.event.who.id for heard in self.events if heard.event.who.kind in _PEOPLE)
        self.hearers = _hearers(self.events)
        woken_by = self._woken_by = self._triggers()
        self.askers = tuple(heard.event.who for heard in woken_by)
        self.trigger = _most_important(woken_by)
        self.granted = approved_call(self.trigger) if self.trigger else None

    def write_answer(self, response: LLMResponse) -> int:
        """Begin to write an answer down as the next step; return the step's number."""
        self.written += 1
        self.writes.answer(self.written, response)
        return self.written

    @property
    def requester(self) -> Principal | None:
        """The principal on whose behalf the run acts, None when nobody asked.

        An approved call, and a call by rule, are made for the principal who asked for them.
        """
        if self.trigger is None:
            return None
        event = self.trigger.event
        if event.by_rule is not None:
            return self.acts_for or event.by_rule.requester
        return event.who if self.granted is None else self.granted.requester

    @property
    def by_rule(self) -> ByRule | None:
        """The call that the run makes without asking a model, None for any other run."""
        return self.trigger.event.by_rule if self.trigger is not None else None

    def goes_without(self, who: Principal) -> None:
        """Spend nothing more for this player today, and turn the run to the next asker, if there is one."""
        self.broke.add(who.id)
        self.trigger = _most_important([heard for heard in self._woken_by if heard.event.who.id not in self.broke])

    def _triggers(self) -> list[Accepted]:
        return [heard for heard in triggers_in(self.events) if hearers_of(heard.event) == self.hearers]

    @property
    def lines_to_answer(self) -> list[str]:
        """The lines that the run is to answer, the most important last."""
        others = [format_event(heard.event) for heard in self._woken_by if heard is not self.trigger]
        return [*others, format_event(self.trigger.event)] if self.trigger else others

    @property
    def asked_texts(self) -> list[str]:
        """The words that the run is to answer, without their speakers."""
        return _texts(self._woken_by)

    @property
    def known_events(self) -> list[Accepted]:
        """The events of the run that those who hear its answer may be told of."""
        return [heard for heard in self.events if may_hear(audience_of(heard.event), self.hearers)]

    @property
    def texts(self) -> list[str]:
        """The words of these events, without their speakers."""
        return _texts(self.known_events)

    @property
    def ids_to_answer(self) -> list[str]:
        """The ids of the events that the lines of `lines_to_answer` tell of."""
        return [heard.event.id for heard in self._woken_by]


def _texts(heard: Sequence[Accepted]) -> list[str]:
    return [text for one in heard if (text := spoken_text(one.event))]


def _hearers(events: Sequence[Accepted]) -> Audience:
    """Return those who hear the answer, None for everybody.

    A run that an older version began may have several audiences: if one is everybody, the answer is for everybody.
    """
    heard_by = [hearers_of(heard.event) for heard in triggers_in(events)]
    return heard_by[0] if heard_by and None not in heard_by else None


def _most_important(heard: list[Accepted]) -> Accepted | None:
    return max(reversed(heard), key=lambda one: one.attention.importance, default=None)
