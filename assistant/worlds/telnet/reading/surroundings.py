"""Keeps what a character has seen of the game round it: its room, who and what is there, and the map learnt so far."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from mud_assistant.assistant.worlds.telnet.profiles.line_forms import match_any
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile
from mud_assistant.assistant.worlds.telnet.reading.player_names import (
    bare_name,
    has_article,
    is_nobody,
    loosely,
    may_be_name,
)

#: The most people, things and exits of one room, lines of one description, and rooms of the map.
MAX_SEEN, MAX_LINES, MAX_ROOMS = 60, 60, 5_000
DIRECTIONS = {
    "n": "north", "e": "east", "s": "south", "w": "west", "ne": "northeast", "nw": "northwest", "se": "southeast",
    "sw": "southwest", "u": "up", "d": "down",
}  # fmt: skip
_NONE = frozenset({"", "none", "none!", "nothing"})
_STANDS = re.compile(
    r",? +(?:is|are|has|have|sits?|lies?|rests?|stands?|hangs?|floats?|grows?|leans?|waits?)\b.*", re.IGNORECASE
)
_LISTED = re.compile(r",\s*(?:and\s+)?|\s+and\s+")
_NOTE = re.compile(r"\s*\([^()]*\)|^\(\s*\d+\)\s*")
#: The number that some games show builders after a name.
_NUMBER = re.compile(r"\s*\(#\d+\w*\)$")
#: What a line for one exit says of where it leads: `North : The Market`, `Brick Road leads to Oz.`
_BEHIND = re.compile(r"\s*(?:[:-]|\bleads)\s.*")
#: One line of the game with its colour.
Line = tuple[str, str]


@dataclass
class SeenRoom:
    """A room as it was seen. `key` is its number, or is made of its name, its description and its exits."""

    key: str = ""
    name: str = ""
    description: str = ""
    exits: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()
    people: list[str] = field(default_factory=list)
    things: list[str] = field(default_factory=list)


def read_room(lines: Sequence[Line], profile: Profile, *, is_asked: bool = False) -> SeenRoom | None:
    """Return the room that these lines show, None where none of them lists exits or has the colour of a title.

    `is_asked` says that the game was asked for a room: then any lines are one, for a game that shows neither.
    """
    titled = profile.room_table.title
    start = next((at for at, (text, colour) in enumerate(lines) if titled and titled in colour and text.strip()), None)
    exits = profile.room["exits"]
    has_exits = any(match_any(exits, shown) or match_any(exits, f"{shown} ") for shown in _shown(lines))
    if start is None and not has_exits and not (is_asked and any(text.strip() for text, _ in lines)):
        return None
    room = SeenRoom()
    told: list[str] = []
    is_past_exits = False
    heading = ""
    for text, colour in lines[start or 0 :][:MAX_LINES]:
        shown = " ".join(text.split())
        if not shown or set(shown) <= set("-=_* "):
            heading = ""
            continue
        if not room.name:
            room.name = _NUMBER.sub("", re.split(r" {2,}", text.strip())[0])[:80]
        elif begun := _heading(shown, profile):
            heading, is_past_exits = begun, is_past_exits or begun in {"exits", "ways"}
        elif found := match_any(profile.room["exits"], shown):
            room.exits, room.closed = exits_of(found[1].get("exits", ""))
            is_past_exits, heading = True, ""
        elif heading and _list(heading, text, room, profile):
            continue
        elif not _place(shown, colour, room, profile, is_past_exits=is_past_exits, is_titled=start is not None):
            told.append(shown)
    room.description = " ".join(told)
    room.key = _key(room)
    return room


def _shown(lines: Sequence[Line]) -> Iterable[str]:
    return (text.strip() for text, _ in lines)


def exits_of(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the exits that a list names, in full, and those of them that are closed.

    A note in brackets after a name says more of it; a name in brackets is a closed door.
    """
    closed = {_full(name) for name in re.findall(r"(?:^|[\s,])\(([\w-]+)\)", text)}
    if re.search(r",|\band\b", text):
        listed = [re.sub(r"\s+(?:to|leads|-)\s.*", "", one) for one in _LISTED.split(text)]
        words = [_NOTE.sub("", one) or one.strip(" ()") for one in listed]
    else:
        words = text.replace("(", " ").replace(")", " ").split()
    full = (_full(word.strip(" .")) for word in words)
    names = tuple(dict.fromkeys(name for name in full if name not in _NONE))
    return names[:MAX_SEEN], frozenset(closed)


