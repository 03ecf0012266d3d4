"""The game as one character experiences it: the protocol `World` and the values it gives.

Every game implements `World` (`assistant/worlds/`). Every text that leaves through it was cleaned by
`tools/text/clean.py`; every text that comes back is data written by strangers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.trust import Audience, Kind, Principal

#: Seconds of an hour and of a day.
_HOUR, _DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Target:
    """An object of the game that a call acts on, or the place where it happens.

    `id` is its identity, which no other object ever gets; `name` is its name and `where` the id of where it is.
    """

    id: str
    name: str
    where: str = ""


class Written(str):
    """A text of the game with the level of its least trusted author; a plain `str` has the game's own level."""

    __slots__ = ("authority",)
    authority: int

    def __new__(cls, text: str, authority: int) -> Self:
        """Make the text with this level."""
        written = super().__new__(cls, text)
        written.authority = authority
        return written


@dataclass(frozen=True, slots=True)
class Person:
    """A person a character can see.

    `authority` is the level of the author of the name and the description, None for the game itself; `id` is their
    identity, empty where the world has none.
    """

    name: str
    description: str = ""
    is_ai: bool = False
    authority: int | None = field(default=None, compare=False)
    id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing a character can see; `authority` and `id` as for a person."""

    name: str
    description: str = ""
    authority: int | None = field(default=None, compare=False)
    id: str = field(default="", compare=False)


def part_of_day(hour: float) -> str:
    """Return which part of the day an hour from 0 to 24 belongs to."""
    parts = ((5, "night"), (12, "morning"), (18, "afternoon"), (22, "evening"))
    return next((part for until, part in parts if hour < until), "night")


def describe_moment(part: str, weather: str = "") -> str:
    """Say which part of the day it is, and what weather, where they are known.

    It is coarse, so that it seldom changes: every change of it is told to a model anew.
    """
    sky = weather.strip()
    if sky and sky[-1] not in ".!?":
        sky = f"The weather: {sky}."
    return " ".join(filter(None, (f"It is {part}." if part else "", sky)))


@dataclass(frozen=True, slots=True)
class Scene:
    """The surroundings of a character: its room, the ways out, the people and the things in it (itself left out).

    `authority` is the level of the least trusted author of the room's name, its description or the name of an exit,
    None for the game itself. `id` is the identity of the room, and `exit_ids` are those of the exits, in their order.
    `carried` is what the character has with it. `behind` is the name of the room behind each exit, where the world
    knows the room and the character may see it. `moment` tells part of the day and weather (`describe_moment`), empty
    where the world has none; a change of it alone does not make another scene.
    """

    room: str
    description: str
    exits: tuple[str, ...] = ()
    people: tuple[Person, ...] = ()
    things: tuple[Thing, ...] = ()
    authority: int | None = field(default=None, compare=False)
    id: str = field(default="", compare=False)
    exit_ids: tuple[str, ...] = field(default=(), compare=False)
    carried: tuple[Thing, ...] = ()
    behind: Mapping[str, str] = field(default_factory=dict, hash=False)
    moment: str = field(default="", compare=False)

    @property
    def min_level(self) -> int | None:
        """The level of the least trusted text of the whole scene, None when all of it is the game's own."""
        return least_trusted((self, *self.people, *self.things, *self.carried))


def least_trusted(described: Iterable[Person | Thing | Scene]) -> int | None:
    """Return the level of the least trusted author of any of them, None when all is the game's own."""
    return min((one.authority for one in described if one.authority is not None), default=None)


