"""Defines what the file of a profile may hold: each table with its fields, as an owner writes them. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mud_assistant.assistant.worlds.telnet.profiles.line_forms import MAX_FORM, VERBS

#: The tables that the session reads; their fields are its own.
SESSION_TABLES = ("login", "prompt", "pager", "states", "manners")
_Text = Annotated[str, Field(min_length=1, max_length=MAX_FORM)]


class _ProfileTable(BaseModel):
    """Refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class ColouredForm(_ProfileTable):
    """Holds a form with the colour that its lines begin with."""

    line: _Text
    colour: str = Field(default="", max_length=20)


Forms = Annotated[tuple[_Text | ColouredForm, ...], Field(max_length=60)]
_Named = Annotated[dict[str, Forms], Field(max_length=40)]


class EchoTable(_ProfileTable):
    """Holds how the game shows a character its own acts: the sign that an act was done."""

    say: Forms = ()
    emote: Forms = ()
    whisper: Forms = ()
    tell: Forms = ()
    channels: Forms = ()


class SpeechTable(_ProfileTable):
    """Holds what others say and do, and what says that a name has a new holder."""

    names: Literal["word", "words"] = "words"
    wraps: int = Field(default=0, ge=0, le=1_000)
    breaks: bool = False
    verbs: Annotated[tuple[str, ...], Field(max_length=80)] = VERBS
    nobody: Annotated[tuple[str, ...], Field(max_length=40)] = ()
    say: Forms = ()
    say_to_me: Forms = ()
    say_to_other: Forms = ()
    tell: Forms = ()
    whisper: Forms = ()
    emote: Forms = ()
    gave: Forms = ()
    arrival: Forms = ()
    departure: Forms = ()
    new_holder: Forms = ()
    channels: _Named = Field(default_factory=dict)
    echo: EchoTable = EchoTable()
    ignored: Forms = ()
    fighting: Forms = ()


class VerbsTable(_ProfileTable):
    """Holds the lines that are typed for each act. An act without a line is not done in this game."""

    say: str = Field(default="", max_length=MAX_FORM)
    emote: str = Field(default="", max_length=MAX_FORM)
    whisper: str = Field(default="", max_length=MAX_FORM)
    tell: str = Field(default="", max_length=MAX_FORM)
    look: str = Field(default="look", max_length=MAX_FORM)
    inspect: str = Field(default="look {thing}", max_length=MAX_FORM)
    who: str = Field(default="who", max_length=MAX_FORM)
    move: str = Field(default="{direction}", max_length=MAX_FORM)
    separators: str = Field(default="", max_length=10)
    longest: int = Field(default=400, ge=20, le=4_000)
    channels: Annotated[dict[str, str], Field(max_length=40)] = Field(default_factory=dict)
    others: Annotated[dict[str, str], Field(max_length=80)] = Field(default_factory=dict)


class RoomTable(_ProfileTable):
    """Holds how the game shows a room, and who is in the game."""

    title: str = Field(default="", max_length=20)
    exits: Forms = ()
    people: Forms = ()
    things: Forms = ()
    people_colour: str = Field(default="", max_length=20)
    things_colour: str = Field(default="", max_length=20)
    who: Forms = ()
    ignored: Forms = ()


class ErrorsTable(_ProfileTable):
    """Holds the sentences with which the game refuses, by what it refuses."""

    command: Forms = ()
    way: Forms = ()
    person: Forms = ()
    thing: Forms = ()
    silenced: Forms = ()
    tired: Forms = ()


# Any: the tables of the session, which reads them itself.
class WrittenProfile(_ProfileTable):
    """Holds a whole profile."""

    name: str = Field(default="", max_length=80)
    based_on: str = Field(default="", max_length=80)
    speech: SpeechTable = SpeechTable()
    verbs: VerbsTable = VerbsTable()
    room: RoomTable = RoomTable()
    errors: ErrorsTable = ErrorsTable()
    login: dict[str, Any] = Field(default_factory=dict)
    prompt: dict[str, Any] = Field(default_factory=dict)
    pager: dict[str, Any] = Field(default_factory=dict)
    states: dict[str, Any] = Field(default_factory=dict)
    manners: dict[str, Any] = Field(default_factory=dict)
