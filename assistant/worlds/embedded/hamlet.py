"""The place the embedded world starts with: five rooms, a few things and two residents."""

from __future__ import annotations

from dataclasses import dataclass

from tools.game import Thing
from tools.trust import Kind, Principal


@dataclass(frozen=True, slots=True)
class Exit:
    """A way out: its direction, and the key of the room behind it."""

    direction: str
    to: str


@dataclass(frozen=True, slots=True)
class Room:
    """A room. `key` is what exits and bodies refer to."""

    key: str
    name: str
    description: str
    exits: tuple[Exit, ...]
    things: tuple[Thing, ...] = ()
    #: The names of the things that cannot be taken.
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resident:
    """A person who belongs to the place and never leaves `room`. They say `greeting`, if there is one, to newcomers."""

    principal: Principal
    room: str
    description: str
    greeting: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A map with its residents. The first room is where newcomers start."""

    rooms: tuple[Room, ...]
    residents: tuple[Resident, ...] = ()


LIBRARY = Room(
    "library",
    "The Old Library",
    "A warm, low room full of books. A fire burns in the hearth and two chairs stand before it. "
    "The door to the south leads to the village square; narrow stairs go up.",
    (Exit("south", "square"), Exit("up", "attic")),
    (
        Thing("old map", "A map of the valley, drawn in brown ink. A mill, a square and a garden are marked on it."),
        Thing("hearth", "The fire is small and steady. Somebody tends it well."),
        Thing("book of herbs", "It lies open at a page on sage: good for the throat, and for the memory."),
    ),
    frozenset({"hearth"}),
)
ATTIC = Room(
    "attic",
    "The Attic",
    "Dust, rafters and one round window. From here you can see the whole village. The stairs go down.",
    (Exit("down", "library"),),
    (
        Thing("telescope", "A brass telescope on three legs. It points at the hill where the stars rise."),
        Thing("locked chest", "A small chest of oak. It is locked, and there is no key to be seen."),
    ),
    frozenset({"locked chest"}),
)
SQUARE = Room(
    "square",
    "The Village Square",
    "A cobbled square with a well in the middle. The library is north, the mill is east, the garden is west.",
    (Exit("north", "library"), Exit("east", "mill"), Exit("west", "garden")),
    (
        Thing("well", "The water is deep and cold. A bucket hangs from the rope."),
        Thing("notice board", "A single note: 'Harvest supper on Saturday. Bring bread. - Mira'"),
    ),
    frozenset({"well", "notice board"}),
)
MILL = Room(
    "mill",
    "The Mill",
    "The great wheel turns outside and everything trembles a little. It smells of flour. The square is west.",
    (Exit("west", "square"),),
    (
        Thing("millstone", "Two round stones, grinding slowly."),
        Thing("sack of flour", "A heavy sack, tied with blue string."),
    ),
    frozenset({"millstone"}),
)
GARDEN = Room(
    "garden",
    "The Walled Garden",
    "Rows of herbs and beans between old brick walls. Bees are at work. A gate leads east to the square.",
    (Exit("east", "square"),),
    (
        Thing("sundial", "The shadow says it is afternoon. It says so most of the day."),
        Thing("beehive", "A straw hive, humming."),
    ),
    frozenset({"sundial", "beehive"}),
)

MIRA = Resident(
    Principal("resident:mira", "Mira", Kind.WORLD),
    "mill",
    "Mira the baker, white with flour up to her elbows. She looks busy and kind.",
    "Good day! Bread is not ready yet.",
)
TOM = Resident(
    Principal("resident:tom", "Tom", Kind.WORLD),
    "garden",
    "Tom the gardener, very old, asleep on a bench.",
)

HAMLET = Place((LIBRARY, ATTIC, SQUARE, MILL, GARDEN), (MIRA, TOM))
