"""A chat room over standard input: two rooms, you, and an assistant. `docs/adding-a-world.md` walks through it.

To try it: `python docs/worlds/chat_room.py assistant.toml`
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import connectionDone
from twisted.internet.stdio import StandardIO
from twisted.protocols.basic import LineReceiver
from twisted.python.failure import Failure

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import read_settings
from mud_assistant.assistant.events.events import (
    Arrived,
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Left,
    Paged,
    Said,
    Whispered,
)
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.tools import Kind, Principal, ToolFailed
from mud_assistant.tools.game import GameCommand, GameTime, Person, Route, Scene, Thing, Written
from mud_assistant.tools.text.lenient import pick_person
from mud_assistant.tools.text.route import search_route
from mud_assistant.tools.trust import Audience
from mud_assistant.tools.verbs import ACCOUNT_TOOLS

#: Makes an event from its id and the time, which the taker chooses.
MakeEvent = Callable[[str, float], Event]

YOU = Principal("player:you", "You")
CHANNELS = ["public"]
#: The level of names that players chose, and of sentences that list them.
PLAYER = 1


@dataclass
class Room:
    """A room: its name, what it looks like, the rooms behind its exits, and what lies in it."""

    name: str
    description: str
    exits: dict[str, str]
    things: list[Thing] = field(default_factory=list)


class ChatRoom:
    """The state of the game: rooms, and the bodies in them. `seconds` is the clock by which players idle."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        lamp = Thing("lamp", "It burns low.", id="#lamp")
        old_map = Thing("old map", "Somebody drew this house on it.", id="#map")
        rooms = (
            Room("Lounge", "Soft chairs round a low table.", {"north": "Balcony"}, [old_map, lamp]),
            Room("Balcony", "The town lies below.", {"south": "Lounge"}),
        )
        self.rooms = {room.name: room for room in rooms}
        self.bodies: list[ChatBody] = []

    def add(self, principal: Principal, hear: Callable[[MakeEvent], None] = lambda _: None) -> ChatBody:
        """Put a character into the first room. `hear` is called with all that it perceives, and must not wait."""
        body = ChatBody(self, principal, next(iter(self.rooms.values())), hear)
        self.bodies.append(body)
        return body


