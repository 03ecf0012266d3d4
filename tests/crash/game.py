"""One life of a game, in a process that may be killed at any moment: reactor, world, assistants, one journal file.

Nothing here is imported with a reactor: `live` is called in a freshly forked process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from socket import socket
from time import time  # noqa: TID251  (the composition root of a process)
from typing import Any

from twisted.internet import posixbase  # noqa: F401  (loaded here, each process need not; it installs no reactor)
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater
from twisted.logger import globalLogBeginner, textFileLogObserver
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from mud_assistant.assistant.config.schema import AssistantConfig, JournalConfig, ModelConfig
from mud_assistant.assistant.events.events import Said, Whispered
from mud_assistant.assistant.events.outcome import Failed, LimitReached, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.journal import JournalError, StoredJournal
from mud_assistant.assistant.loop.run_parts import CharacterBody, new_process, new_toolbox
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.runtime.build import Dependencies, build_assistant
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.resilience import HttpExchange, Ledger, Pipeline
from mud_assistant.tools import GameCommand, Kind, Person, Principal, Registry, Scene
from mud_assistant.tools.game import GameTime, Route
from mud_assistant.tools.trust import Audience
from mud_assistant.tools.verbs import WORLD_TOOLS

#: Every assistant there may be, by name.
CAST = {
    name: Principal(f"assistant:{number}", name, Kind.ASSISTANT)
    for number, name in enumerate(("Sage", "Iris", "Brom"), 1)
}
#: Made once, before any process is forked.
TOOLS = Registry(WORLD_TOOLS)
ANN = Principal("player:1", "Ann")
#: How long an act takes before and after it is seen, in seconds, at most: a kill finds it half done.
ACT_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Life:
    """What a life is begun with. `rooms` are where the game has its assistants, who are those that live now."""

    number: int
    folder: Path
    url: str
    rooms: dict[str, str]
    seed: int

    @property
    def journal(self) -> Path:
        return self.folder / "journal.sqlite"

    @property
    def world(self) -> Path:
        return self.folder / "world.log"


class Hands:
    """A body whose every act is in the world's log before anybody learns that it happened."""

    def __init__(self, body: EmbeddedBody, life: Life, control: int, reactor: Any) -> None:
        self._body = body
        self._life = life
        self._control = control
        self._reactor = reactor
        self._chance = Random(f"{life.seed} {life.number} {body.principal.name}")  # noqa: S311
        self._log = os.open(life.world, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def look(self) -> Scene:
        return await self._body.look()

    async def inspect(self, target: str) -> str:
        return await self._body.inspect(target)

    async def who(self) -> Sequence[Person]:
        return await self._body.who()

    async def say(self, text: str) -> None:
        await self._pass()
        await self._body.say(text)
        await self._done("say", text)

    async def emote(self, text: str) -> None:
        await self._pass()
        await self._body.emote(text)
        await self._done("emote", text)

    async def whisper(self, target: str, text: str, *, only: Audience = None) -> None:
        await self._pass()
        await self._body.whisper(target, text)  # the one in the room stands for the one who asked
        await self._done("whisper", text)

    def hears(self, who: Principal) -> bool:
        return True  # the Ann whose events come over the pipe stands for the one in the room

    async def route(self, place: str) -> Route:
        return await self._body.route(place)

    async def go_home(self) -> Scene:
        raise NotImplementedError

    def is_left_alone(self) -> bool:
        return False  # likewise

    def time(self) -> GameTime | None:
        return self._body.time()

    def present(self, seconds: float) -> tuple[Principal, ...]:
        return self._body.present(seconds)

    def who_is(self, id_: str) -> Principal | None:
        return ANN if id_ == ANN.id else self._body.who_is(id_)

    async def page(self, target: str, text: str, *, only: Audience = None) -> None:
        raise NotImplementedError

    async def speak_on(self, channel: str, text: str) -> None:
        raise NotImplementedError

    async def move(self, direction: str) -> Scene:
        await self._pass()
        scene = await self._body.move(direction)
        await self._done("move", direction)
        return scene

    async def resolve(self, line: str) -> GameCommand:
        return await self._body.resolve(line)

    async def execute(self, command: GameCommand) -> str:
        return await self._body.execute(command)

    async def _done(self, act: str, text: str) -> None:
        name = self._body.principal.name
        line = {"life": self._life.number, "name": name, "act": act, "text": text, "room": self._body.room.key}
        os.write(self._log, json.dumps(line).encode() + b"\n")
        os.write(self._control, f"act {name}\n".encode())
        await self._pass()

    async def _pass(self) -> None:
        await deferLater(self._reactor, self._chance.uniform(0, ACT_SECONDS))


class Watching:
    """Tells the harness of each run that ended and of each failure."""

    def __init__(self, name: str, control: int) -> None:
        self._name = name
        self._control = control

    def thinking(self, run_id: str, step: int) -> None: ...

    def step(self, trace: StepTrace) -> None: ...

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        os.write(self._control, f"over {self._name}\n".encode())

    def failed(self, failure: Failed | LimitReached) -> None:
        os.write(self._control, f"failed {self._name} {failure.cause}\n".encode())


class Game(LineOnlyReceiver):
    """The process: obeys the lines of the harness, one JSON object each."""

    delimiter = b"\n"

    def __init__(self, life: Life, control: int, reactor: Any) -> None:
        self._life = life
        self._control = control
        self._reactor = reactor
        self._file = JournalFile(life.journal, reactor, time, JournalConfig())
        self._exchange = HttpExchange(reactor)
        self._assistants: dict[str, Assistant] = {}

    async def begin(self) -> None:
        """Come to life."""
        opened = await self._file.open()
        if type(opened).__name__ != "Sound":
            raise RuntimeError(opened.sentence)
        world = EmbeddedWorld()
        for room in world.rooms:
            world.add(Principal(f"player:{room}", "Ann"), room)
        for name, room in self._life.rooms.items():
            self._assistants[name] = await self._assistant(world.add(CAST[name], room))
        for assistant in self._assistants.values():
            assistant.start()
        self.tell("ready")

    def lineReceived(self, line: bytes) -> None:
        """Hear an event, or come to an end."""
        asked = json.loads(line)
        work = self._hear(asked) if "id" in asked else self._finish()
        Deferred.fromCoroutine(work).addErrback(self.give_up)

    def tell(self, *words: str) -> None:
        os.write(self._control, (" ".join(words) + "\n").encode())

    def give_up(self, failure: Failure) -> None:
        """Say why, and be gone."""
        self.tell("gone", " ".join(failure.getErrorMessage().split()))
        os._exit(1)

    def connectionLost(self, reason: object = None) -> None:
        os._exit(1)

    async def _assistant(self, body: EmbeddedBody) -> Assistant:
        name = body.principal.name
        watching = Watching(name, self._control)
        chosen = ChosenModel(
            get_provider("ollama", self._life.url, "sage"), "a fake", ModelConfig(max_attempts=1, examples=False)
        )
        around = Dependencies(
            CharacterBody(body.principal, Hands(body, self._life, self._control, self._reactor), watching),
            new_process(
                self._exchange,
                self._reactor,
                Pipeline(self._reactor, Random(1), Ledger(self._reactor.seconds, time)),  # noqa: S311  (jitter)
            ),
            await self._file.storage_of(body.principal.id, 500),
            new_toolbox(TOOLS, self._reactor.seconds),
        )
        settings = AssistantConfig(
            name=name,
            persona=f"This is life {self._life.number} of {name}.",
            join_seconds=0,
            awake_seconds=0.03,
            asleep_seconds=0.03,
            waking_after_seconds=3600,  # a slow machine is no reason to say more
            slow_after_seconds=3600,
            late_after_seconds=86400,
        )
        assistant = build_assistant(settings, [chosen], around, watching.failed)
        await assistant.rights.load()
        return assistant

    async def _hear(self, asked: dict[str, str]) -> None:
        event_id, text = asked["id"], f"{asked['name']}, {asked['id']} please."
        at = self._reactor.seconds()
        event = (
            Whispered(id=event_id, at=at, who=ANN, text=text)
            if asked["how"] == "whispered"
            else Said(id=event_id, at=at, who=ANN, text=text, to_me=True)
        )
        try:
            await self._assistants[asked["name"]].inbox.take(event)
        except JournalError as refused:
            self.tell("refused", asked["name"], str(refused))
            return
        self.tell("heard", asked["name"], event_id)

    async def _finish(self) -> None:
        """Deal with everything, also with what was parked; tell what nobody knows; end in order."""
        told = {name: await self._settled(assistant) for name, assistant in self._assistants.items()}
        for assistant in self._assistants.values():
            await assistant.stop()
        await self._exchange.close()
        await self._file.close()
        self.tell("finished", json.dumps(told))

    async def _settled(self, assistant: Assistant) -> dict[str, Any]:
        journal = assistant.context.memory.journal
        assert isinstance(journal, StoredJournal)
        parked = await self._calm(assistant, journal)
        for event_id in parked:
            assert await journal.unpark(event_id)
        assistant.tick.wake()
        again = await self._calm(assistant, journal)
        unknown = [(effect.run_id, effect.step, effect.index) for effect in await journal.unknown_effects()]
        return {"parked": parked, "again": again, "unknown": unknown}

    async def _calm(self, assistant: Assistant, journal: StoredJournal) -> list[str]:
        """The parked events, once no others wait."""
        while await journal.pending() or assistant.tick.busy:
            await deferLater(self._reactor, 0.02)
        return [parked.event_id for parked in await journal.parked()]


def live(life: Life, control: socket) -> None:
    """Live until killed, or until the harness lets go of `control`. Only in a process that has no reactor yet."""
    from twisted.internet import reactor as _reactor  # noqa: PLC0415, TID251  (this process's composition root)

    reactor: Any = _reactor
    log = (life.folder / "lives.log").open("a", encoding="utf-8")
    globalLogBeginner.beginLoggingTo([textFileLogObserver(log)], discardBuffer=True, redirectStandardIO=False)
    control.setblocking(False)
    game = Game(life, control.fileno(), reactor)
    factory = Factory.forProtocol(lambda: game)

    def begin() -> None:
        reactor.adoptStreamConnection(control.fileno(), control.family, factory)
        Deferred.fromCoroutine(game.begin()).addErrback(game.give_up)

    reactor.callWhenRunning(begin)
    reactor.run(installSignalHandlers=False)
