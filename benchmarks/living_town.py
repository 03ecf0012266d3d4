"""Characters that live on a clock that is moved on by hand, in a place of many rooms: real loop, real journal."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace
from twisted.internet.task import Clock

from benchmarks.outside import CountedExchange, Outside, counted_journal
from mud_assistant.assistant.characters import Character
from mud_assistant.assistant.config.schema import AssistantConfig, ModelConfig
from mud_assistant.assistant.events.conversation import Floor
from mud_assistant.assistant.events.outcome import Failed, LimitReached
from mud_assistant.assistant.events.trace import NobodyWatches, StepTrace
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.memory.topics.knowledge import index_character
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.in_memory import MemoryFile
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.runtime.storage import KeptJournal
from mud_assistant.assistant.worlds.embedded.game import EventListener
from mud_assistant.assistant.worlds.embedded.hamlet import Exit, Place, Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.resilience import Ledger, Pipeline
from mud_assistant.tools import Kind, Principal, Registry, Scene, ToolFailed
from mud_assistant.tools.game import GameTime
from mud_assistant.tools.verbs import WORLD_TOOLS

#: When the clock begins, in seconds since 1970: at a midnight.
START = 20_834 * 86_400.0
#: A port where no server is: for characters that never ask their model.
NOWHERE = "http://127.0.0.1:9"
HOUR = 3600.0
#: The least by which the clock goes on, in seconds.
LEAST_STEP = 1.0


class Counted(NobodyWatches):
    """How often the model of a character answered, and for how many tokens as the window reckons them."""

    def __init__(self) -> None:
        self.calls = self.tokens = 0

    def step(self, step: StepTrace) -> None:
        """Count an answer."""
        self.calls += 1
        self.tokens += step.prompt_tokens


class DoorBody(EmbeddedBody):
    """The body of a character in a place where some doors are locked at times."""

    #: Tells whether the door between two rooms is locked now.
    is_locked: Callable[[str, str], bool] = staticmethod(lambda _, __: False)

    async def move(self, direction: str) -> Scene:
        """Walk in a direction, unless the door there is locked."""
        there = self._way(direction).to
        if self.is_locked(self.room.key, there):
            raise ToolFailed("The door is locked.")
        return await super().move(direction)


@dataclass(slots=True)
class Inhabitant:
    """A character that lives: what it is made of, and what is made of it with each start."""

    me: Principal
    character: Character
    settings: dict[str, Any]
    body: DoorBody
    #: Its way to its models, with dice of its own that go on over restarts: they make the ids of its events.
    pipeline: Pipeline
    assistant: Assistant | None = None
    journal: Any = None
    counted: Counted = field(default_factory=Counted)

    @property
    def alive(self) -> Assistant:
        """The running assistant."""
        assert self.assistant is not None
        return self.assistant

    @property
    def is_settled(self) -> bool:
        """Whether it has nothing to do at this moment."""
        waiting = self.alive.settled()
        try:
            waiting.send(None)
        except StopIteration:
            return True
        waiting.close()
        return False


class Town:
    """All characters of one place, on one clock. `journal` is a file for all, None for memory."""

    def __init__(
        self, reactor: Any, place: Place, url: str = NOWHERE, journal: Path | None = None, *, pace: float = 1.0
    ) -> None:
        self.clock = Clock()
        self.clock.advance(START)
        self._url, self._outside = url, Outside(reactor)
        self.world = EmbeddedWorld(place, self.time, self.clock.seconds)
        self._pace = pace
        self.exchange = CountedExchange(reactor, self._outside)
        self.ledger = Ledger(self.clock.seconds, self.clock.seconds)
        self._process = replace(new_process(self.exchange, self.clock, self._pipeline(0)), floor=Floor(self.clock))
        self.file: Any = (
            MemoryFile(self.clock.seconds)
            if journal is None
            else counted_journal(journal, reactor, self.clock.seconds, self._outside)
        )
        self.people: dict[str, Inhabitant] = {}
        self.failures: list[str] = []

    @property
    def calls(self) -> int:
        """How often models answered."""
        return sum(one.counted.calls for one in self.people.values())

    def time(self) -> GameTime:
        """Return the time of the game: `pace` of its seconds pass in one of ours."""
        return GameTime(START + (self.clock.seconds() - START) * self._pace, self._pace)

    async def open(self) -> None:
        """Open the journal, where it is a file."""
        if isinstance(self.file, KeptJournal):
            await self.file.open()

    async def settle(self, name: str, room: str, character: Character, **settings: Any) -> Inhabitant:
        """Begin the life of a character in a room."""
        me = Principal(f"assistant:{len(self.people)}", name, Kind.ASSISTANT, settings.get("permission", 1))
        body = DoorBody(self.world, me, self.world.rooms[room])
        self.world.enter(body)
        with_defaults = {"name": name, "join_seconds": 0, **settings}
        pipeline = self._pipeline(zlib.crc32(name.encode()))
        new = self.people[name] = Inhabitant(me, character, with_defaults, body, pipeline)
        await self.begin(new)
        return new

    async def begin(self, one: Inhabitant) -> None:
        """Start a character, with all that its journal holds."""
        storage = await self.file.storage_of(one.me.id, 500, one.me.name)
        around = Dependencies(
            CharacterBody(one.me, one.body, one.counted, lambda: one.body.room.key),
            replace(self._process, pipeline=one.pipeline),
            storage,
            new_toolbox(Registry(WORLD_TOOLS), self.clock.seconds),
            character=index_character(one.character),
        )
        model = ModelConfig(max_attempts=1, **one.settings.get("model", {}))
        chosen = ChosenModel(get_provider("ollama", self._url, "sage"), "a fake", model)
        rest = {key: value for key, value in one.settings.items() if key != "model"}
        one.assistant, one.journal = (
            build_assistant(AssistantConfig(**rest), [chosen], around, self._failed),
            storage.journal,
        )
        one.body.listener = BodyListener(one.me, one.alive.inbox.hear, one.body.alone_with, one.body.others_than)
        one.assistant.start()

    async def end(self, one: Inhabitant) -> None:
        """Stop a character in the middle of whatever it does. What it hears until it begins again is lost."""
        one.body.listener = None
        await one.alive.stop()
        self.file.release(one.me.id)

    def player(self, principal: Principal, room: str, ears: EventListener) -> EmbeddedBody:
        """Bring a player into the game."""
        return self.world.add(principal, room, ears)

    async def quiet(self) -> None:
        """Wait until nobody does anything more at this moment; timers that this needs go on meanwhile.

        They go on while nothing is waited for outside, so that what happens depends on no other clock.
        """
        while True:
            self.clock.advance(0)
            if self._is_settled:
                return
            await self._outside.idle()
            if not self._outside and not self._is_settled:
                timers = self.clock.getDelayedCalls()
                self.clock.advance(max(0.0, min(one.getTime() for one in timers) - self.clock.seconds()))

    async def until(self, time: float, each: Callable[[], None] = lambda: None) -> None:
        """Move the clock on to this time, from one timer to the next; `each` is called after each."""
        while (now := self.clock.seconds()) < time:
            timers = self.clock.getDelayedCalls()
            following = min((one.getTime() for one in timers), default=time)
            self.clock.advance(min(max(following, now + LEAST_STEP), time) - now)
            await self.quiet()
            each()

    async def close(self) -> None:
        """End all of it."""
        for one in self.people.values():
            await self.end(one)
        await self.exchange.close()
        if isinstance(self.file, KeptJournal):
            await self.file.close()

    @property
    def _is_settled(self) -> bool:
        return all(one.is_settled for one in self.people.values())

    def _pipeline(self, seed: int) -> Pipeline:
        """Make what a character asks its models through, with dice of its own: others do not change its chances."""
        return Pipeline(self.clock, Random(seed), self.ledger)  # noqa: S311  (dice)

    def _failed(self, failure: Failed | LimitReached) -> None:
        self.failures.append(str(failure.cause))


def many_rooms(count: int, dice: Random) -> Place:
    """Make a place of so many rooms: a tree with some ways round."""
    ways: list[list[Exit]] = [[] for _ in range(count)]
    pairs = [(number, dice.randrange(max(0, number - 6), number)) for number in range(1, count)]
    pairs += [(dice.randrange(count // 2), dice.randrange(count // 2, count)) for _ in range(count // 6)]
    for one, other in pairs:
        ways[one].append(Exit(f"way{other}", _key(other)))
        ways[other].append(Exit(f"way{one}", _key(one)))
    described = "A room like many others."
    return Place(tuple(Room(_key(at), room_name(at), described, tuple(ways[at])) for at in range(count)))


def room_name(number: int) -> str:
    """Name a room of such a place."""
    return f"House {_SYLLABLES[number % 10]}{_SYLLABLES[number // 10 % 10].lower()}"


def _key(number: int) -> str:
    return f"room{number}"


_SYLLABLES: Sequence[str] = ("Bar", "Col", "Den", "Fir", "Gal", "Hob", "Kel", "Lam", "Mor", "Nis")
