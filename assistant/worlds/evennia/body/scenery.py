"""Describes what a character sees by the game's own visibility rules: the scene, single things, people in the game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct
from twisted.logger import Logger

from mud_assistant.assistant.worlds.evennia.body.border import visible_lines
from mud_assistant.assistant.worlds.evennia.body.identity import (
    Writers,
    is_assistant,
    is_played,
    principal_of,
    seen_name,
)
from mud_assistant.assistant.worlds.evennia.body.moment import moment_of
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import Person, Scene, Thing, Written
from mud_assistant.tools.text.lenient import candidates, has_name, pick, pick_person, plain
from mud_assistant.tools.text.route import is_named_by
from mud_assistant.tools.trust import Audience

_log = Logger()

NOWHERE = "You are nowhere in the game."
MAX_DESCRIPTION = 2_000
#: The most that are listed of each kind: a crowd must not fill the prompt.
MAX_LISTED = 40

_SHORT = {
    "n": "north", "e": "east", "s": "south", "w": "west", "ne": "northeast", "nw": "northwest", "se": "southeast",
    "sw": "southwest", "u": "up", "d": "down", "i": "in", "o": "out",
}  # fmt: skip
_SELF = frozenset({"me", "myself", "self"})
_HERE = frozenset({"here", "room", "around"})


def room_of(character: Any) -> Any:
    """Return the room the character is in. Raises ToolFailed when it is in none."""
    if character.location is None:
        raise ToolFailed(NOWHERE)
    return character.location


def scene(character: Any) -> Scene:
    """Describe the scene round the character, without the character itself."""
    room = room_of(character)
    described = room.get_display_desc(character) if room.access(character, "view") else "You cannot see here."
    ways, writers = _listed(exits(character)), Writers()
    known = [way for way in ways if _is_known(way, character)]
    shown = (room, *ways, *(way.destination for way in known))
    levels = [level for one in shown if (level := writers.level_of(one)) is not None]
    return Scene(
        seen_name(room, character),
        visible_lines(described or "", MAX_DESCRIPTION),
        tuple(seen_name(way, character) for way in ways),
        tuple(_person(other, character, writers) for other in _listed(people(character))),
        tuple(_thing(thing, character, writers) for thing in _listed(things(character))),
        min(levels, default=None),
        f"#{room.pk}",
        tuple(f"#{way.pk}" for way in ways),
        tuple(_thing(thing, character, writers) for thing in _listed(_carried(character))),
        {seen_name(way, character): seen_name(way.destination, character) for way in known},
        moment_of(room),
    )


def move_to(character: Any, room: Any) -> None:
    """Move the character without an exit, announced at both ends. Raises ToolFailed when the game forbids it."""
    with character.printing():
        if not character.move_to(room):
            raise ToolFailed("The game does not let you go there.")


def inspect(character: Any, target: str) -> str:
    """Return what the character sees when it looks at one thing here. Raises ToolFailed that says what there is."""
    room = room_of(character)
    wanted = plain(target)
    if wanted in _SELF or wanted in _HERE:
        return _looked_at(character if wanted in _SELF else room, character)
    around = [*things(character), *_carried(character), *people(character)]
    own = [character, room]
    # Things in the room are tried first, so that 'old map' does not mean 'Old Library'.
    for group in (around, exits(character), own):
        if len(fitting := candidates(target, [seen_name(one, character) for one in group])) == 1:
            return _looked_at(group[fitting[0]], character)
    if (by_alias := _by_alias(target, [*around, *exits(character)])) is not None:
        return _looked_at(by_alias, character)
    seen = [*around, *exits(character)]
    return _looked_at(seen[pick(target, [seen_name(one, character) for one in seen])], character)


def find_person(character: Any, name: str, only: Audience = None) -> Any:
    """Return the person in the room who is meant, of those in `only`. Raises ToolFailed that lists who is there."""
    others = people(character)
    if not others:
        raise ToolFailed("Nobody else is here.")
    seen = [principal_of(other, character) for other in others]
    return others[pick_person(name, [(who.id, who.name) for who in seen], only)]


def find_exit(character: Any, direction: str) -> Any:
    """Find an exit by its name, its short form or the room behind it. Raises ToolFailed that lists the exits."""
    ways = exits(character)
    wanted = plain(direction).removeprefix("go ").removeprefix("to ")
    names = [seen_name(way, character) for way in ways]
    behind = [seen_name(way.destination, character) for way in ways]
    for group, target in ((names, _SHORT.get(wanted, wanted)), (behind, wanted)):
        if len(fitting := candidates(target, group)) == 1:
            return ways[fitting[0]]
    if len(by_alias := [way for way in ways if wanted in map(plain, way.aliases.all())]) == 1:
        return by_alias[0]
    return ways[pick(direction, names, what="Exits")]


def in_game(character: Any, assistants: Sequence[Any]) -> tuple[Person, ...]:
    """List every connected player not hidden from the character, and every living assistant.

    The character comes first, without a level: its name is the owner's choice, and no stranger's text.
    """
    writers = Writers()
    own = replace(_person(character, character, writers), authority=None)
    return (own, *(_person(one, character, writers) for one in _others_in_game(character, assistants)))


class Reach(Struct, frozen=True):
    """Whose texts the game may print for a character.

    `here` is the lowest level of any text in its room, of which a command may print every word; None when the game
    wrote all. Of people elsewhere (`names`, with the level of each) it prints names only, as `who` does.
    """

    here: int | None
    names: tuple[tuple[str, int], ...]

    def level_of(self, printed: str) -> int | None:
        """Return the lowest level of any text that may be in `printed`; None when all of it is the game's own."""
        levels = [level for name, level in self.names if has_name(printed, name)]
        return min(levels if self.here is None else [self.here, *levels], default=None)


