"""A game in memory: rooms, things and people, for trial runs and end-to-end tests.

The game is deterministic. Nothing moves by itself, and people are listed in the order they came. All listeners get
the events in the same order, even when one of them answers an event while others still wait for it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from assistant.worlds.embedded import commands as embedded_commands
from assistant.worlds.embedded.ears import EventListener, perceived
from assistant.worlds.embedded.hamlet import HAMLET, Exit, Place, Resident, Room
from assistant.worlds.embedded.identity import (
    Identities,
    aliased,
    level_of_body,
    levelled,
    lowest_seen,
    resident_person,
    written,
)
from tools.errors import ToolFailed
from tools.game import GameCommand, Person, Scene, Thing
from tools.text.names import candidates, pick, plain
from tools.trust import Kind, Principal

_SHORT = {
    "n": "north", "e": "east", "s": "south", "w": "west", "ne": "northeast", "nw": "northwest", "se": "southeast",
    "sw": "southwest", "u": "up", "d": "down", "i": "in", "inside": "in", "o": "out", "outside": "out",
    "upstairs": "up", "downstairs": "down",
}  # fmt: skip
#: The channels that every character of the game listens to.
CHANNELS = ("public",)


class EmbeddedWorld:
    """The place and the bodies in it."""

    def __init__(self, place: Place = HAMLET) -> None:
        self.rooms = {room.key: room for room in place.rooms}
        self.start = place.rooms[0].key
        self.residents = place.residents
        #: The things that lie in each room, by the room's key, and those that are carried, by the carrier's id.
        self.things: dict[str, list[Thing]] = {room.key: list(room.things) for room in place.rooms}
        self.carried: defaultdict[str, list[Thing]] = defaultdict(list)
        self.identities = Identities()
        self._bodies: dict[str, EmbeddedBody] = {}
        #: The bodies in each room, by the room's key, in the order they came there.
        self._in_room: defaultdict[str, dict[str, EmbeddedBody]] = defaultdict(dict)
        self._untold: deque[tuple[EmbeddedBody, Callable[[EventListener], None]]] = deque()
        self._telling = False

    @property
    def bodies(self) -> tuple[EmbeddedBody, ...]:
        """Every body in the game, in the order they joined."""
        return tuple(self._bodies.values())

    def add(
        self, principal: Principal, room: str = "", ears: EventListener | None = None, description: str = ""
    ) -> EmbeddedBody:
        """Make a body for `principal` in the room with this key, by default the first. ValueError for a second body."""
        if principal.id in self._bodies:
            raise ValueError(f"{principal.id} is in the game already")
        body = EmbeddedBody(self, principal, self.rooms[room or self.start], ears, description)
        self._bodies[principal.id] = body
        self._in_room[body.room.key][principal.id] = body
        self._arrived(body, "")
        return body

    def remove(self, body: EmbeddedBody) -> None:
        """Take `body` out of the game. No effect when it is out already."""
        if self._bodies.pop(body.principal.id, None) is not None:
            del self._in_room[body.room.key][body.principal.id]
            self.tell_room(body, lambda ears: ears.saw_departure(body.principal, ""))

    def residents_in(self, room: Room) -> list[Resident]:
        """Return the residents who live in `room`."""
        return [resident for resident in self.residents if resident.room == room.key]

    def bodies_with(self, body: EmbeddedBody) -> list[EmbeddedBody]:
        """Return the other bodies in the same room."""
        return [other for other in self._in_room[body.room.key].values() if other is not body]

    def put(self, body: EmbeddedBody, room: Room) -> None:
        """Note that a body that is in the game is now in `room`."""
        if self._in_room[body.room.key].pop(body.principal.id, None) is not None:
            self._in_room[room.key][body.principal.id] = body

    def transfer(self, body: EmbeddedBody, way: Exit) -> None:
        """Move `body` through an exit, and show it at both ends."""
        self.tell_room(body, lambda ears: ears.saw_departure(body.principal, way.direction))
        left, body.room = body.room, self.rooms[way.to]
        self._arrived(body, next((back.direction for back in body.room.exits if back.to == left.key), ""))

    def carry_off(self, body: EmbeddedBody, room: Room, *, quiet: bool = False) -> None:
        """Put `body` into `room` without an exit. It is shown at both ends unless `quiet`."""
        if not quiet:
            self.tell_room(body, lambda ears: ears.saw_departure(body.principal, ""))
        body.room = room
        if not quiet:
            self._arrived(body, "")

    def tell_room(self, source: EmbeddedBody, perceive: Callable[[EventListener], None]) -> None:
        """Let every other body in the room of `source` perceive something."""
        self.tell(self.bodies_with(source), perceive)

    def tell(self, bodies: Sequence[EmbeddedBody], perceive: Callable[[EventListener], None]) -> None:
        """Let `bodies` perceive something, after all earlier events have been delivered."""
        self._untold.extend([(body, perceive) for body in bodies])
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                body, untold = self._untold.popleft()
                is_there = self._bodies.get(body.principal.id) is body  # else the body left while this was waiting
                if is_there and body.ears is not None:
                    perceived(body.ears, untold, body.principal.id)
        finally:
            self._telling = False

    def _arrived(self, body: EmbeddedBody, from_direction: str) -> None:
        """Show the newcomer to the room, and let the residents greet them."""
        self.tell_room(body, lambda ears: ears.saw_arrival(body.principal, from_direction))
        for resident in self.residents_in(body.room):
            if resident.greeting:
                self._greet(resident, body)

    def _greet(self, resident: Resident, body: EmbeddedBody) -> None:
        self.tell(
            [body, *self.bodies_with(body)],
            lambda ears: ears.heard_say(resident.principal, resident.greeting, body.principal),
        )


class EmbeddedBody:
    """One character of the game: the `World` of the assistant that lives in it. `ears` may be set later."""

    def __init__(
        self,
        world: EmbeddedWorld,
        principal: Principal,
        room: Room,
        ears: EventListener | None = None,
        description: str = "",
    ) -> None:
        self.world = world
        self.principal = principal
        self._room = self.home = room
        self.ears = ears
        self.description = description or f"This is {principal.name}."

    @property
    def room(self) -> Room:
        """The room the body is in."""
        return self._room

    @room.setter
    def room(self, room: Room) -> None:
        self.world.put(self, room)
        self._room = room

    @property
    def person(self) -> Person:
        """The body as others see it."""
        is_ai, level = self.principal.kind is Kind.ASSISTANT, level_of_body(self.principal)
        return Person(self.principal.name, self.description, is_ai, level, self.principal.id)

    @property
    def carried(self) -> list[Thing]:
        """The things the body carries."""
        return self.world.carried[self.principal.id]

    def show(self, act: str) -> None:
        """Let the room see an act; `act` follows the name."""
        self.world.tell_room(self, lambda ears: ears.saw_emote(self.principal, act))

    def alone_with(self, principal: Principal) -> bool:
        """Tell whether `principal` is the only other person in the room; residents count."""
        return [other.id for other in self._principals()] == [principal.id]

    def others_than(self, principal: Principal) -> list[str]:
        """Return the names of the others in the room, except `principal`."""
        return [other.name for other in self._principals() if other.id != principal.id]

    async def look(self) -> Scene:
        """Describe the room, without the body itself."""
        room = self.room
        things = tuple(map(self.world.identities.marked, self.world.things[room.key]))
        exit_ids = tuple(f"{room.key}:{way.direction}:{way.to}" for way in room.exits)
        carried = tuple(map(self.world.identities.marked, self.carried))
        behind = {way.direction: self.world.rooms[way.to].name for way in room.exits}
        return Scene(
            room.name, room.description, tuple(behind), tuple(self._people()), things,
            id=room.key, exit_ids=exit_ids, carried=carried, behind=behind,
        )  # fmt: skip

    async def inspect(self, target: str) -> str:
        """Describe a thing here or carried, a person, an exit, oneself ('me') or the room ('here')."""
        with levelled(self):
            return self._inspected(target)

    def _inspected(self, target: str) -> str:
        room = self.room
        around: list[Thing | Person] = [*self.world.things[room.key], *self.carried, *self._people()]
        seen = [(one.name, written(one.description, one.authority)) for one in around]
        ways = [(way.direction, f"It leads to {self.world.rooms[way.to].name}.") for way in room.exits]
        own = [(self.principal.name, self.description), (room.name, room.description)]
        wanted = aliased(target, self)
        # Things in the room are tried first, so that 'old map' does not mean 'Old Library'.
        for group in (seen, ways, own):
            if len(fitting := candidates(wanted, [name for name, _ in group])) == 1:
                return group[fitting[0]][1]
        return seen[pick(target, [name for name, _ in seen])][1]

    async def who(self) -> Sequence[Person]:
        """List every body in the order they joined, then the residents."""
        others = [replace(self.person, authority=None) if body is self else body.person for body in self.world.bodies]
        return others + [resident_person(person) for person in self.world.residents]

    async def say(self, text: str, to: str = "") -> None:
        """Speak aloud, to the person named by `to` if there is one."""
        target = self.other(to) if to else None
        self.world.tell_room(self, lambda ears: ears.heard_say(self.principal, text, target))

    async def emote(self, text: str) -> None:
        """Act visibly."""
        self.show(text)

    async def whisper(self, target: str, text: str) -> None:
        """Speak to one person in the room; a resident does not answer."""
        with levelled(self):
            hearer = self.other(target)
        bodies = [body for body in self.world.bodies_with(self) if body.principal is hearer]
        self.world.tell(bodies, lambda ears: ears.heard_whisper(self.principal, text))

    def hears(self, who: Principal) -> bool:
        """Tell whether this person is in the same room."""
        return who.id in [other.id for other in self._principals()]

    async def page(self, target: str, text: str) -> None:
        """Speak to one person anywhere in the game; a resident does not answer."""
        others = self._all_others()
        names = [body.principal.name for body in others]
        names += [resident.principal.name for resident in self.world.residents]
        with levelled(self, everywhere=True):
            place = pick(target, names, what="In the game are")
        self.world.tell(others[place : place + 1], lambda ears: ears.heard_page(self.principal, text))

    async def speak_on(self, channel: str, text: str) -> None:
        """Speak on a channel; every other character of the game hears it."""
        name = CHANNELS[pick(channel, CHANNELS, what="Your channels")]
        self.world.tell(self._all_others(), lambda ears: ears.heard_channel(self.principal, name, text))

    async def move(self, direction: str) -> Scene:
        """Walk in a direction, given by its name, its short form ('n') or the name of the room behind it."""
        self.world.transfer(self, self._way(direction))
        return await self.look()

    async def go_home(self) -> Scene:
        """Go to the room where the body started."""
        if self.room is self.home:
            raise ToolFailed("You are at home already.")
        self.world.carry_off(self, self.home)
        return await self.look()

    def is_left_alone(self) -> bool:
        """Tell whether the body is away from home, with no other body in the room but assistants."""
        others = self.world.bodies_with(self)
        return self.room is not self.home and all(other.principal.kind is Kind.ASSISTANT for other in others)

    async def resolve(self, line: str) -> GameCommand:
        """Return the command that a typed line means, under its full name. Raises ToolFailed."""
        command = embedded_commands.resolve(line)
        return replace(command, affects=lambda: embedded_commands.affected(self, command))

    async def execute(self, command: GameCommand) -> str:
        """Run the command and return what the game printed. Permissions are not checked here."""
        level = lowest_seen(self, everywhere=True)
        with levelled(self, everywhere=True):
            return written(embedded_commands.run(self, command), level)

    def _way(self, direction: str) -> Exit:
        """Return the exit that is meant. Raises ToolFailed that lists the exits."""
        ways = self.room.exits
        wanted = plain(direction).removeprefix("go ").removeprefix("to ")
        for names in ([way.direction for way in ways], [self.world.rooms[way.to].name for way in ways]):
            if len(fitting := candidates(_SHORT.get(wanted, wanted), names)) == 1:
                return ways[fitting[0]]
        there = [f"{way.direction} ({self.world.rooms[way.to].name})" for way in ways]
        return ways[pick(direction, there, what="Exits")]

    def other(self, name: str) -> Principal:
        """Return the other person in the room who is meant. Raises ToolFailed that lists who is there."""
        others = self._principals()
        if not others:
            raise ToolFailed("Nobody else is here.")
        return others[pick(name, [other.name for other in others], what="Here are")]

    def _all_others(self) -> list[EmbeddedBody]:
        """Return every other body in the game."""
        return [body for body in self.world.bodies if body is not self]

    def _people(self) -> list[Person]:
        """Return the other people in the room as they are seen: bodies, then residents."""
        bodies = [body.person for body in self.world.bodies_with(self)]
        return bodies + [resident_person(resident) for resident in self.world.residents_in(self.room)]

    def _principals(self) -> list[Principal]:
        """Return the principals of the other people in the room: bodies, then residents."""
        bodies = [body.principal for body in self.world.bodies_with(self)]
        return bodies + [resident.principal for resident in self.world.residents_in(self.room)]
