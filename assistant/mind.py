"""What a run thinks and acts with, and the state of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from twisted.internet.interfaces import IReactorTime

from assistant.classify import Verdict
from assistant.config import AssistantConfig, ModelConfig
from assistant.excuse import Excuse
from assistant.history import History
from assistant.journal import Accepted, Journal
from assistant.limits import Meter
from assistant.purse import Purse
from assistant.recovery import Said
from assistant.trace import Observer
from assistant.turnstile import Turnstile
from llm import Message, ModelChain, ToolCall
from tools import Approvals, Dispatcher, Kind, Notes, Principal, Registry, Rules, Scene, Sight, World
from tools.web.seen import SeenUrls
from tools.web.turn import WebTurn

#: Who has a right to be forgotten.
_PEOPLE = {Kind.PLAYER, Kind.OPERATOR}


@dataclass(frozen=True, slots=True)
class Mind:
    """What a run thinks and acts with: made once by the composition root."""

    me: Principal
    world: World
    notes: Notes
    client: ModelChain
    registry: Registry
    #: What the assistant may do, and on whose word.
    rules: Rules
    #: What it has asked leave for. The same as in the rules.
    approvals: Approvals
    #: What it was given leave for, by the event that told of it: the exact calls, made without asking the model again.
    granted: dict[str, ToolCall]
    journal: Journal
    history: History
    #: What stands before the stream in every prompt and never changes: persona, rules, examples.
    front: Sequence[Message]
    #: Bytes of a request without the stream: the front, and the tools mostly.
    fixed_bytes: int
    settings: AssistantConfig
    model: ModelConfig
    clock: IReactorTime
    #: Shared with the other assistants of the process: where a run begins, and where it goes on with each answer.
    turnstile: Turnstile
    random: Random
    observer: Observer
    purse: Purse
    #: The addresses that stood in a search result or in a player's words: those that may be opened.
    seen: SeenUrls
    #: Gives a text back without the keys in it.
    scrub: Callable[[str], str]
    #: Done when the model cannot be asked, and when the budget of the day is used up.
    excuse: Excuse
    tired: Excuse


@dataclass(slots=True)
class Run:
    """The state of one run."""

    id: str
    events: Sequence[Accepted]
    meter: Meter
    dispatcher: Dispatcher
    #: The lowest label of all that the model is shown.
    sight: Sight
    #: What the run knows of the web.
    web: WebTurn
    #: The ids of those whose words the run answers: what it adds to the stream may speak of them.
    people: frozenset[str] = field(init=False)
    #: Everybody whose words woke the run, in the order they spoke.
    askers: tuple[Principal, ...] = field(init=False)
    #: The most important event that asks for an answer and is paid for, the last of equals.
    trigger: Accepted | None = field(init=False)
    #: How many steps are written down: the answers of the model, and first sentences that were spoken before the rest.
    written: int = 0
    #: What the assistant saw round it when the run began, None when it could not see.
    scene: Scene | None = None
    #: The first sentence of an answer whose rest was not acted on yet, and whether there was any in this run.
    said: Said | None = None
    spoke_early: bool = False
    #: Whether a call of the last step was only the rest of what had been said early.
    went_on: bool = False
    nudge: bool = False
    shrunk: bool = False
    #: The calls made so far with what came of them: a model that repeats one is told so.
    known: set[str] = field(default_factory=set)
    #: Those for whom nothing more is spent today.
    broke: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Find what follows from the events."""
        self.people = frozenset(heard.event.who.id for heard in self.events if heard.event.who.kind in _PEOPLE)
        woken_by = self._triggers()
        self.askers = tuple(heard.event.who for heard in woken_by)
        self.trigger = _most_important(woken_by)

    def next_step(self) -> int:
        """The number under which the next answer is written down."""
        self.written += 1
        return self.written

    @property
    def requester(self) -> Principal | None:
        """On whose behalf the run acts, None when nobody asked."""
        return self.trigger.event.who if self.trigger else None

    def goes_without(self, who: Principal) -> None:
        """Nothing more is spent for them today: the run is for the next who asked, if anybody did."""
        self.broke.add(who.id)
        self.trigger = _most_important([heard for heard in self._triggers() if heard.event.who.id not in self.broke])

    def _triggers(self) -> list[Accepted]:
        return [heard for heard in self.events if heard.attention.verdict is Verdict.TRIGGER]


def _most_important(heard: list[Accepted]) -> Accepted | None:
    return max(reversed(heard), key=lambda one: one.attention.importance, default=None)