def reach(character: Any, assistants: Sequence[Any]) -> Reach:
    """Return whose texts the game may print for the character now."""
    room, writers = character.location, Writers()
    here = writers.min_level((room, *room.contents, character) if room is not None else (character,), character)
    others = [(one, writers.min_level((one,), character)) for one in _others_in_game(character, assistants)]
    called = [(name, level) for one, level in others if level is not None for name in _names_of(one, character)]
    return Reach(here, tuple(called))


def _names_of(subject: Any, looker: Any) -> set[str]:
    """Return what a list of players may call somebody: as they are seen, by their key, or by their account."""
    account = getattr(subject, "account", None)
    return {seen_name(subject, looker), str(subject.key), *((str(account.key),) if account else ())}


def _others_in_game(character: Any, assistants: Sequence[Any]) -> list[Any]:
    import evennia  # only where Django is set up

    puppets = {session.get_puppet(): None for session in evennia.SESSION_HANDLER.get_sessions()}
    others = [one for one in {**puppets, **dict.fromkeys(assistants)} if one is not None and one is not character]
    return [one for one in others if one.access(character, "search", default=True)]


def _person(subject: Any, looker: Any, writers: Writers) -> Person:
    """Describe a person as the looker sees them."""
    name, described = seen_name(subject, looker), _description(subject, looker)
    return Person(name, described, is_assistant(subject), writers.level_of(subject), principal_of(subject, looker).id)


def _thing(subject: Any, looker: Any, writers: Writers) -> Thing:
    name, described = seen_name(subject, looker), _description(subject, looker)
    return Thing(name, described, writers.level_of(subject), f"#{subject.pk}")


def exits(character: Any) -> list[Any]:
    """Return the exits the character sees, in the game's order."""
    return [thing for thing in _visible(character) if thing.destination]


def people(character: Any) -> list[Any]:
    """Return the characters in the room that this one sees, without itself."""
    return [thing for thing in _visible(character) if not thing.destination and _is_person(thing)]


def things(character: Any) -> list[Any]:
    """Return everything else in the room that the character sees."""
    return [thing for thing in _visible(character) if not thing.destination and not _is_person(thing)]


