"""Reads places that owners write: rooms, things and a character, as TOML or JSON. Never touches a running world."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.config.words import problem
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.toml_text import parse_toml
from mud_assistant.assistant.worlds.embedded.hamlet import Exit, Place, Resident, Room
from mud_assistant.tools.game import Thing
from mud_assistant.tools.trust import Kind, Principal

#: The largest file that is accepted, in bytes.
MAX_BYTES = 1_000_000

_Name = Annotated[str, Field(min_length=1, max_length=80, description="a name of 1 to 80 characters")]
_Text = Annotated[str, Field(max_length=8000, description="a text of at most 8000 characters")]
_Named = Annotated[dict[_Name, _Text], Field(description="a table of names with a text each", max_length=200)]


class PlaceFileError(AssistantError):
    """The place cannot be used; the message names the file and the field, and says what would be right."""


class WrittenPlace(Struct, frozen=True):
    """A place as its owner wrote it. `name` and `persona` are its character's; None leaves them to the settings."""

    place: Place
    name: str | None = None
    persona: str | None = None

    @property
    def character(self) -> dict[str, str]:
        """Return the settings of the assistant that the place decides."""
        told = {"name": self.name, "persona": self.persona}
        return {setting: text for setting, text in told.items() if text is not None}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class _WrittenRoom(_Table):
    key: _Name
    name: _Name
    description: _Text = ""
    exits: _Named = {}
    things: _Named = {}
    fixed: tuple[_Name, ...] = ()


class _WrittenResident(_Table):
    name: _Name
    room: _Name
    description: _Text = ""
    greeting: _Text = ""


class _Written(_Table):
    #: A line of a file of items to play (`benchmarks.talk`) tells with these two fields what it is.
    kind: str = "place"
    place: str = ""
    name: _Name | None = None
    persona: _Text | None = None
    rooms: tuple[_WrittenRoom, ...] = Field(min_length=1, max_length=1000, description="a list of at least one room")
    residents: tuple[_WrittenResident, ...] = ()


def read_place(path: Path) -> WrittenPlace:
    """Read a place from a TOML or JSON file. Raises PlaceFileError. Blocks."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PlaceFileError(f"the place {path} cannot be read: {error.strerror}") from error
    if len(content) > MAX_BYTES:
        raise PlaceFileError(f"the place {path} is too large: a place has at most {MAX_BYTES // 1000} kB")
    readers: Mapping[str, Callable[[str], Any]] = {".toml": parse_toml, ".json": json.loads}
    reader = readers.get(path.suffix.casefold())
    if reader is None:
        raise PlaceFileError(f"the place {path} must be a file that ends in .toml or .json")
    try:
        data = reader(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # the errors of the readers and of the codec are ValueErrors
        raise PlaceFileError(f"the place {path} is no {path.suffix[1:].upper()}: {error}") from error
    return place_of(data, str(path))


def place_of(data: object, where: str) -> WrittenPlace:
    """Make a place of a parsed table; `where` is what errors call it. Raises PlaceFileError."""
    if not isinstance(data, Mapping):
        raise PlaceFileError(f"{where}: give a table with `rooms`")
    try:
        written = _Written.model_validate(data)
        own = {field: value for field in ("name", "persona") if (value := getattr(written, field)) is not None}
        AssistantConfig.model_validate(own)
    except ValidationError as error:
        raise PlaceFileError(f"{where}: {_invalid(error)}") from error
    for field, why in _mistakes(written):
        raise PlaceFileError(f"{where}: {field}: {why}")
    rooms = tuple(
        Room(
            room.key,
            room.name,
            room.description,
            tuple(Exit(direction.casefold(), to) for direction, to in room.exits.items()),
            tuple(Thing(name, description) for name, description in room.things.items()),
            frozenset(room.fixed),
        )
        for room in written.rooms
    )
    residents = tuple(
        Resident(
            Principal(f"resident:{one.name.casefold()}", one.name, Kind.WORLD),
            one.room,
            one.description or f"This is {one.name}.",
            one.greeting,
        )
        for one in written.residents
    )
    return WrittenPlace(Place(rooms, residents), written.name, written.persona)


def _mistakes(written: _Written) -> Iterator[tuple[str, str]]:
    """Find the fields that do not fit the others, each with what is wrong."""
    keys = [room.key for room in written.rooms]
    known = f"the keys of those there are: {', '.join(keys[:20])}"
    for number, room in enumerate(written.rooms):
        if room.key in keys[:number]:
            yield f"rooms[{number}].key", f"there is a room '{room.key}' already: give each its own key"
        for missing in (name for name in room.fixed if name not in room.things):
            yield f"rooms[{number}].fixed", f"there is no thing '{missing}' in this room"
        for direction, to in room.exits.items():
            if to not in keys:
                yield (
                    f"rooms[{number}].exits.{direction}",
                    f"there is no room '{to}'; {known}",
                )
    taken = {(written.name or "").casefold()}
    for number, one in enumerate(written.residents):
        if one.room not in keys:
            yield f"residents[{number}].room", f"there is no room '{one.room}'; {known}"
        if one.name.casefold() in taken:
            yield (
                f"residents[{number}].name",
                f"'{one.name}' is somebody else's name already: give each their own",
            )
        taken.add(one.name.casefold())


def _invalid(error: ValidationError) -> str:
    """Say what is invalid, and in which field. An unknown field comes first, as it is often a misspelling."""
    minded = error.errors(include_url=False, include_input=False)
    first = next((one for one in minded if one["type"] == "extra_forbidden"), minded[0])
    path = [part for part in first["loc"] if part != "[key]"]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    if first["type"] == "extra_forbidden":
        known = ", ".join(_fields_beside(path))
        return f"{place}: there is no such field; those there are: {known}"
    model: type[BaseModel] = AssistantConfig if error.title == AssistantConfig.__name__ else _Written
    return f"{place}: {problem(model, path, first['type'], first['msg'])}"


def _fields_beside(path: list[Any]) -> list[str]:
    """Return the fields of the table that holds the last part of `path`."""
    tables: dict[str, type[BaseModel]] = {"rooms": _WrittenRoom, "residents": _WrittenResident}
    table = tables.get(path[0], _Written) if len(path) > 1 else _Written
    return [name for name in table.model_fields if name not in {"kind", "place"}]
