"""What a run thinks and acts with, and the state of one run."""

from __future__ import annotations

from collections.abc import Sequence
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
from assistant.trace import Observer
from llm import Message, ModelChain
from tools import Dispatcher, Notes, Principal, Registry, World


@dataclass(frozen=True, slots=True)
class Mind:
    """What a run thinks and acts with: made once by the composition root."""

    me: Principal
    world: World
    notes: Notes
    client: ModelChain
    registry: Registry
    grant: frozenset[str]
    journal: Journal
    history: History
    #: What stands before the stream in every prompt and never changes: persona, rules, examples.
    front: Sequence[Message]
    #: Bytes of a request beside its messages: the tools, mostly.
    head_bytes: int
    settings: AssistantConfig
    model: ModelConfig
    clock: IReactorTime
    random: Random
    observer: Observer
    purse: Purse
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
    nudge: bool = False
    shrunk: bool = False
    #: The reads made so far, by name and arguments: a model that repeats one is told so.
    reads: set[str] = field(default_factory=set)
    #: Those for whom nothing more is spent today.
    broke: set[str] = field(default_factory=set)

    @property
    def trigger(self) -> Accepted | None:
        """The most important event that asks for an answer and is paid for, the last of equals."""
        triggers = [
            accepted
            for accepted in self.events
            if accepted.attention.verdict is Verdict.TRIGGER and accepted.event.who.id not in self.broke
        ]
        return max(reversed(triggers), key=lambda accepted: accepted.attention.importance, default=None)

    @property
    def requester(self) -> Principal | None:
        """On whose behalf the run acts, None when nobody asked."""
        return self.trigger.event.who if self.trigger else None
