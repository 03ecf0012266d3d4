"""An assistant that really lives, for tests: real loop, real client, real HTTP to a fake server, the embedded world."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec.structs import replace
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.characters import Character, Lorebook
from mud_assistant.assistant.characters.character import Topic
from mud_assistant.assistant.config.schema import AssistantConfig, BudgetConfig, ModelConfig
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Failed, LimitReached, Outcome
from mud_assistant.assistant.events.scheduler import Scheduler
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.journal import Journal
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.memory.recall_file import IndexWorker
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.memory.topics.knowledge import index_character
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, Place
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.llm.testing import FakeAnthropic, FakeChat, FakeOllama, FakeResponses, FakeServer, Script, serve
from mud_assistant.llm.testing.ollama import OllamaModel
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import Kind, Principal, Registry
from mud_assistant.tools.game import GameTime
from mud_assistant.tools.verbs import WORLD_TOOLS

reactor: Any = _reactor
SAGE = Principal("assistant:1", "Sage", Kind.ASSISTANT)
ANN = Principal("player:1", "Ann")
FAKES: dict[str, type[FakeServer]] = {
    "ollama": FakeOllama,
    "anthropic": FakeAnthropic,
    "openai-responses": FakeResponses,
}


@dataclass
class Witness:
    """Ears that write down what they hear, and an observer that writes down what it sees."""

    heard: list[str] = field(default_factory=list)
    steps: list[StepTrace] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)
    limits: list[LimitReached] = field(default_factory=list)

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        self.heard.append(f"{speaker.name}{f' to {target.name}' if target else ''}: {text}")

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        self.heard.append(f"{speaker.name} whispers: {text}")

    def heard_page(self, speaker: Principal, text: str) -> None:
        self.heard.append(f"{speaker.name} pages: {text}")

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        self.heard.append(f"{speaker.name} on {channel}: {text}")

    def saw_emote(self, actor: Principal, text: str) -> None:
        self.heard.append(f"{actor.name} {text}")

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        self.heard.append(f"{giver.name} gives you the {thing}")

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        self.heard.append(f"{who.name} arrives {from_direction}".strip())

    def saw_departure(self, who: Principal, direction: str) -> None:
        self.heard.append(f"{who.name} leaves {direction}".strip())

    def thinking(self, run_id: str, step: int) -> None: ...

    def step(self, trace: StepTrace) -> None:
        self.steps.append(trace)

    def failed(self, failure: Failed | LimitReached) -> None:
        if isinstance(failure, Failed):
            self.failures.append(failure)
        else:
            self.limits.append(failure)

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


@dataclass
class Life:
    """One assistant with a visitor beside it."""

    assistant: Assistant
    fake: FakeServer
    ann: EmbeddedBody
    home: EmbeddedBody
    world: EmbeddedWorld
    #: Any: a MemoryJournal, or that which the life was given.
    journal: Any
    witness: Witness
    pipeline: Pipeline
    #: What players were told outside the story, as (id, sentence).
    told: list[tuple[str, str]]

    async def say(self, text: str) -> None:
        """Ann says something; returns when the assistant has dealt with it."""
        await self.ann.say(text)
        await self.assistant.settled()

    async def whisper(self, text: str) -> None:
        """Ann whispers to Sage; returns when the assistant has dealt with it."""
        await self.ann.whisper("Sage", text)
        await self.assistant.settled()


def give_client(assistant: Assistant, client: Any) -> None:
    """Let an assistant ask this client of a model from now on."""
    model = replace(assistant.context.model, client=client)
    assistant.context = replace(assistant.context, model=model)


async def promise(assistant: Assistant, *goals: Goal) -> None:
    """Let an assistant have promised this."""
    await assistant.context.memory.journal.save_goals(goals)
    assistant.context.memory.goals.put(goals)


@asynccontextmanager
async def living(
    script: Script,
    settings: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
    provider: str = "ollama",
    budget: dict[str, Any] | None = None,
    *,
    wall: Callable[[], float] = lambda: 0.0,
    registry: Registry | None = None,
    ann: Principal = ANN,
    journal: Journal | None = None,
    server_clock: IReactorTime | None = None,
    scrub: Callable[[str], str] = str,
    secrets: Secrets | None = None,
    scheduler: Scheduler | None = None,
    lore: Lorebook | None = None,
    topics: Sequence[Topic] = (),
    worker: IndexWorker | None = None,
    place: Place = HAMLET,
    storage: Storage | None = None,
    hour: Callable[[], float] | None = None,
    clock: Any = reactor,
) -> AsyncIterator[Life]:
    """A life on a fake server with this script, ended without a trace.

    `clock` is the assistant's. `server_clock` is what the server's own pauses are on: on a `Clock` nothing more comes
    until it is moved.
    """
    fake: FakeServer = FAKES.get(provider, FakeChat)(server_clock or reactor, script)
    if isinstance(fake, FakeOllama) and model and "model" in model:
        fake.models[f"{model['model']}"] = OllamaModel()
    exchange = HttpExchange(reactor)
    async with serve(fake, reactor) as url:
        config = ModelConfig(**{"first_byte_seconds": 5, "idle_seconds": 5, "max_attempts": 1, **(model or {})})
        base = f"{url}/v1" if provider in {"openai", "openai-responses", "openrouter"} else url
        chosen = ChosenModel(
            get_provider(provider, base, config.model or "sage"),
            "a fake",
            config,
        )
        told: list[tuple[str, str]] = []
        witness, world = Witness(), EmbeddedWorld(place, None if hour is None else lambda: GameTime(hour() * 3600))
        home = world.add(SAGE)
        pipeline = Pipeline(reactor, Random(1), Ledger(reactor.seconds, wall))  # noqa: S311  (jitter)
        process = new_process(exchange, clock, pipeline)
        storage = storage or in_memory(clock.seconds, 500, remembering((SAGE.name,)))
        if journal is not None:
            storage = replace(storage, journal=journal)
        around = Dependencies(
            CharacterBody(
                SAGE,
                home,
                witness,
                notify=lambda who, sentence: told.append((who.id, sentence)),
                scrub=scrub if secrets is None else secrets.scrub,
                pieces=(secrets or Secrets()).pieces(),
            ),
            process if scheduler is None else replace(process, scheduler=scheduler),
            storage,
            new_toolbox(registry or Registry(WORLD_TOOLS), clock.seconds),
            budget=BudgetConfig(**(budget or {})),
            character=index_character(Character("", lore=lore or Lorebook(), topics=tuple(topics)), worker),
        )
        all_settings = AssistantConfig(**{"join_seconds": 0, **(settings or {})})
        assistant = build_assistant(all_settings, [chosen], around, witness.failed)
        home.listener = BodyListener(SAGE, assistant.inbox.hear, home.alone_with, home.others_than)
        assistant.start()
        visitor = world.add(ann, listener=witness)
        try:
            yield Life(assistant, fake, visitor, home, world, storage.journal, witness, pipeline, told)
        finally:
            await assistant.stop()
            await exchange.close()
