"""What every part of a run is given: what it works with (`RunContext`), and how far it is (`Run`)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.events import ByRule, Noticed, audience_of, format_event, hearers_of, spoken_text
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.loop.choosing import approved_call, triggers_in
from mud_assistant.assistant.loop.recovery import EarlySpeech
from mud_assistant.assistant.loop.run_parts import (
    CharacterBody,
    MemoryParts,
    ModelParts,
    ProcessParts,
    SpeechParts,
    Toolbox,
)
from mud_assistant.assistant.loop.spending import Meter
from mud_assistant.assistant.loop.writing import Writes
from mud_assistant.assistant.memory.acquaintance.spoken_answers import KnownAnswer
from mud_assistant.llm import LLMResponse
from mud_assistant.llm.modes.capabilities import is_hopeless
from mud_assistant.tools import ContextTrust, Dispatcher, Executed, Pending, PolicyConfig, Principal, Scene, ToolContext
from mud_assistant.tools.context import TaskReport
from mud_assistant.tools.memories import Memory
from mud_assistant.tools.trust import PEOPLE, Audience, may_hear
from mud_assistant.tools.web.cite import WebTurn


class RunContext(Struct, frozen=True):
    """The dependencies with which a run thinks and acts. The composition root makes it once."""

    body: CharacterBody
    process: ProcessParts
    settings: AssistantConfig
    tools: Toolbox
    #: What the assistant may do, and on whose word.
    rules: PolicyConfig
    model: ModelParts
    memory: MemoryParts
    speech: SpeechParts

    @property
    def is_asked_plainly(self) -> bool:
        """Whether the model is asked in plain turns, because it is small or because its calls were unreadable."""
        return self.model.plain or (self.model.may_turn_plain and is_hopeless(self.model.client.record.calls))

    def room_turn(self) -> Awaitable[None] | None:
        """Take the next turn to speak in the room it is in. Return None when it may speak at once."""
        floor = self.process.floor
        return None if floor is None else floor.turn(self.body.where(), self.settings.room_pause_seconds)


class Recollection(Struct):
    """What comes to the character's mind at the lines of a run."""

    #: What it remembers of what it is asked.
    memories: tuple[Memory, ...] = ()
    #: What it knows of the world that the lines bring up.
    lore: tuple[Memory, ...] = ()
    #: Who the asker is to the character, in a sentence or three: since when it knows them, and what they told before
    #: this visit. It stays the same while they stay. Empty for nothing.
    visitor: str = ""
    #: What is known of the people and times that the line asks for, as sentences: what stands beside the line.
    beside: tuple[str, ...] = ()
    #: What the character can say of people without a model, where the line asks for just that.
    answer: KnownAnswer | None = None
    #: The memories that the sentences repeat.
    told: tuple[Memory, ...] = ()


class RunProgress(Struct):
    """The steps of a run so far."""

    #: How many steps are recorded: answers of the model, and first sentences spoken before the rest of an answer.
    written: int = 0
    #: The results of the calls of the last step.
    executed: Sequence[Executed] = ()
    #: The calls made so far with their results: a model that repeats one is told so.
    results: set[str] = set()
    #: Whether the last answer had neither text nor a call.
    is_empty: bool = False
    #: Whether the model was asked again without what is trusted too little.
    is_asked_again: bool = False
    #: The goals that words of the run promise, by the id of the call that says them.
    promised: dict[str, Sequence[Goal]] = {}
    #: The goals that are changed with the end of the run.
    goals: tuple[Goal, ...] = ()
    #: Told of each call of an impulse that is over, None in any other run.
    on_executed: Callable[[Executed], None] | None = None
    #: Looks into a question for the run, None where nobody can; and whether that goes on now.
    look_into: Callable[[str, ToolContext], Awaitable[TaskReport]] | None = None
    has_child: bool = False
    #: The person for whom the run keeps a goal, with their rank of now; None for any other run.
    acts_for: Principal | None = None


class GrantedCall(Struct):
    """The approved call that a run is there to make."""

    pending: Pending
    is_begun: bool = False
    #: Whether the call that is being made now is this one.
    is_being_made: bool = False


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
    granted: GrantedCall | None = field(init=False)
    #: What the assistant saw round it when the run began, None when it could not see.
    scene: Scene | None = None
    #: What was said of an answer before all of it was there.
    early: EarlySpeech = field(default_factory=EarlySpeech)
    #: From when on the line that it answers is long past, in clock seconds; never for what no line asked for.
    late_from: float = math.inf
    #: How often the prompt was cut because the server found it too long.
    cuts: int = 0
    recalled: Recollection = field(default_factory=Recollection)
    progress: RunProgress = field(default_factory=RunProgress)

    def __post_init__(self) -> None:
        """Derive people, audience, askers and trigger from the events."""
        self.people = frozenset(heard.event.who.id for heard in self.events if heard.event.who.kind in PEOPLE)
        self.hearers = _hearers(self.events)
        woken_by = self._woken_by = self._triggers()
        self.askers = tuple(heard.event.who for heard in woken_by)
        self.trigger = _most_important(woken_by)
        pending = approved_call(self.trigger) if self.trigger else None
        self.granted = GrantedCall(pending) if pending else None

    def write_answer(self, response: LLMResponse) -> int:
        """Begin to write an answer down as the next step; return the step's number."""
        progress = self.progress
        progress.written += 1
        self.writes.answer(progress.written, response)
        return progress.written

    @property
    def requester(self) -> Principal | None:
        """The principal on whose behalf the run acts, None when nobody asked.

        An approved call, and a call by rule, are made for the principal who asked for them.
        """
        if self.trigger is None:
            return None
        event = self.trigger.event
        if event.by_rule is not None:
            return self.progress.acts_for or event.by_rule.requester
        return event.who if self.granted is None else self.granted.pending.requester

    @property
    def by_rule(self) -> ByRule | None:
        """The call that the run makes without asking a model, None for any other run."""
        return self.trigger.event.by_rule if self.trigger is not None else None

    @property
    def is_impulse(self) -> bool:
        """Whether nobody and nothing asked for the run, but the character itself."""
        event = self.trigger.event if self.trigger is not None else None
        return isinstance(event, Noticed) and event.of_itself

    def goes_without(self, who: Principal) -> None:
        """Spend nothing more for this player today, and turn the run to the next asker, if there is one."""
        broke = self.meter.broke
        broke.add(who.id)
        self.trigger = _most_important([heard for heard in self._woken_by if heard.event.who.id not in broke])

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
