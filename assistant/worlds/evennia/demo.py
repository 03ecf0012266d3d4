"""Builds the game of `mud-assistant game`: the hamlet of the trial as Evennia objects, with assistants in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, Resident, Room

#: Directions, and the first letters that a player types for them.
_SHORT = {"north": "n", "south": "s", "east": "e", "west": "w", "up": "u", "down": "d"}

#: The character that lives in the first room, and the residents who are assistants in a game: the names of their
#: files in assistant/characters/shipped.
_LIBRARIAN = "librarian"
_PEOPLE = {"Mira": "baker", "Tom": "gardener", "Oda": "innkeeper", "Venn": "stranger"}

_log = Logger()


def build_demo(name: str, *, inhabited: bool = False) -> None:
    """Turn the room that newcomers start in into a library with a hamlet round it, and put an assistant into it.

    With `inhabited` it is the librarian of assistant/characters/shipped, and the residents are assistants too; a game
    of an early version is built without. A resident with the same name is left out. What is there already is
    left as it is: Evennia calls the hook again when its first start is slow and is asked for again.

    For the hook `at_initial_setup`: Evennia hides an exception there or does not start at all, so a fault is logged.
    """
    try:
        rooms = _rooms()
        for room in HAMLET.rooms:
            _furnish(room, rooms)
        first = HAMLET.rooms[0].key
        tables = _playing(_LIBRARIAN) if inhabited else {}
        _house(name, tables, f"{name}, an old scholar with ink on every finger.", rooms[first])
        for resident in HAMLET.residents:
            own, here = resident.principal.name, rooms[resident.room]
            if own.casefold() == name.casefold():
                continue
            if inhabited and own in _PEOPLE:
                _house(own, _playing(_PEOPLE[own]), resident.description, here)
            else:
                _settle(resident, here)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001  (the border: the game starts all the same, and the log says what is missing)
        _log.failure("the demo could not be built")


def _rooms() -> dict[str, Any]:
    """Make the rooms and return them by the keys of the hamlet. The first is the game's start room, renamed."""
    from django.conf import settings  # needs the game
    from evennia.utils.search import search_object

    (first,) = search_object(settings.START_LOCATION, use_dbref=True)
    rooms: dict[str, Any] = {}
    for room in HAMLET.rooms:
        here = _make(settings.BASE_ROOM_TYPECLASS, room.name) if rooms else first
        here.key = room.name
        here.db.desc = room.description
        rooms[room.key] = here
    return rooms


def _make(typeclass: str, key: str, location: Any = None, **about: Any) -> Any:
    """Return what has this name here, made where nothing has it yet. Without a location it is a room."""
    from evennia.objects.models import ObjectDB  # needs the game
    from evennia.utils.create import create_object

    made = ObjectDB.objects.filter(db_key=key, db_location=location).first()
    return made or create_object(typeclass, key=key, location=location, **about)


def _furnish(room: Room, rooms: dict[str, Any]) -> None:
    """Put exits and things into a room."""
    from django.conf import settings  # needs the game

    here = rooms[room.key]
    for way in room.exits:
        aliases = [_SHORT[way.direction]] if way.direction in _SHORT else []
        _make(settings.BASE_EXIT_TYPECLASS, way.direction, here, aliases=aliases, destination=rooms[way.to])
    for thing in room.things:
        made = _make(settings.BASE_OBJECT_TYPECLASS, thing.name, here, home=here)
        made.db.desc = thing.description
        if thing.name in room.fixed:
            made.locks.add("get:false()")


def _settle(resident: Resident, here: Any) -> None:
    """Put a resident, who never speaks, into their room."""
    from django.conf import settings  # needs the game

    made = _make(settings.BASE_OBJECT_TYPECLASS, resident.principal.name, here, home=here)
    made.db.desc = resident.description
    made.locks.add("get:false()")


def _house(name: str, tables: Mapping[str, Any], description: str, here: Any) -> None:
    """Make the assistant `name` with these tables of settings, and put them into their room."""
    from mud_assistant.assistant.worlds.evennia.creation import assistants, create_assistant  # needs the game

    if any(other.key == name and other.home == here for other in assistants()):
        return
    create_assistant(name, location=here, home=here, overrides=tables, description=description)
    _log.info("{name} lives in {room}", name=name, room=here.key)


def _playing(character: str) -> dict[str, Any]:
    """Return the settings of an assistant that plays one of the characters that ship."""
    return {"assistant": {"character": character}}