@dataclass(frozen=True, slots=True)
class Route:
    """The way to a room: its name, and the directions to go from here, in order; `authority` as for a person."""

    room: str
    steps: tuple[str, ...]
    authority: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class GameTime:
    """The clock of a game: its seconds since its beginning, and how many of them pass in a second of ours."""

    seconds: float
    pace: float = 1.0

    @property
    def hour(self) -> float:
        """The hour of the game's day, from 0 to 24."""
        return self.seconds % _DAY / _HOUR

    @property
    def day(self) -> int:
        """The number of the game's day, from 0."""
        return int(self.seconds // _DAY)


@dataclass(frozen=True, slots=True)
class GameCommand:
    """A typed line as the game understands it: which command it is, whatever alias or nick was typed.

    `line` is the whole line as it will run; `permission` is what the game requires to run it. `affects` looks up what
    the line acts on now: the place first, then every object that its words mean. `people` looks up the ids of all
    people whom its words mean now. Neither waits, and both may raise `ToolFailed`; None where the game cannot tell.
    """

    line: str
    name: str
    switches: tuple[str, ...] = ()
    permission: int = 1
    affects: Callable[[], tuple[Target, ...]] | None = field(default=None, compare=False, repr=False)
    people: Callable[[], frozenset[str]] | None = field(default=None, compare=False, repr=False)

    @property
    def full_name(self) -> str:
        """The name with its switches, as policy compares it: `name/switch`."""
        return "/".join((self.name, *self.switches))


class World(Protocol):
    """The game as one character experiences it.

    Every method may fail with `ToolFailed` when the game says no, in a sentence the model may read. Cancelling the
    returned awaitable abandons the wait, not the act. A text or a failure with words that a player or another assistant
    wrote has their level (`Written`, `ToolFailed.authority`).
    """

    def look(self) -> Awaitable[Scene]:
        """Return the scene around the character."""

    def inspect(self, target: str) -> Awaitable[str]:
        """Return the description of one thing, person or exit in the scene."""

    def who(self) -> Awaitable[Sequence[Person]]:
        """Return everybody who is in the game, the character included."""

    def say(self, text: str) -> Awaitable[None]:
        """Speak aloud; everyone in the room hears it."""

    def emote(self, text: str) -> Awaitable[None]:
        """Act visibly, as `NAME text`."""

    def whisper(self, target: str, text: str, *, only: Audience = None) -> Awaitable[None]:
        """Speak to one person in the room, unheard by others.

        `only` holds the ids of those who may hear it, None for anybody. Raises ToolFailed, and lets nobody hear a word,
        when the person that the world itself takes `target` for is somebody else (`pick_person`).
        """

    def hears(self, who: Principal) -> bool:
        """Tell whether this person would hear the character speak aloud now. Does not wait, and must not raise."""

    def page(self, target: str, text: str, *, only: Audience = None) -> Awaitable[None]:
        """Speak to one person anywhere in the game; `only` as for a whisper.

        Raises ToolFailed when no person of that name is there.
        """

    def speak_on(self, channel: str, text: str) -> Awaitable[None]:
        """Speak on a channel that the character listens to. Raises ToolFailed that lists those channels."""

    def move(self, direction: str) -> Awaitable[Scene]:
        """Leave by an exit. Return the scene at the other end."""

    def go_home(self) -> Awaitable[Scene]:
        """Go to the character's home; return the scene there. Raises ToolFailed if it is there already or has none."""

    def route(self, place: str) -> Awaitable[Route]:
        """Find the way to the nearest room that `place` names, over exits that the character sees and may pass.

        `place` is a name, or several words of which one is in the name. The search ends after some hundred rooms, and
        lets other work go on meanwhile. Raises ToolFailed when no such room is found.
        """

    def is_left_alone(self) -> bool:
        """Tell whether the character is away from home in a room without players. Does not wait, and must not raise."""

    def time(self) -> GameTime | None:
        """Return the clock of the game, None where it has none of its own. Does not wait, and must not raise."""

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the players who would hear the character speak aloud now and typed something within `seconds`.

        Whoever came within that time counts too. Asked often: it does not wait, and must not raise.
        """

    def who_is(self, id_: str) -> Principal | None:
        """Return who has this id, in the game or not, with the permission of now; None for nobody, as when deleted.

        Does not wait, and must not raise.
        """

    def resolve(self, line: str) -> Awaitable[GameCommand]:
        """Return the command that the game takes `line` for, with aliases and nicks replaced. Nothing is run.

        Raises ToolFailed when it is no command.
        """

    def execute(self, command: GameCommand) -> Awaitable[str]:
        """Run exactly this command, without looking it up again, and return what the game printed."""


def tools_without_use(world: World) -> frozenset[str]:
    """Return the names of the tools that can do nothing in this world, as it was when its assistant was built.

    A world that knows of such tools has them in `without_use`. The others need not have it.
    """
    without: frozenset[str] = getattr(world, "without_use", frozenset())
    return without


def game_time(world: World) -> GameTime | None:
    """Return the clock of a world's game, None for none. A world that was written before there were clocks has none."""
    ask: Callable[[], GameTime | None] | None = getattr(world, "time", None)
    return None if ask is None else ask()


def present(world: World, seconds: float) -> tuple[Principal, ...]:
    """Return the players who hear a character and typed something within `seconds`, nobody if a world cannot tell."""
    ask: Callable[[float], tuple[Principal, ...]] | None = getattr(world, "present", None)
    return () if ask is None else ask(seconds)


def somebody_plays(world: World, seconds: float) -> bool:
    """Tell whether any player of the game typed something within `seconds`, wherever they are. Does not wait.

    A world that knows has a method of this name. For another one it is whoever hears the character (`present`).
    """
    ask: Callable[[float], bool] | None = getattr(world, "somebody_plays", None)
    return bool(present(world, seconds)) if ask is None else ask(seconds)


def principal_now(world: World, id_: str, known: Principal | None = None) -> Principal | None:
    """Return who has this id with the permission of now, None for nobody.

    `known` is who they were: that counts where a world cannot tell, and for an operator, who is in no game.
    """
    ask: Callable[[str], Principal | None] | None = getattr(world, "who_is", None)
    if ask is None or (known is not None and known.kind is Kind.OPERATOR):
        return known
    return ask(id_)


async def way_to(world: World, place: str) -> Route | None:
    """Return a world's way to a place, None for none."""
    try:
        return await world.route(place)
    except ToolFailed:
        return None
