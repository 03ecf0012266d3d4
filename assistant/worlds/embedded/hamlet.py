"""The place the embedded world starts with, Pennywell: seven rooms, a few things and four residents."""

from __future__ import annotations

from msgspec import Struct

from mud_assistant.tools.game import Person, Thing, Written
from mud_assistant.tools.trust import Kind, Principal, label_of


class Exit(Struct, frozen=True):
    """A way out: its direction, and the key of the room behind it."""

    direction: str
    to: str


class Room(Struct, frozen=True):
    """A room. `key` is what exits and bodies refer to."""

    key: str
    name: str
    description: str
    exits: tuple[Exit, ...]
    things: tuple[Thing, ...] = ()
    #: The names of the things that cannot be taken.
    fixed: frozenset[str] = frozenset()


class Resident(Struct, frozen=True):
    """A person who belongs to the place and never leaves `room`. They say `greeting`, if there is one, to newcomers."""

    principal: Principal
    room: str
    description: str
    greeting: str = ""


class Place(Struct, frozen=True):
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
        Thing(
            "old map",
            "A map of the valley, drawn in brown ink. A mill, a square and a garden are marked on it, and a coach road "
            "that somebody has traced so often with a finger that it shines.",
        ),
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
        Thing(
            "locked chest",
            "A small chest of oak with a post horn burned into the lid. It is locked, and there is no key to be seen.",
        ),
    ),
    frozenset({"locked chest"}),
)
SQUARE = Room(
    "square",
    "The Village Square",
    "A cobbled square with a well in the middle. The library is north, the mill is east, the garden is west, and the "
    "inn is south.",
    (Exit("north", "library"), Exit("east", "mill"), Exit("west", "garden"), Exit("south", "inn")),
    (
        Thing(
            "well",
            "The water is deep and cold. A bucket hangs from the rope. A penny dropped in here makes no sound that "
            "anybody has waited long enough for.",
        ),
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
INN = Room(
    "inn",
    "The Halfway Inn",
    "A low room with a long bar and four tables, one of them level. It smells of stew and polish. The front door leads "
    "north to the square, the back door south to the old coach road.",
    (Exit("north", "square"), Exit("south", "road")),
    (
        Thing("painted sign", "HARL 12, it says, and on the other side OVERWATER 12. It hangs indoors now."),
        Thing("stew pot", "It has been on since Tuesday. Nobody has said which."),
        Thing(
            "guest book",
            "It lies open at the last page that was used, eleven years old. Room three, a week, paid ahead. The rain "
            "has had the name.",
        ),
        Thing(
            "brass button",
            "It hangs on a nail above the bar, with a post horn on it and a bit of blue thread. A card says: LEFT IN "
            "ROOM THREE.",
        ),
    ),
    frozenset({"painted sign", "stew pot", "guest book", "brass button"}),
)
ROAD = Room(
    "road",
    "The Coach Stop",
    "A stone shelter, open to the old coach road. Grass grows between the ruts, and the road goes on both ways without "
    "any hurry. The back door of the inn is north.",
    (Exit("north", "inn"),),
    (
        Thing("bench", "A long stone bench, worn in two places: one very old, one four days old."),
        Thing("timetable", "HARL - OVERWATER. Tuesdays and Fridays at four. The frost has had the rest."),
        Thing("milestone", "Harl twelve miles, Overwater twelve. Its top is smooth from people who sat to decide."),
    ),
    frozenset({"bench", "timetable", "milestone"}),
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
    "Tom the gardener, very old, on a bench with his hat over his eyes. Asleep, or thinking it over.",
)

ODA = Resident(
    Principal("resident:oda", "Oda", Kind.WORLD),
    "inn",
    "Oda keeps the inn: past fifty, broad, quick on her feet. She has looked at your boots already.",
    "In or out, but not both, the stew is catching cold.",
)
VENN = Resident(
    Principal("resident:venn", "Venn", Kind.WORLD),
    "road",
    "Venn, a traveller of about thirty-five in a grey coat. All its buttons are turned with their faces to the cloth.",
    "Good day. There is room on the bench; it has been waiting longer than I have.",
)

HAMLET = Place((LIBRARY, ATTIC, SQUARE, MILL, GARDEN, INN, ROAD), (MIRA, TOM, ODA, VENN))


def level_of_body(principal: Principal, *, by_owner: bool) -> int | None:
    """Return the level of a body's name and description: a player's own, None for what the game or its owner wrote.

    An assistant's name and description are its owner's, unless it chose them (not `by_owner`): then they count least.
    """
    is_owners = principal.kind is Kind.WORLD or (principal.kind is Kind.ASSISTANT and by_owner)
    return None if is_owners else label_of(principal).authority


def with_level(text: str, level: int | None) -> str:
    """Return the text marked with its level; text of the game itself (None) is returned unchanged."""
    return text if level is None else Written(text, level)


def resident_person(resident: Resident) -> Person:
    """Return a resident as others see them."""
    return Person(resident.principal.name, resident.description)