def names_in(text: str) -> list[str]:
    """Return the names of a list such as `Anna, Bob and a lamp`."""
    return [name for one in _LISTED.split(text) if (name := _NOTE.sub("", one).strip(" ."))]


class SeenSurroundings:
    """What a character knows of where it is. `now` gives seconds of the clock.

    People count as present from when they were seen, heard or came until they left or the room was left.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.room = SeenRoom()
        #: When each person of the room last did something, by their bare name; their name as it was seen.
        self.people: dict[str, tuple[str, float]] = {}
        #: The name of each room, and the key of the room behind each exit that was taken.
        self.map: dict[str, tuple[str, dict[str, str]]] = {}
        self._told: SeenRoom | None = None
        #: Whether somebody may be here whose name is not known: the room has to be looked at anew.
        self.is_stale = False

    def told(self, number: str, name: str = "", exits: Sequence[str] = ()) -> None:
        """Note what the game told of the room in a message of its own; it counts from `settle` on."""
        self._told = SeenRoom(f"#{number}" if number else "", name, "", tuple(map(_full, exits)))

    def settle(self) -> None:
        """Take in what the game told of the room: it is the one that was read last, unless it has another name."""
        told, self._told = self._told, None
        if told is None:
            return
        if told.name and loosely(told.name) != loosely(self.room.name):
            self.enter(replace(told, key=told.key or _key(told)))
            return
        self.room.exits = self.room.exits or told.exits
        if told.key and self.room.key and told.key != self.room.key:
            self._rename(self.room.key, told.key)

    def enter(self, room: SeenRoom, by: str = "") -> None:
        """Take in a room. `by` is the exit that was taken to it, empty for the room where the character was."""
        self.is_stale = False
        before = self.room
        if room.key != before.key:
            self.people = {}
        if by and before.key in self.map:
            self.map[before.key][1][by] = room.key
        if len(self.map) < MAX_ROOMS:
            self.map.setdefault(room.key, (room.name, {}))
        seen = {bare_name(name): name for name in room.people}
        kept = {key: known for key, known in self.people.items() if key in seen}
        never = -1e9
        self.people = {key: kept.get(key, (name, never)) for key, name in seen.items()}
        self.room = room

    def _rename(self, old: str, new: str) -> None:
        """Give the room the number of the game for a key, on the map too."""
        self.room.key = new
        name, ways = self.map.pop(old, (self.room.name, {}))
        ways = {**self.map.get(new, ("", {}))[1], **ways}
        self.map[new] = (name, ways)
        for _, others in self.map.values():
            others.update({way: new for way, behind in others.items() if behind == old})

    def leave(self) -> None:
        """Forget the room and who is in it; the map stays."""
        self.room, self.people, self._told = SeenRoom(), {}, None

    def acted(self, name: str) -> None:
        """Note that somebody here did something now."""
        if len(self.people) < MAX_SEEN or bare_name(name) in self.people:
            self.people[bare_name(name)] = (name, self._now())

    def left(self, name: str) -> None:
        """Note that somebody left."""
        self.people.pop(bare_name(name), None)

    def holds(self, name: str) -> bool:
        """Tell whether somebody or something here has this name, whatever the article."""
        bare = bare_name(name)
        return bare in self.people or any(bare_name(thing) == bare for thing in self.room.things)

    def names(self) -> list[str]:
        """Return the names of the people here, in the order they were seen."""
        return [name for name, _ in self.people.values()]

    def acted_within(self, seconds: float) -> list[str]:
        """Return the names of the people here who did something within so many seconds."""
        since = self._now() - seconds
        return [name for name, at in self.people.values() if at >= since]

    def ways(self, key: str) -> Iterable[tuple[str, str, str]]:
        """Return the exits of a room that were taken: the direction, and the name and the key of the room behind."""
        for direction, behind in self.map.get(key, ("", {}))[1].items():
            yield direction, self.map.get(behind, ("", {}))[0], behind


def _heading(shown: str, profile: Profile) -> str:
    """Return what is listed from the next line on, where this line is a form without a hole, such as `Contents:`.

    A form of exits that lists none is a heading too: "ways" stands for lines that look like exits.
    """
    for kind in ("exits", "people", "things"):
        if (found := match_any(profile.room[kind], shown)) is not None and not found[1]:
            return kind
    found = match_any(profile.room["exits"], f"{shown} ")
    return "ways" if found is not None and not found[1].get("exits") else ""


def _list(kind: str, text: str, room: SeenRoom, profile: Profile) -> bool:
    """Add what a line below a heading lists: names with commas or wide spaces between them, or a single one.

    Return whether the line is of the list.
    """
    is_way = kind in {"exits", "ways"}
    shown = _BEHIND.sub("", text.strip()) if is_way else text.strip()
    listed = [_NUMBER.sub("", one) for part in re.split(r"\s{2,}", shown) for one in names_in(part)]
    if kind == "ways" and shown == text.strip() and not {_full(one) for one in listed} <= set(DIRECTIONS.values()):
        return False
    if is_way:
        names, closed = exits_of(", ".join(listed) + ",")
        room.exits, room.closed = (*room.exits, *names)[:MAX_SEEN], room.closed | closed
    else:
        for name in listed:
            _add_person(name, room, profile, to_people=kind == "people")
    return True


def _add_person(name: str, room: SeenRoom, profile: Profile, *, to_people: bool = True) -> None:
    """Add a name to the people of a room, or to its things where nobody can have it."""
    is_person = to_people and may_be_name(name) and not is_nobody(name, profile.speech.nobody)
    is_person = is_person and (profile.speech.names == "words" or " " not in name or has_article(name))
    seen = room.people if is_person and len(room.people) < MAX_SEEN else room.things
    if len(seen) < MAX_SEEN:
        seen.append(name)


def _place(shown: str, colour: str, room: SeenRoom, profile: Profile, *, is_past_exits: bool, is_titled: bool) -> bool:
    """Put a line of a room among its people or things. Return whether it is of neither, but of the description."""
    table = profile.room_table
    if match_any(profile.room["ignored"], shown):
        return True
    if found := match_any(profile.room["things"], shown):
        room.things += names_in(found[1].get("things", "")) or [_phrase(found[1].get("thing", shown))]
        return True
    if (table.things_colour and table.things_colour in colour) and (is_past_exits or not table.exits):
        room.things.append(_phrase(shown))
        return True
    is_coloured = bool(table.people_colour and table.people_colour in colour)
    if table.people_colour and colour and not is_coloured:
        return is_past_exits and _add_thing(shown, room)
    found = match_any(profile.room["people"], shown)
    names = [] if found is None else names_in(found[1].get("people", "")) or [found[1].get("who", "")]
    # A description may look like people: `A lawn to the east.`
    is_named = not is_titled and found is not None and "here" in " ".join(found[0].literals)
    is_named = is_named and all(map(_is_capital, names))
    if found is not None and (is_past_exits or is_coloured or found[0].head or is_named):
        for name in names:
            _add_person(name, room, profile)
        return True
    if is_coloured:
        room.people.append(_phrase(shown)[:40])
        return True
    return is_past_exits and _add_thing(shown, room)


def _is_capital(name: str) -> bool:
    """Tell whether all words of the name begin with a capital letter, or the first is an article."""
    return has_article(name) or all(word[:1].isupper() for word in name.split())


def _add_thing(shown: str, room: SeenRoom) -> bool:
    if len(room.things) < MAX_SEEN:
        room.things.append(_phrase(shown))
    return True


def _phrase(line: str) -> str:
    """Return the name in a line such as `A plush couch is here in front of a table.`."""
    phrase = _STANDS.sub("", _NOTE.sub("", line)).strip(" .")
    name = phrase or line.strip(" .")
    words = name.split()
    return (" ".join(words[1:]) if has_article(name) and len(words) > 1 else name)[:80]


def _full(word: str) -> str:
    return DIRECTIONS.get(word.casefold(), word.casefold())


def _key(room: SeenRoom) -> str:
    told = "\n".join((room.name, room.description, *sorted(room.exits)))
    return sha256(told.encode("utf-8", "replace")).hexdigest()[:16]