def listeners(character: Any) -> list[Any]:
    """Return all others in the room who can hear: connected players and other assistants, seen or unseen."""
    if character.location is None:
        return []
    others = [other for other in character.location.contents if other is not character]
    return [other for other in others if is_assistant(other) or other.sessions.count()]


def awake(character: Any, seconds: float) -> list[Any]:
    """Return the players among the listeners who typed something within `seconds`, or came."""
    players = [other for other in listeners(character) if not is_assistant(other)]
    return [player for player in players if _is_awake(player, seconds)]


def somebody_plays(seconds: float) -> bool:
    """Tell whether anybody in the game, as a character of theirs, typed something within `seconds`, or came."""
    from evennia.server.sessionhandler import SESSION_HANDLER  # only where Django is set up

    played = [session.puppet for session in SESSION_HANDLER.values() if session.puppet]
    return any(_is_awake(player, seconds) for player in played)


def _is_awake(player: Any, seconds: float) -> bool:
    return (idle := player.idle_time) is not None and idle <= seconds


def rooms_named(place: str) -> Sequence[str]:
    """Return the names of the rooms of the game that a place may mean. Looks at all of them."""
    from evennia import DefaultRoom  # only where Django is set up

    names = DefaultRoom.objects.all_family().values_list("db_key", flat=True)
    return [name for name in names if is_named_by(name, place)]


def _by_alias(target: str, things: Sequence[Any]) -> Any:
    """Return the only thing with an alias like this, None for none or several."""
    fitting = [thing for thing in things if candidates(target, list(thing.aliases.all()))]
    return fitting[0] if len(fitting) == 1 else None


def _is_person(thing: Any) -> bool:
    """Tell whether the game counts the object as a character."""
    return "character" in thing._content_types or is_played(thing)  # noqa: SLF001 - what contents_get goes by


def _visible(character: Any) -> list[Any]:
    """Return what the character sees in its room."""
    room = room_of(character)
    return list(room.filter_visible(room.contents, character))


def _carried(character: Any) -> list[Any]:
    """Return what the character carries."""
    return list(character.contents)


def _is_known(way: Any, character: Any) -> bool:
    """Tell whether the game would show the character the room behind an exit."""
    room = way.destination
    return bool(room.access(character, "view", default=True) and room.access(character, "search", default=True))


class Ways:
    """The exits that the character would see and may pass, of any room, and the `level` of their least trusted author.

    The level is None while the game wrote all that was looked at.
    """

    def __init__(self, character: Any) -> None:
        self.level: int | None = None
        self._character = character
        self._writers = Writers()

    def of(self, room: Any) -> list[tuple[str, str, Any]]:
        """Return the exits of a room: the name, the name of the room behind, and that room."""
        me = self._character
        ways = [way for way in room.filter_visible(room.exits, me) if way.access(me, "traverse")]
        known = [way for way in ways if way.destination and _is_known(way, me)]
        levels = [self._writers.level_of(one) for way in known for one in (way, way.destination)]
        self.level = min((level for level in (self.level, *levels) if level is not None), default=None)
        return [(seen_name(way, me), seen_name(way.destination, me), way.destination) for way in known]


def _listed(things: Sequence[Any]) -> Sequence[Any]:
    return things[:MAX_LISTED]


def _description(thing: Any, looker: Any) -> str:
    """Return the description alone, cut short."""
    return visible_lines(thing.get_display_desc(looker) or "", MAX_DESCRIPTION // 4)


def _looked_at(thing: Any, looker: Any) -> str:
    """Return all that looking at the thing tells, through its hooks and locks, with the level of its writer."""
    told = visible_lines(str(looker.at_look(thing) or ""), MAX_DESCRIPTION)
    told = told or f"You see nothing special about {seen_name(thing, looker)}."
    level = Writers().min_level((thing,), looker)
    return told if level is None else Written(told, level)


def poses_its_speech(character: Any) -> bool:
    """Tell whether the game makes a pose of speech in `at_pre_say` (rpsystem), which `at_say` does not accept.

    Such a pose would be parsed for references to people, in words that a model wrote.
    """
    return hasattr(character, "sdesc") and hasattr(character, "recog")
