"""A game in memory, and its characters as the `World` of an assistant: for trial runs and end-to-end tests."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import wraps
from time import localtime
from typing import Any, Concatenate, ParamSpec, TypeVar

from mud_assistant.assistant.worlds.embedded import commands as embedded_commands
from mud_assistant.assistant.worlds.embedded.game import EmbeddedGame, EventListener, Occupant
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, Exit, Place, resident_person, with_level
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand, GameTime, Person, Route, Scene, Thing, describe_moment, part_of_day
from mud_assistant.tools.text.lenient import candidates, pick, pick_person, plain
from mud_assistant.tools.text.route import is_named_by, search_route
from mud_assistant.tools.trust import Audience, Kind, Principal

_SHORT = {
    "n": "north", "e": "east", "s": "south", "w": "west", "ne": "northeast", "nw": "northwest", "se": "southeast",
    "sw": "southwest", "u": "up", "d": "down", "i": "in", "inside": "in", "o": "out", "outside": "out",
    "upstairs": "up", "downstairs": "down",
}  # fmt: skip
_SELF = frozenset({"me", "myself", "self"})
_HERE = frozenset({"here", "room", "around"})
_WALKING, _HANDLING = frozenset({"move", "follow", "stay", "home"}), frozenset({"take", "drop", "give"})
#: The channels that every character of the game listens to.
CHANNELS = ("public",)


class LocalClock:
    """The clock of a game, which shows the local time when it is made. Then `pace` of its seconds pass in one of ours.

    `wall` gives the seconds since 1970. With a pace of 1 it goes on over a restart.
    """

    def __init__(self, wall: Callable[[], float], pace: float = 1.0) -> None:
        self._wall = wall
        self._pace = pace
        self._began = wall()

    def __call__(self) -> GameTime:
        """Return the time of the game now."""
        wall = self._wall()
        passed = (wall - self._began) * self._pace
        return GameTime(self._began + passed + localtime(wall).tm_gmtoff, self._pace)


class EmbeddedWorld(EmbeddedGame):
    """A game whose bodies assistants may live in. `time` is its clock, None where it has none; `seconds` as above."""

    def __init__(
        self,
        place: Place = HAMLET,
        time: Callable[[], GameTime] | None = None,
        seconds: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(place, seconds)
        self._time = time

    @property
    def time(self) -> GameTime | None:
        """The time of the game, None where it has none."""
        return None if self._time is None else self._time()

    @property
    def moment(self) -> str:
        """Which part of the day it is, as a sentence; empty where there are none."""
        return "" if (time := self.time) is None else describe_moment(part_of_day(time.hour))

    def find(self, id_: str) -> Principal | None:
        """Return who has this id, in the game now or earlier; None for nobody."""
        if (body := self._bodies.get(id_)) is not None:
            return body.principal
        resident = next((one.principal for one in self.residents if one.principal.id == id_), None)
        return resident or self.departed.get(id_)

    def add(
        self,
        principal: Principal,
        room: str = "",
        listener: EventListener | None = None,
        description: str = "",
        *,
        by_owner: bool = True,
    ) -> EmbeddedBody:
        """Make a body for `principal` in the room with this key, by default the first. ValueError for a second body.

        `by_owner` says that the owner of an assistant gave it its name and its description, and not the assistant.
        """
        made = EmbeddedBody if principal.kind is Kind.ASSISTANT else PlayedBody
        body = made(self, principal, self.rooms[room or self.start], listener, description, by_owner=by_owner)
        self.enter(body)
        return body


_Body = TypeVar("_Body", bound=Occupant)
_Made = TypeVar("_Made")
_P = ParamSpec("_P")
_Verb = Callable[Concatenate[_Body, _P], Coroutine[Any, Any, _Made]]


def notes_typing(verb: _Verb[_Body, _P, _Made]) -> _Verb[_Body, _P, _Made]:
    """Return the verb of a body, which then notes that its player typed something."""

    @wraps(verb)
    async def noting(body: _Body, /, *args: _P.args, **named: _P.kwargs) -> _Made:
        body.typed_at = body.world.seconds()
        return await verb(body, *args, **named)

    return noting


class EmbeddedBody(Occupant):
    """One character of the game: the `World` of the assistant that lives in it. `listener` may be set later."""

    world: EmbeddedWorld

    @property
    def without_use(self) -> frozenset[str]:
        """The tools that can do nothing in this game: those that walk in a single room, and handle what nobody can."""
        rooms, things = self.world.rooms.values(), self.world.things
        is_bare = all(thing.name in room.fixed for room in rooms for thing in things[room.key])
        handling = _HANDLING if is_bare and not any(self.world.carried.values()) else frozenset[str]()
        return handling | (_WALKING if len(rooms) == 1 else frozenset())

    async def look(self) -> Scene:
        """Describe the room, without the body itself."""
        room = self.room
        things = tuple(map(self.world.identities.mark, self.world.things[room.key]))
        exit_ids = tuple(f"{room.key}:{way.direction}:{way.to}" for way in room.exits)
        carried = tuple(map(self.world.identities.mark, self.carried))
        behind = {way.direction: self.world.rooms[way.to].name for way in room.exits}
        return Scene(
            room.name, room.description, tuple(behind), tuple(self.people()), things,
            id=room.key, exit_ids=exit_ids, carried=carried, behind=behind, moment=self.world.moment,
        )  # fmt: skip

    async def inspect(self, target: str) -> str:
        """Describe a thing here or carried, a person, an exit, oneself ('me') or the room ('here')."""
        with self.label_failures():
            return self._inspect(target)

    def _inspect(self, target: str) -> str:
        room = self.room
        around: list[Thing | Person] = [*self.world.things[room.key], *self.carried, *self.people()]
        seen = [(one.name, with_level(one.description, one.authority)) for one in around]
        ways = [(way.direction, f"It leads to {self.world.rooms[way.to].name}.") for way in room.exits]
        own = [(self.principal.name, self.description), (room.name, room.description)]
        wanted = self._resolve_alias(target)
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
        self.world.tell_room(self, lambda listener: listener.heard_say(self.principal, text, target))

    async def emote(self, text: str) -> None:
        """Act visibly."""
        self.show(text)

    async def whisper(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person in the room, and to nobody but those in `only`; a resident does not answer."""
        with self.label_failures():
            hearer = self.other(target, only)
        bodies = [body for body in self.world.bodies_with(self) if body.principal is hearer]
        self.world.tell(bodies, lambda listener: listener.heard_whisper(self.principal, text))

    def hears(self, who: Principal) -> bool:
        """Tell whether this person is in the same room."""
        return who.id in [other.id for other in self.principals()]

    async def page(self, target: str, text: str, *, only: Audience = None) -> None:
        """Speak to one person anywhere in the game, and to nobody but those in `only`; a resident does not answer."""
        others = self._all_others()
        people = [(body.principal.id, body.principal.name) for body in others]
        people += [(resident.principal.id, resident.principal.name) for resident in self.world.residents]
        with self.label_failures():
            place = pick_person(target, people, only, what="In the game are")
        self.world.tell(others[place : place + 1], lambda listener: listener.heard_page(self.principal, text))

    async def speak_on(self, channel: str, text: str) -> None:
        """Speak on a channel; every other character of the game hears it."""
        name = CHANNELS[pick(channel, CHANNELS, what="Your channels")]
        self.world.tell(self._all_others(), lambda listener: listener.heard_channel(self.principal, name, text))

    async def move(self, direction: str) -> Scene:
        """Walk in a direction, given by its name, its short form ('n') or the name of the room behind it."""
        self.world.transfer(self, self._way(direction))
        return await self.look()

    async def route(self, place: str) -> Route:
        """Find the way to the nearest room that `place` names. Raises ToolFailed when there is none."""
        rooms = self.world.rooms
        name, steps, _ = await search_route(
            self.room.key, lambda key: [(way.direction, rooms[way.to].name, way.to) for way in rooms[key].exits], place
        )
        return Route(name, steps)

    def rooms_named(self, place: str) -> Sequence[str]:
        """Return the names of the rooms of the game that a place may mean, whether a way leads there or not."""
        return [room.name for room in self.world.rooms.values() if is_named_by(room.name, place)]

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

    def time(self) -> GameTime | None:
        """Return the time of the game, None where it has none."""
        return self.world.time

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the players in the room who typed something within `seconds`."""
        players = (other for other in self.world.bodies_with(self) if other.principal.kind is Kind.PLAYER)
        since = self.world.seconds() - seconds
        return tuple(player.principal for player in players if player.typed_at >= since)

    def somebody_plays(self, seconds: float) -> bool:
        """Tell whether any player in the game typed something within `seconds`."""
        since = self.world.seconds() - seconds
        return any(body.principal.kind is Kind.PLAYER and body.typed_at >= since for body in self.world.bodies)

    def who_is(self, id_: str) -> Principal | None:
        """Return who has this id; who left the game still has theirs."""
        return self.world.find(id_)

    async def resolve(self, line: str) -> GameCommand:
        """Return the command that a typed line means, under its full name. Raises ToolFailed."""
        command = embedded_commands.resolve(line)
        return replace(
            command,
            affects=lambda: embedded_commands.find_targets(self, command),
            people=lambda: embedded_commands.find_people(self, command),
        )

    async def execute(self, command: GameCommand) -> str:
        """Run the command and return what the game printed. Permissions are not checked here."""
        before = self.reach()
        with self.label_failures():
            printed = embedded_commands.run(self, command)
        levels = [level for level in (before(printed), self.reach()(printed)) if level is not None]
        return with_level(printed, min(levels, default=None))

    def _way(self, direction: str) -> Exit:
        """Return the exit that is meant. Raises ToolFailed that lists the exits."""
        ways = self.room.exits
        wanted = plain(direction).removeprefix("go ").removeprefix("to ")
        for names in ([way.direction for way in ways], [self.world.rooms[way.to].name for way in ways]):
            if len(fitting := candidates(_SHORT.get(wanted, wanted), names)) == 1:
                return ways[fitting[0]]
        there = [f"{way.direction} ({self.world.rooms[way.to].name})" for way in ways]
        return ways[pick(direction, there, what="Exits")]

    def _resolve_alias(self, target: str) -> str:
        """Return `target`, with 'me' and 'here' replaced by the names of the body and the room."""
        wanted = plain(target)
        if wanted in _SELF:
            return self.principal.name
        return self.room.name if wanted in _HERE else target

    def _all_others(self) -> list[Occupant]:
        """Return every other body in the game."""
        return [body for body in self.world.bodies if body is not self]


class PlayedBody(EmbeddedBody):
    """The body of a player, of whom each of these verbs shows that they typed something."""

    look = notes_typing(EmbeddedBody.look)
    inspect = notes_typing(EmbeddedBody.inspect)
    who = notes_typing(EmbeddedBody.who)
    say = notes_typing(EmbeddedBody.say)
    emote = notes_typing(EmbeddedBody.emote)
    whisper = notes_typing(EmbeddedBody.whisper)
    page = notes_typing(EmbeddedBody.page)
    speak_on = notes_typing(EmbeddedBody.speak_on)
    move = notes_typing(EmbeddedBody.move)
    resolve = notes_typing(EmbeddedBody.resolve)
