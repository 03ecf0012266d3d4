"""The settings for company: conversations, manners, and what wakes an assistant besides speech."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assistant.config.types import Settings


class MannerConfig(Settings):
    """The settings that say how an assistant behaves in company."""

    #: How long a conversation goes on without its name: so long after the last exchange, what the same player says is
    #: for it, unless they speak to somebody else, say farewell, or somebody else answers them. 0: never.
    conversation_seconds: Annotated[float, Field(ge=0, le=3600)] = 90.0
    #: Whether lines to everybody, such as "Hello everyone", are for it as well; one character in the room answers.
    to_everybody: bool = True
    #: Whether a player who speaks in company, names nobody and gets no answer is told once how to talk with it.
    hint: bool = True
    #: Whether it may answer with what it just heard or said, nearly word for word: a herald does. Otherwise such an
    #: answer is asked for once more.
    may_repeat: bool = False
    #: How long it pauses between the pieces of a long speech; 0 says them all at once.
    pause_seconds: Annotated[float, Field(ge=0, le=10)] = 1.5
    #: How much time lies between two lines of assistants in one room at least; 0: none. Players are never held up.
    room_pause_seconds: Annotated[float, Field(ge=0, le=5)] = 1.5
    #: Said to a player who comes in, without asking the model; {name} stands for theirs. Empty: it greets nobody.
    greeting: str = Field(default="", max_length=300, examples=["Welcome, {name}."])
    #: How many hours lie between two greetings of the same player at least.
    greet_hours: Annotated[float, Field(ge=0, le=8760)] = 12.0
    #: What wakes it besides speech: a pose that names it or that nobody else sees, a gift to it, the arrival of a
    #: player. Where it has a greeting, an arrival gets that and wakes it for nothing more.
    wake_on: Annotated[tuple[Literal["pose", "gift", "arrival"], ...], Field(max_length=3)] = ("pose", "gift")
    #: How long one person's poses wake it no more after one did, and likewise their gifts and their arrivals; speech to
    #: it always does.
    wake_seconds: Annotated[float, Field(ge=0, le=86400)] = 60.0
    #: Stands after its name where players look round in an Evennia game; empty for nothing. Who looks at the character
    #: itself is told in any case.
    ai_mark: str = Field(default="(AI)", max_length=20)
    #: The colour of what it says in an Evennia game; "none" leaves it to the game.
    speech_colour: Literal["none", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "grey"] = "none"
