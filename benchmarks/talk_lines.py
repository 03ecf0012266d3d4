"""A talk of one's own: a file of lines that one person says, one after the other, to the character of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.talk_stage import Item
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.worlds.embedded.hamlet import Place
from mud_assistant.assistant.worlds.embedded.place_file import WrittenPlace


def lines_talk(file: Path, who: str, place: Place, settings: AssistantConfig) -> Item:
    """Return the talk as an item; each line of the file is one turn. Raises OSError, and ValueError without a line."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{file} has no line to say: write one on each")
    turns = tuple({"heard": [{"who": who, "how": "say", "text": line}], "expect": {}} for line in lines)
    written = as_written(place, "here", settings.name, settings.persona)
    return Item(file.stem, "free", WrittenPlace(place), (who,), turns, written)


# Any: JSON.
def as_written(place: Place, key: str, name: str, persona: str = "") -> dict[str, Any]:
    """Return the place in the form of a file of items, with the character who lives in it and those beside them."""
    rooms = [
        {
            "key": room.key,
            "name": room.name,
            "description": room.description,
            "exits": {way.direction: way.to for way in room.exits},
            "things": {thing.name: thing.description for thing in room.things},
        }
        for room in place.rooms
    ]
    residents = [
        {"name": one.principal.name, "room": one.room, "description": one.description} for one in place.residents
    ]
    return {"place": key, "name": name, "persona": persona, "rooms": rooms, "residents": residents}
