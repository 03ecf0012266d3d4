"""Characters that live on a clock that a test moves: real loop, journal in memory, the embedded world."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.task import Clock

from mud_assistant.assistant.characters import Character
from mud_assistant.assistant.characters.day_entries import NO_DAYS, Days
from mud_assistant.assistant.config.schema import AssistantConfig, ModelConfig
from mud_assistant.assistant.events.conversation import Floor
from mud_assistant.assistant.life.peace import OwnersQuiet
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.memory.topics.knowledge import index_character
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import Kind, Principal, Registry
from mud_assistant.tools.game import GameTime
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.assistant.living import ANN, Witness, reactor

#: How many seconds of the game pass in one of ours.
PACE = 12.0
#: The port where no server is: a model that is asked after all fails, and is counted by its budget.
NOWHERE = "http://127.0.0.1:9"
HOUR = 3600.0


class Lived(Struct, frozen=True):
    """A character to be: its name, the room where it is at home, its days, and its settings."""

    name: str
    room: str = "library"
    days: Days = NO_DAYS
    settings: dict[str, Any] = {}


@dataclass
class Town:
    """The characters by their names, with their bodies, on one clock. What Ann sees stands in `witness`."""

    clock: Clock
    world: EmbeddedWorld
    assistants: dict[str, Assistant]
    bodies: dict[str, EmbeddedBody]
    journals: dict[str, Any]
    witness: Witness
    quiet: OwnersQuiet

    def ann(self, room: str = "library") -> EmbeddedBody:
        """Ann comes into the game."""
        return self.world.add(ANN, room, self.witness)

    def pass_by(self, seconds: float, step: float = 1.0) -> None:
        """Let this time pass."""
        for _ in range(int(seconds / step)):
            self.clock.advance(step)

    def until(self, hour: float) -> None:
        """Let time pass until the clock of the game shows this hour."""
        now = self.clock.seconds() * PACE / HOUR % 24
        self.pass_by((hour - now) % 24 * HOUR / PACE)

    def where(self, name: str) -> str:
        """Return the room where a character is."""
        return self.bodies[name].room.key


def _room_of(body: EmbeddedBody) -> str:
    return body.room.key


@asynccontextmanager
async def town(*lived: Lived, hour: float = 0.0, kept: dict[str, Storage] | None = None) -> AsyncIterator[Town]:
    """Characters that live in the hamlet from this hour on; nobody is in the game yet. `kept` is of earlier lives."""
    kept = {} if kept is None else kept
    clock = Clock()
    clock.advance(10 * 24 * HOUR / PACE + hour * HOUR / PACE)
    world = EmbeddedWorld(replace(HAMLET, residents=()), lambda: GameTime(clock.seconds() * PACE, PACE), clock.seconds)
    exchange = HttpExchange(reactor)
    made = Town(clock, world, {}, {}, {}, Witness(), OwnersQuiet())
    pipeline = Pipeline(clock, Random(1), Ledger(clock.seconds, clock.seconds))  # noqa: S311
    process = replace(new_process(exchange, clock, pipeline), floor=Floor(clock))
    for number, one in enumerate(lived):
        me = Principal(f"assistant:{number}", one.name, Kind.ASSISTANT)
        body = world.add(me, one.room)
        storage = kept.setdefault(one.name, in_memory(clock.seconds, 500, remembering((one.name,))))
        where = partial(_room_of, body)
        around = Dependencies(
            CharacterBody(me, body, made.witness, where),
            process,
            storage,
            new_toolbox(Registry(WORLD_TOOLS), clock.seconds),
            quiet=made.quiet,
            character=index_character(Character("", days=one.days)),
        )
        config = ModelConfig(max_attempts=1)
        chosen = ChosenModel(get_provider("ollama", NOWHERE, "sage"), "nowhere", config)
        settings = AssistantConfig(**{"name": one.name, "join_seconds": 0, **one.settings})
        assistant = build_assistant(settings, [chosen], around, made.witness.failed)
        body.listener = BodyListener(me, assistant.inbox.hear, body.alone_with, body.others_than)
        made.assistants[one.name], made.bodies[one.name], made.journals[one.name] = assistant, body, storage.journal
        assistant.start()
    clock.advance(0.1)
    try:
        yield made
    finally:
        for assistant in made.assistants.values():
            await assistant.stop()
        await exchange.close()


def acts(witness: Witness, name: str) -> Sequence[str]:
    """Return what was seen and heard of a character."""
    return [line for line in witness.heard if line.startswith(name)]
