"""The state of a game in memory: rooms, things and bodies, and who perceives what happens.

The game is deterministic. Nothing moves by itself, and people are listed in the order they came. All listeners get
the events in the same order, even when one of them answers an event while others still wait for it. Things and people
have identities, whatever their names, and a level that says how far their texts are to be trusted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from msgspec import structs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.characters.macros import address
from mud_assistant.assistant.worlds.embedded import hamlet
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import Person, Target, Thing
from mud_assistant.tools.text.lenient import has_name, pick_person
from mud_assistant.tools.trust import Audience, Kind, Principal

_log = Logger()


class EventListener(Protocol):
    """A listener that is told what a body perceives, but never its own acts. Called on the reactor, must not wait."""

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Hear words spoken aloud in the room, to `target` if they are meant for one person."""

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Hear words whispered to this body."""

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Hear words sent to this body from anywhere in the game."""

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Hear words on a channel, which every character of the game hears."""

    def saw_emote(self, actor: Principal, text: str) -> None:
        """See an act in the room; `text` follows the actor's name."""

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Take a thing from `giver`. `authority` is the level of the person who named it, None if that is the giver."""

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """See an arrival, from an exit of this room or (empty) out of nowhere."""

    def saw_departure(self, who: Principal, direction: str) -> None:
        """See a departure, by an exit of this room or (empty) out of the game."""


def notify(listener: EventListener, perceive: Callable[[EventListener], None], who: str) -> None:
    """Let one listener perceive something. An error of this listener is logged and does not reach the others."""
    try:
        perceive(listener)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the border between the world and any listener's code
        _log.failure("the listener of {who} failed", who=who)


class EmbeddedGame:
    """The place, the things in it, and its occupants. `seconds` is the clock by which players idle, if they do."""

    def __init__(self, place: hamlet.Place = hamlet.HAMLET, seconds: Callable[[], float] | None = None) -> None:
        self.rooms = {room.key: room for room in place.rooms}
        self.start = place.rooms[0].key
        self.residents = place.residents
        #: The things that lie in each room, by the room's key, and those that are carried, by the carrier's id.
        self.things: dict[str, list[Thing]] = {room.key: list(room.things) for room in place.rooms}
        self.carried: defaultdict[str, list[Thing]] = defaultdict(list)
        self.identities = Identities()
        self.seconds = seconds or (lambda: 0.0)
        #: Those who left the game, by their ids.
        self.departed: dict[str, Principal] = {}
        self._bodies: dict[str, Occupant] = {}
        #: The bodies in each room, by the room's key, in the order they came there.
        self._in_room: defaultdict[str, dict[str, Occupant]] = defaultdict(dict)
        self._untold: deque[tuple[Occupant, Callable[[EventListener], None]]] = deque()
        self._telling = False

    @property
    def bodies(self) -> tuple[Occupant, ...]:
        """Every body in the game, in the order they joined."""
        return tuple(self._bodies.values())

    def enter(self, body: Occupant, *, quiet: bool = False) -> None:
        """Put a body into the game, in its room. ValueError for a second body of one principal.

        The room is shown a newcomer. It is shown nothing when `quiet`, as for somebody who lives there.
        """
        if body.principal.id in self._bodies:
            raise ValueError(f"{body.principal.id} is in the game already")
        self._bodies[body.principal.id] = body
        body.note_typing()
        self._in_room[body.room.key][body.principal.id] = body
        if not quiet:
            self._announce(body, "")

    def remove(self, body: Occupant, *, quiet: bool = False) -> None:
        """Take `body` out of the game, and show its room that it is gone unless `quiet`. No effect when it is out."""
        if self._bodies.pop(body.principal.id, None) is not None:
            self.departed[body.principal.id] = body.principal
            del self._in_room[body.room.key][body.principal.id]
            if not quiet:
                self.tell_room(body, lambda listener: listener.saw_departure(body.principal, ""))

    def residents_in(self, room: hamlet.Room) -> list[hamlet.Resident]:
        """Return the residents who live in `room`."""
        return [resident for resident in self.residents if resident.room == room.key]

    def bodies_with(self, body: Occupant) -> list[Occupant]:
        """Return the other bodies in the same room."""
        return [other for other in self._in_room[body.room.key].values() if other is not body]

    def put(self, body: Occupant, room: hamlet.Room) -> None:
        """Note that a body that is in the game is now in `room`."""
        if self._in_room[body.room.key].pop(body.principal.id, None) is not None:
            self._in_room[room.key][body.principal.id] = body

    def transfer(self, body: Occupant, way: hamlet.Exit) -> None:
        """Move `body` through an exit, and show it at both ends."""
        self.tell_room(body, lambda listener: listener.saw_departure(body.principal, way.direction))
        left, body.room = body.room, self.rooms[way.to]
        self._announce(body, next((back.direction for back in body.room.exits if back.to == left.key), ""))

    def carry_off(self, body: Occupant, room: hamlet.Room, *, quiet: bool = False) -> None:
        """Put `body` into `room` without an exit. It is shown at both ends unless `quiet`."""
        if not quiet:
            self.tell_room(body, lambda listener: listener.saw_departure(body.principal, ""))
        body.room = room
        if not quiet:
            self._announce(body, "")

    def tell_room(self, source: Occupant, perceive: Callable[[EventListener], None]) -> None:
        """Let every other body in the room of `source` perceive something."""
        self.tell(self.bodies_with(source), perceive)

    def tell(self, bodies: Sequence[Occupant], perceive: Callable[[EventListener], None]) -> None:
        """Let `bodies` perceive something, after all earlier events have been delivered."""
        self._untold.extend([(body, perceive) for body in bodies])
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                body, untold = self._untold.popleft()
                is_there = self._bodies.get(body.principal.id) is body  # else the body left while this was waiting
                if is_there and body.listener is not None:
                    notify(body.listener, untold, body.principal.id)
        finally:
            self._telling = False

    def _announce(self, body: Occupant, from_direction: str) -> None:
        """Show the newcomer to the room, and let the residents greet them."""
        self.tell_room(body, lambda listener: listener.saw_arrival(body.principal, from_direction))
        for resident in self.residents_in(body.room):
            if resident.greeting:
                self._greet(resident, body)

    def _greet(self, resident: hamlet.Resident, body: Occupant) -> None:
        greeting = address(resident.greeting, char=resident.principal.name, user=body.principal.name)
        self.tell(
            [body, *self.bodies_with(body)],
            lambda listener: listener.heard_say(resident.principal, greeting, body.principal),
        )


class Occupant:
    """A body in the game: who it is, where it is and what it carries. `listener` may be set later."""

    def __init__(
        self,
        world: EmbeddedGame,
        principal: Principal,
        room: hamlet.Room,
        listener: EventListener | None = None,
        description: str = "",
        *,
        by_owner: bool = True,
    ) -> None:
        self.world = world
        is_named_by_itself = principal.kind is Kind.ASSISTANT and not by_owner
        self.principal = structs.replace(principal, trust=0) if is_named_by_itself else principal
        self._room = self.home = room
        self.listener = listener
        self.description = description or f"This is {principal.name}."
        self.typed_at = world.seconds()
        #: The level of the name and the description, None for the game itself.
        self.level = hamlet.level_of_body(principal, by_owner=by_owner)

    @property
    def room(self) -> hamlet.Room:
        """The room the body is in."""
        return self._room

    @room.setter
    def room(self, room: hamlet.Room) -> None:
        self.world.put(self, room)
        self._room = room

    @property
    def person(self) -> Person:
        """The body as others see it."""
        is_ai = self.principal.kind is Kind.ASSISTANT
        return Person(self.principal.name, self.description, is_ai, self.level, self.principal.id)

    @property
    def carried(self) -> list[Thing]:
        """The things the body carries."""
        return self.world.carried[self.principal.id]

    def note_typing(self) -> None:
        """Note that the player of the body typed something now, or came into the game."""
        self.typed_at = self.world.seconds()

    def show(self, act: str) -> None:
        """Let the room see an act; `act` follows the name."""
        self.world.tell_room(self, lambda listener: listener.saw_emote(self.principal, act))

    def other(self, name: str, only: Audience = None) -> Principal:
        """Return the other person in the room who is meant, of those in `only`. Raises ToolFailed that lists them."""
        others = self.principals()
        if not others:
            raise ToolFailed("Nobody else is here.")
        return others[pick_person(name, [(other.id, other.name) for other in others], only)]

    def alone_with(self, principal: Principal) -> bool:
        """Tell whether `principal` is the only other person in the room; residents count."""
        return [other.id for other in self.principals()] == [principal.id]

    def others_than(self, principal: Principal) -> list[str]:
        """Return the names of the others in the room, except `principal`."""
        return [other.name for other in self.principals() if other.id != principal.id]

    def people(self) -> list[Person]:
        """Return the other people in the room as they are seen: bodies, then residents."""
        bodies = [body.person for body in self.world.bodies_with(self)]
        return bodies + [hamlet.resident_person(resident) for resident in self.world.residents_in(self.room)]

    def principals(self) -> list[Principal]:
        """Return the principals of the other people in the room: bodies, then residents."""
        bodies = [body.principal for body in self.world.bodies_with(self)]
        return bodies + [resident.principal for resident in self.world.residents_in(self.room)]

    def reach(self) -> Callable[[str], int | None]:
        """Return what gives the lowest level of any text that the game may have put into one it printed just now.

        That is every text round the body, and of people elsewhere the names that the printed text has. None is the
        game itself.
        """
        levels = [other.level for other in self.world.bodies_with(self)]
        levels += [thing.authority for thing in (*self.world.things[self.room.key], *self.carried)]
        elsewhere = [(body.principal.name, body.level) for body in self.world.bodies if body is not self]

        def level_of(printed: str) -> int | None:
            found = [*levels, *(level for name, level in elsewhere if has_name(printed, name))]
            return min((level for level in found if level is not None), default=None)

        return level_of

    @contextmanager
    def label_failures(self) -> Iterator[None]:
        """Give a ToolFailed raised in this context the level of the names that its sentence lists."""
        try:
            yield
        except ToolFailed as failed:
            failed.authority = self.reach()(str(failed))
            raise


class Identities:
    """Numbers the things of a world when they are first asked for; no number is given twice."""

    def __init__(self) -> None:
        #: By the `id()` of each thing, with the copy that others see. The thing is kept too, so that no other object
        #: gets the same `id()`.
        self._known: dict[int, tuple[Thing, Thing]] = {}

    def of(self, thing: Thing) -> str:
        """Return the identity of this very thing; another one with the same name and description has its own."""
        return self.mark(thing).id

    def mark(self, thing: Thing) -> Thing:
        """Return the copy of the thing that others see, with its identity."""
        known = self._known.get(id(thing))
        if known is None:
            known = self._known[id(thing)] = (thing, replace(thing, id=f"#{len(self._known) + 1}"))
        return known[1]

    def target(self, thing: Thing, where: str) -> Target:
        """Describe the thing as what a command acts on."""
        return Target(self.of(thing), thing.name, where)