class ChatBody:
    """One character, and all that the `World` of an assistant is."""

    def __init__(self, game: ChatRoom, me: Principal, room: Room, hear: Callable[[MakeEvent], None]) -> None:
        self.game = game
        self.me = me
        self.room = self.home = room
        self.hear = hear
        self.carried: list[Thing] = []
        self.note_typing()

    async def look(self) -> Scene:
        """Describe the scene round the character, without the character itself."""
        room = self.room
        people = tuple(body.person for body in self.others())
        scene = Scene(room.name, room.description, tuple(room.exits), people, tuple(room.things), id=room.name)
        ways = tuple(f"{room.name}:{way}" for way in room.exits)
        return replace(scene, exit_ids=ways, carried=tuple(self.carried), behind=room.exits)

    async def inspect(self, target: str) -> str:
        """Describe one thing, person or exit."""
        told = {thing.name: thing.description for thing in (*self.room.things, *self.carried)}
        told |= {body.me.name: Written(body.person.description, PLAYER) for body in self.others()}
        told |= {exit_: f"It leads to the {name}." for exit_, name in self.room.exits.items()}
        return list(told.values())[self._pick(target, list(told))]

    async def who(self) -> Sequence[Person]:
        """List everybody in the game."""
        return [body.person for body in self.game.bodies]

    async def say(self, text: str) -> None:
        """Speak aloud."""
        # Only two can be there when no third is: `alone` tells the assistant that the words are for it.
        alone = len(self.others()) == 1
        self._tell(self.others(), lambda id_, at: Said(id=id_, at=at, who=self.me, text=text, alone=alone))

    async def emote(self, text: str) -> None:
        """Act visibly."""
        alone = len(self.others()) == 1
        self._tell(self.others(), lambda id_, at: Emoted(id=id_, at=at, who=self.me, text=text, alone=alone))

    async def whisper(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person in the room, and to nobody but those in `only`."""
        hearer = self._person(target, self.others(), "Here are", only)
        self._tell([hearer], lambda id_, at: Whispered(id=id_, at=at, who=self.me, text=text))

    async def page(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person anywhere in the game, and to nobody but those in `only`."""
        hearer = self._person(target, self._elsewhere(), "In the game are", only)
        self._tell([hearer], lambda id_, at: Paged(id=id_, at=at, who=self.me, text=text))

    async def speak_on(self, channel: str, text: str) -> None:
        """Speak on a channel, which everybody hears."""
        name = CHANNELS[self._pick(channel, CHANNELS, "Your channels")]
        self._tell(
            self._elsewhere(),
            lambda id_, at: ChannelSaid(id=id_, at=at, who=self.me, channel=name, text=text, is_open=True),
        )

    def hears(self, who: Principal) -> bool:
        """Tell whether this person is in the room."""
        return who.id in [body.me.id for body in self.others()]

    async def move(self, direction: str) -> Scene:
        """Leave by an exit."""
        ways = list(self.room.exits)
        way = ways[self._pick(direction, ways, "Exits")]
        return await self._go(self.game.rooms[self.room.exits[way]], way)

    async def route(self, place: str) -> Route:
        """Find the way to the nearest room that `place` names."""
        rooms = self.game.rooms
        name, steps, _ = await search_route(
            self.room.name, lambda here: [(way, name, name) for way, name in rooms[here].exits.items()], place
        )
        return Route(name, steps)

    async def go_home(self) -> Scene:
        """Go back to the room where the character started."""
        if self.room is self.home:
            raise ToolFailed("You are at home already.")
        return await self._go(self.home, "")

    def is_left_alone(self) -> bool:
        """Tell whether the character is away from home, with no player there."""
        return self.room is not self.home and all(body.person.is_ai for body in self.others())

    def time(self) -> GameTime | None:
        """Return None: the room has no clock of its own."""

    def note_typing(self) -> None:
        """Note that the player typed something now."""
        self.typed_at = self.game.seconds()

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the players in the room who typed something within `seconds`."""
        since = self.game.seconds() - seconds
        return tuple(body.me for body in self.others() if not body.person.is_ai and body.typed_at >= since)

    def who_is(self, id_: str) -> Principal | None:
        """Return who has this id."""
        return next((body.me for body in self.game.bodies if body.me.id == id_), None)

    async def resolve(self, line: str) -> GameCommand:
        """Return the command that a line means, under its full name."""
        word, _, text = line.strip().partition(" ")
        if word not in COMMANDS:
            raise ToolFailed(f"There is no command '{word}'. Commands: {', '.join(sorted(COMMANDS))}.")
        name, permission, _ = COMMANDS[word]
        return GameCommand(f"{name} {text}".strip(), name, (), permission)

    async def execute(self, command: GameCommand) -> str:
        """Run a resolved command. The game does not check permissions: the policy has done so."""
        return Written(COMMANDS[command.name][2](self, command.line.partition(" ")[2]), PLAYER)

    @property
    def person(self) -> Person:
        """The character as others see it."""
        is_ai = self.me.kind is Kind.ASSISTANT
        return Person(self.me.name, f"This is {self.me.name}.", is_ai, None if is_ai else PLAYER, self.me.id)

    def others(self) -> list[ChatBody]:
        """Return the others in the room."""
        return [body for body in self._elsewhere() if body.room is self.room]

    def get(self, name: str) -> str:
        """Take a thing that lies in the room."""
        self.carried.append(self._take(name, self.room.things, "You see"))
        return f"You take the {self.carried[-1].name}."

    def drop(self, name: str) -> str:
        """Put down a thing."""
        self.room.things.append(self._take(name, self.carried, "You carry"))
        return f"You drop the {self.room.things[-1].name}."

    def give(self, text: str) -> str:
        """Give a thing to a person."""
        name, _, whom = text.rpartition(" to ")
        receiver = self._person(whom, self.others(), "Here are")
        thing = self._take(name, self.carried, "You carry")
        receiver.carried.append(thing)
        level = thing.authority
        self._tell([receiver], lambda id_, at: Gave(id=id_, at=at, who=self.me, thing=thing.name, authority=level))
        return f"You give the {thing.name} to {receiver.me.name}."

    async def _go(self, room: Room, way: str) -> Scene:
        self._tell(self.others(), lambda id_, at: Left(id=id_, at=at, who=self.me, direction=way))
        self.room = room
        self._tell(self.others(), lambda id_, at: Arrived(id=id_, at=at, who=self.me))
        return await self.look()

    def _tell(self, bodies: Sequence[ChatBody], make: MakeEvent) -> None:
        for body in bodies:
            body.hear(make)

    def _elsewhere(self) -> list[ChatBody]:
        return [body for body in self.game.bodies if body is not self]

    def _take(self, name: str, things: list[Thing], what: str) -> Thing:
        return things.pop(self._pick(name, [thing.name for thing in things], what))

    def _person(self, name: str, bodies: Sequence[ChatBody], what: str, only: Audience = None) -> ChatBody:
        return bodies[self._pick(name, [one.me.name for one in bodies], what, [one.me.id for one in bodies], only)]

    def _pick(
        self, wanted: str, names: Sequence[str], what: str = "You see", ids: Sequence[str] = (), only: Audience = None
    ) -> int:
        try:
            return pick_person(wanted, list(zip(ids or names, names, strict=True)), only, what=what)
        except ToolFailed as failed:
            failed.authority = PLAYER  # its sentence lists names, and players choose theirs
            raise


#: By each word that may be typed: the command's name, the permission it needs, and what it does.
COMMANDS: dict[str, tuple[str, int, Callable[[ChatBody, str], str]]] = {
    "get": ("get", 1, ChatBody.get),
    "drop": ("drop", 1, ChatBody.drop),
    "give": ("give", 1, ChatBody.give),
    "hand": ("give", 1, ChatBody.give),
    "py": ("py", 5, lambda _, text: f"This game runs no code, not even: {text}"),
}


def shown(event: Event) -> str:
    """Return an event as the line that a player reads."""
    name = event.who.name
    match event:
        case Said() | ChannelSaid():
            return f"{name} says: {event.text}"
        case Whispered() | Paged():
            return f"{name} says to you alone: {event.text}"
        case Emoted():
            return f"{name} {event.text}"
        case Gave():
            return f"{name} gives you the {event.thing}."
        case Left():
            return f"{name} leaves {event.direction}".strip() + "."
        case _:
            return f"{name} is here."


class Visit:
    """You and an assistant in a chat room. `show` is called with each line that you are to read."""

    # Any: the reactor as clock and as maker of connections.
    def __init__(self, reactor: Any, config: Config, folder: Path, show: Callable[[str], None]) -> None:
        home = ServiceConfig(config, folder, os.environ, time.time, Secrets(), folder / "journal.sqlite3")
        self.service = AssistantService(reactor, home, Random())
        self.service.open()
        game, name = ChatRoom(), config.assistant.name
        self.you = game.add(YOU, lambda make: show(shown(make("", 0.0))))
        me = Principal(f"assistant:{name.casefold()}", name, Kind.ASSISTANT, config.assistant.permission)
        body = game.add(me)
        self.runner = self.service.start(Embodiment(me, body, ACCOUNT_TOOLS), config)
        body.hear = self.runner.hear


class Terminal(LineReceiver):
    """Says each line of standard input aloud. At its end, waits for the answers and stops the reactor."""

    delimiter = b"\n"

    def __init__(self, reactor: Any, visit: Visit) -> None:
        self._reactor = reactor
        self._visit = visit

    def lineReceived(self, line: bytes) -> None:
        """Say the line."""
        self._visit.you.note_typing()
        Deferred.fromCoroutine(self._visit.you.say(line.decode(errors="replace")))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Leave."""
        Deferred.fromCoroutine(self._leave())

    async def _leave(self) -> None:
        await self._visit.runner.settled()
        await self._visit.service.finish()
        self._reactor.stop()


def main(path: Path) -> None:
    """Talk until the input ends, with the settings of `path` (docs/settings.md)."""
    from twisted.internet import reactor as the_reactor

    reactor: Any = the_reactor
    StandardIO(Terminal(reactor, Visit(reactor, read_settings(path, {}), path.parent, print)))
    reactor.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
