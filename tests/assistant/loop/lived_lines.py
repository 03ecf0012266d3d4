"""An assistant whose process ends at any boundary of its journal, among people, on a `Clock`.

The assistant is the real one: its tick, loop, policy, dispatcher, budgets and journal. Its model is scripted. What it
asks its model, does and says is handed to a `Notes`, which knows what must come of it.
"""

from __future__ import annotations

from random import Random
from typing import Any

from pydantic import Field
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.config.schema import AssistantConfig, BudgetConfig, ModelConfig
from mud_assistant.assistant.events.classify import Attention
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.journal import StoredMutes, StoredStream
from mud_assistant.assistant.life.life_state import StoredLife
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.memory.acquaintance.known_people import KnownPeople
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import RecallInMemory
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.memory.sleep.stored import StoredSleep
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.listener import BodyListener, MakeEvent
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import Arguments, Category, Registry, Thing, Tool, ToolContext
from mud_assistant.tools.testing import now
from mud_assistant.tools.tool import Reach
from mud_assistant.tools.trust import Source
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, EMOTE, LOOK, NOOP, RECALL, SAY, WHISPER
from tests.assistant.living import Witness, give_client
from tests.assistant.loop.noted_life import Body, Ears, NotedJournal, Notes
from tests.assistant.loop.planned_lines import PEOPLE, SAGE
from tests.assistant.loop.scripted_model import ScriptedModel
from tests.assistant.loop.store_in_memory import Death, StoreInMemory

LATE_AFTER, LATE_WORDS = 60.0, "Long ago you said"
MOST_STEPS, MOST_FORMAT_ERRORS, RUN_SECONDS = 5, 2, 30.0
WORLD_TOOLS = (SAY, LOOK, EMOTE, WHISPER, RECALL, NOOP, *ACCOUNT_TOOLS)
#: What somebody of no rank has written in the room, when it lies there.
BY_A_GUEST = Thing("amulet", "It is made of words.", authority=0)


class Thought(Arguments):
    """What it ponders."""

    thought: str


class Deed(Arguments):
    """For which line it is done."""

    number: str = Field(max_length=9)


class Question(Arguments):
    """What it asks strangers."""

    question: str = Field(max_length=90)


