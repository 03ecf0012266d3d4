"""Reads profiles: how a codebase words what happens, and what is typed for each act. Pure but for the package's files.

A profile is TOML. A game's own profile names the codebase that it is `based_on` and is laid over it: its forms come
before those of the codebase, an empty list takes them away, and any other value replaces what was there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ValidationError

from mud_assistant.assistant.toml_text import parse_toml
from mud_assistant.assistant.worlds.telnet.profiles.line_forms import (
    MAX_FORMS,
    TYPED,
    Form,
    FormError,
    compile_form,
    holes_of,
)
from mud_assistant.assistant.worlds.telnet.profiles.profile_tables import (
    SESSION_TABLES,
    ColouredForm,
    EchoTable,
    ErrorsTable,
    Forms,
    RoomTable,
    SpeechTable,
    VerbsTable,
    WrittenProfile,
)
from mud_assistant.assistant.worlds.telnet.profiles.session_tables import (
    SessionProfile,
    SessionTableError,
    SessionTables,
    read_session,
)

#: The longest text of a profile, in characters, and how many profiles may stand on each other.
MAX_TEXT, MAX_LAYERS = 100_000, 4
#: The kinds of what others do, in the order in which they are tried. Channels come after the first, acts last.
_SPOKEN = ("say_to_me", "say_to_other", "whisper", "tell", "say")
_DONE = ("gave", "arrival", "departure", "new_holder", "ignored", "fighting", "emote")
_A_LIST = """write a list of forms, as in: ["{who} says, '{text}'"]"""
_ECHOED = ("say", "emote", "whisper", "tell", "channels")
_REFUSED = ("command", "way", "person", "thing", "silenced", "tired")
_NEEDED = {"say": "text", "emote": "text", "tell": "text", "whisper": "text", "inspect": "thing", "move": "direction"}


_form = lru_cache(maxsize=4 * MAX_FORMS)(compile_form)


class ProfileError(Exception):
    """A profile that cannot be used; the message names the place and says what to do."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile ready for use.

    `heard` are the forms of what others do, in the order in which they are tried; `channels` those of each channel;
    `echo` and `errors` the game's answers by the act and by what is refused. `room` holds the forms of a room by what
    they show. `session` holds the tables of the session.
    """

    name: str
    speech: SpeechTable
    verbs: VerbsTable
    room_table: RoomTable
    heard: tuple[Form, ...]
    echo: Mapping[str, tuple[Form, ...]]
    room: Mapping[str, tuple[Form, ...]]
    errors: tuple[Form, ...]
    session: SessionProfile


def shipped_profiles() -> tuple[str, ...]:
    """Return the names of the profiles that come with the package."""
    folder = files(__package__)
    return tuple(sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml")))


def read_profile(text: str, where: str, me: str = "") -> Profile:
    """Return the profile that a TOML text describes, laid over the one that it is based on.

    `where` is what errors call the text; `me` is the name of the character. Raises ProfileError.
    """
    return _compiled(*_read(text, where), where, me)


@lru_cache(maxsize=16)
def _read(text: str, where: str) -> tuple[WrittenProfile, SessionTables]:
    """Return the tables of a profile, which all characters of a game share. Raises ProfileError."""
    layers = [_table(text, where)]
    while based_on := layers[-1].get("based_on"):
        if len(layers) == MAX_LAYERS:
            raise ProfileError(f"{where}: based_on: more than {MAX_LAYERS} profiles stand on each other: use fewer")
        layers.append(_table(_shipped_text(based_on, where), f"{based_on}.toml"))
    whole = layers.pop()
    while layers:
        whole = _laid_over(whole, layers.pop())
    written = _validated(whole, where)
    try:
        return written, read_session({name: getattr(written, name) for name in SESSION_TABLES}).tables
    except SessionTableError as error:
        raise ProfileError(f"{where}: {error}") from error


def shipped_profile(name: str, me: str = "") -> Profile:
    """Return a profile that comes with the package. Raises ProfileError that lists them."""
    return read_profile(_shipped_text(name, "profile"), f"{name}.toml", me)


def _shipped_text(name: object, where: str) -> str:
    known = shipped_profiles()
    if name not in known:
        raise ProfileError(f"{where}: based_on: there is no profile {name!r}; those there are: {', '.join(known)}")
    return (files(__package__) / f"{name}.toml").read_text(encoding="utf-8")


# Any: TOML of somebody.
def _table(text: str, where: str) -> dict[str, Any]:
    """Return the checked table of one text. Each layer is checked alone, so that errors name the right file."""
    if len(text) > MAX_TEXT:
        raise ProfileError(f"{where}: a profile has at most {MAX_TEXT} characters: shorten it")
    try:
        table = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{where}: this is no TOML: {error}") from error
    _validated(table, where)
    return table


def _validated(table: Mapping[str, Any], where: str) -> WrittenProfile:
    try:
        return WrittenProfile.model_validate(table)
    except ValidationError as error:
        raise ProfileError(f"{where}: {_explain(error)}") from error


def _explain(error: ValidationError) -> str:
    """Say what is wrong, where, and what to write. An unknown key comes first, as it is often a misspelling."""
    found = error.errors(include_url=False, include_input=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    models: dict[str, type[BaseModel]] = {
        "speech": SpeechTable,
        "verbs": VerbsTable,
        "room": RoomTable,
        "errors": ErrorsTable,
    }
    path = [
        str(part) for part in first["loc"] if part not in {"ColouredForm", "[key]"} and "constrained" not in str(part)
    ]
    place = ".".join(path)
    if first["type"] != "extra_forbidden":
        is_list = first["type"] in {"tuple_type", "list_type"}
        return f"{place}: {_A_LIST if is_list else first['msg']}"
    table: type[BaseModel] = WrittenProfile
    if len(path) > 1:
        table = models.get(path[0], WrittenProfile)
        table = EchoTable if path[:-1][:2] == ["speech", "echo"] else table
        table = ColouredForm if any(part.isdigit() for part in path) else table
    known = list(table.model_fields)
    close = get_close_matches(path[-1], known, 1)
    meant = f" Did you mean `{close[0]}`?" if close else ""
    return f"{place}: there is no such key.{meant} Remove it, or write one of: {', '.join(known)}"


def _laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return one table laid over another."""
    whole = dict(base)
    for key, value in own.items():
        below = whole.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            whole[key] = _laid_over(below, value)
        elif isinstance(value, list) and isinstance(below, list) and value:
            whole[key] = [*value, *below]
        else:
            whole[key] = value
    return whole


