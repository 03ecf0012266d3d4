"""What a tool is given to act with: the world, who asks, and who acts.

`World` is the seam every game implements (`assistant/worlds/`). Everything that leaves through it was cleaned by
`tools/clean.py`; everything that comes back is data written by strangers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tools.notes import Notes


class Kind(StrEnum):
    """What sort of actor a principal is."""

    PLAYER = "player"
    ASSISTANT = "assistant"
    WORLD = "world"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who caused something.

    `id` is stable within the game; `permission` is the game's own ladder as a number: 0 guest, 1 player, 2 helper,
    3 builder, 4 admin, 5 developer (Evennia's `PERMISSION_HIERARCHY`).
    """

    id: str
    name: str
    kind: Kind = Kind.PLAYER
    permission: int = 1


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody a character can see."""

    name: str
    description: str = ""
    is_ai: bool = False


@dataclass(frozen=True, slots=True)
class Thing:
    """Something a character can see."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What lies round a character: its room, the ways out, the people and the things in it (itself left out)."""

    room: str
    description: str
    exits: tuple[str, ...] = ()
    people: tuple[Person, ...] = ()
    things: tuple[Thing, ...] = ()


class World(Protocol):
    """The game as one character lives in it.

    Every method may fail with `ToolFailed` when the game says no, in a sentence the model may read. Cancelling the
    returned awaitable abandons the wait, not the act.
    """

    def look(self) -> Awaitable[Scene]:
        """The scene round the character."""
        ...

    def inspect(self, target: str) -> Awaitable[str]:
        """The description of one thing, person or exit in the scene."""
        ...

    def who(self) -> Awaitable[Sequence[Person]]:
        """Everybody who is in the game, the character included."""
        ...

    def say(self, text: str) -> Awaitable[None]:
        """Speak aloud; everyone in the room hears it."""
        ...

    def emote(self, text: str) -> Awaitable[None]:
        """Act visibly, as `NAME text`."""
        ...

    def whisper(self, target: str, text: str) -> Awaitable[None]:
        """Speak to one person in the room, unheard by others."""
        ...

    def move(self, direction: str) -> Awaitable[Scene]:
        """Leave by an exit; the scene at the other end."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Everything a tool may use. `requester` is who the run answers, None when nobody asked."""

    actor: Principal
    world: World
    notes: Notes
    requester: Principal | None = None
    run_id: str = ""