class Lived(BodyListener):
    """One assistant among six people, through as many processes as it takes."""

    def __init__(self, notes: Notes, budget: BudgetConfig, clock: Clock) -> None:
        self.notes, self.budget, self.clock = notes, budget, clock
        self.clock.advance(1000.0)
        self.store = StoreInMemory(self.clock.seconds)
        self.ledger = Ledger(self.clock.seconds, self.clock.seconds)
        self.faults: set[str] = set()
        self.world = EmbeddedWorld()
        self.home = self.world.add(SAGE)
        super().__init__(SAGE, self._take, self.home.alone_with, self.home.others_than)
        self.ears = {who.id: Ears(who, notes) for who in PEOPLE}
        self.bodies = {who.id: self.world.add(who, listener=self.ears[who.id]) for who in PEOPLE}
        self.things = self.world.things["library"]
        self.event_id, self.events = "", 0
        self.attention: Attention | None = None
        self.home.listener = self
        self.begin()

    def begin(self) -> None:
        """Begin the first or the next process."""
        self.store.live_again()
        self.notes.began()
        now_ = self.clock.seconds
        journal = NotedJournal(self.store, SAGE.id, 500, "Sage", remembering(("Sage",)))
        journal.notes, journal.faults = self.notes, self
        life = now(journal.start())
        loaded = now(StoredStream(journal.lease).load_stream())
        assert not loaded.unreadable
        self.index = RecallInMemory(ENGLISH)
        memories = IndexedMemories(journal.lease, self.index, now_)
        sleep, people, lasting = StoredSleep(journal.lease), KnownPeople(journal.lease), StoredLife(journal.lease, now_)
        mutes = StoredMutes(journal.lease, journal.lease.store.wall)
        storage = Storage(journal, memories, mutes, sleep, people, lasting, loaded.entries, life)
        settings = AssistantConfig(
            tools=tuple(tool.name for tool in (*WORLD_TOOLS, *self._tools()) if tool.name != "smash"),
            join_seconds=0, may_repeat=True, pause_seconds=0, room_pause_seconds=0, run_seconds=RUN_SECONDS,
            max_steps=MOST_STEPS, max_format_errors=MOST_FORMAT_ERRORS, max_spoken=8,
            late_after_seconds=LATE_AFTER, late_words=f"{LATE_WORDS} {{line}}:",
        )  # fmt: skip
        around = Dependencies(
            CharacterBody(SAGE, Body(self.home, self, self.notes), Witness()),
            new_process(
                HttpExchange(self.clock),
                self.clock,
                Pipeline(self.clock, Random(0), self.ledger),  # noqa: S311  (pauses after failures)
                self.clock.seconds,
            ),
            storage,
            new_toolbox(Registry((*WORLD_TOOLS, *self._tools())), self.clock.seconds),
            budget=self.budget,
        )
        nobody = ChosenModel(
            get_provider("local", "http://127.0.0.1/v1", "m"), "m", ModelConfig(examples=False, asking="tools")
        )
        self.journal, self.life = journal, life
        self.assistant = build_assistant(settings, [nobody], around)
        real = self.assistant.context.model.client
        give_client(self.assistant, ScriptedModel(real, self.clock, self.ledger, self, self.notes))
        self.context = self.assistant.context
        self.assistant.start()

    def end(self) -> None:
        """End the process where it is."""
        self.store.is_dead = True
        self.assistant.halt()
        now(self.index.close())

    def stop(self) -> None:
        """Stop the process on purpose: what it does is cancelled, and is taken up by the next one."""
        ends = self.assistant.halt()
        for _ in range(3):
            self.clock.advance(0.0)
        assert all(end.called for end in ends)
        now(self.index.close())
        self.store.is_dead = True

    def settle(self) -> None:
        """Let time pass until nothing is to be done now; the next process begins wherever one ends."""
        while not self.settle_life():
            pass

    def settle_life(self) -> bool:
        """Let time pass until nothing is to be done now, or the process ends and the next one begins. Tell which."""
        settled = Deferred.fromCoroutine(self.assistant.settled())
        for step in range(200):
            if self.store.is_dead:
                self.end()
                self.begin()
                return False
            if settled.called:
                return True
            self.clock.advance(2.5 if step % 3 == 2 else 0.0)
        raise AssertionError("it never comes to rest")

    def hear(self, make: MakeEvent) -> Event:
        """Let the assistant hear an event, and return it. Its attention is None when the process ended meanwhile."""
        self.events += 1
        event = make(f"{self.life}.{self.events}", self.clock.seconds())
        self.event_id, self.attention = event.id, None
        heard = Deferred.fromCoroutine(self.assistant.inbox.take(event))
        heard.addCallbacks(self._attend, lambda failure: failure.trap(Death) and None)
        return event

    def _attend(self, attention: Attention) -> None:
        self.attention = attention

    def _take(self, make: MakeEvent) -> None:
        self.hear(make)

    def due(self, fault: str) -> bool:
        """Whether this is to go wrong now, which it does once."""
        is_due = fault in self.faults
        self.faults.discard(fault)
        self.notes.is_disturbed |= is_due and fault != "look"
        return is_due

    def _tools(self) -> tuple[Tool, ...]:
        async def ponder(_: Thought, context: ToolContext) -> str:
            self.notes.pondered(context)
            return "You thought about it."

        async def far(_: Question, __: ToolContext) -> str:
            return "Strangers tell of the weather."

        def deed(name: str, needed: int | None = None) -> Tool:
            async def do(arguments: Deed, context: ToolContext) -> str:
                self.store.check_alive()
                self.notes.did(name, int(arguments.number), context)
                if self.due("deed hangs"):
                    await Deferred()
                return "It is done."

            kinds: Any = {"source": Source.OPERATOR, "reach": Reach.NOBODY, "required_permission": needed}
            return Tool(name, "A deed.", Deed, Category.DANGEROUS, do, **kinds)

        return (
            Tool("ponder", "Think.", Thought, Category.SAFE_CHAIN, ponder, source=Source.OPERATOR),
            Tool("far", "Ask strangers.", Question, Category.ASYNC_REQUIRED, far),
            *(deed("ring"), deed("burn", 3), deed("smash")),
        )