def _compiled(written: WrittenProfile, session: SessionTables, where: str, me: str) -> Profile:
    speech, room = written.speech, written.room
    compiler = _Compiler(where, speech.verbs, me)
    heard = [form for kind in _SPOKEN for form in compiler.forms(f"speech.{kind}", kind, getattr(speech, kind))]
    for name, lines in speech.channels.items():
        heard += compiler.forms(f"speech.channels.{name}", f"channel:{name}", lines)
    heard += [form for kind in _DONE for form in compiler.forms(f"speech.{kind}", kind, getattr(speech, kind))]
    profile = Profile(
        written.name or where,
        speech,
        written.verbs,
        room,
        tuple(heard),
        {kind: compiler.forms(f"speech.echo.{kind}", kind, getattr(speech.echo, kind)) for kind in _ECHOED},
        {
            kind: compiler.forms(f"room.{kind}", kind, getattr(room, kind))
            for kind in ("exits", "people", "things", "who", "ignored")
        },
        tuple(
            form for kind in _REFUSED for form in compiler.forms(f"errors.{kind}", kind, getattr(written.errors, kind))
        ),
        SessionProfile(session, me),
    )
    for place, template, needed in _typed(written.verbs):
        compiler.check_typed(place, template, needed)
    return profile


def _typed(verbs: VerbsTable) -> Iterator[tuple[str, str, str]]:
    """Find the lines to type: the place, the line, and the hole that it cannot do without."""
    for kind in ("say", "emote", "whisper", "tell", "look", "inspect", "who", "move"):
        if template := getattr(verbs, kind):
            yield f"verbs.{kind}", template, _NEEDED.get(kind, "")
    for name, template in verbs.channels.items():
        yield f"verbs.channels.{name}", template, "text"
    for name, template in verbs.others.items():
        yield f"verbs.others.{name}", template, ""


class _Compiler:
    """Compiles the forms of one profile, and counts them."""

    def __init__(self, where: str, verbs: tuple[str, ...], me: str) -> None:
        self._where = where
        self._verbs = verbs or ("says",)
        self._me = me
        self._count = 0

    def forms(self, place: str, kind: str, written: Forms) -> tuple[Form, ...]:
        """Return the compiled forms of one key. Raises ProfileError."""
        compiled = []
        for number, one in enumerate(written):
            line, colour = (one, "") if isinstance(one, str) else (one.line, one.colour)
            self._count += 1
            if self._count > MAX_FORMS:
                raise ProfileError(f"{self._where}: a profile has at most {MAX_FORMS} forms: remove some")
            try:
                # Forms without the name of the character are the same for all of them.
                compiled.append(_form(kind, line, self._verbs, colour, self._me if "{me}" in line else ""))
            except FormError as error:
                raise ProfileError(f"{self._where}: {place}[{number}]: {error}") from error
        return tuple(compiled)

    def check_typed(self, place: str, template: str, needed: str) -> None:
        """Check a line to type. Raises ProfileError."""
        try:
            holes = holes_of(template)
        except FormError as error:
            raise ProfileError(f"{self._where}: {place}: {error}") from error
        if wrong := sorted(holes - TYPED):
            raise ProfileError(f"{self._where}: {place}: {{{wrong[0]}}} cannot be typed: use {{text}}, {{who}}, ...")
        if needed and needed not in holes:
            raise ProfileError(f"{self._where}: {place}: {{{needed}}} is missing: the line says where it stands")
