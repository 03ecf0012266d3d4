"""What a tool is given to act with: the world, who asks, and who acts.

`World` is the seam every game implements (`assistant/worlds/`). Everything that leaves through it was cleaned by
`tools/clean.py`; everything that comes back is data written by strangers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from tools.principal import Kind, Principal
from tools.trust import Sight

if TYPE_CHECKING:
    from tools.approvals import Pending
    from tools.following import Following
    from tools.notes import Notes
    from tools.policy import Requirement
    from tools.web.turn import WebTurn


__all__ = [
    "GameCommand",
    "Kind",
    "Person",
    "Principal",
    "Scene",
    "Target",
    "Thing",
    "ToolContext",
    "World",
    "Written",
]


@dataclass(frozen=True, slots=True)
class Target:
    """Something of the game that a call acts on, or the place where it happens.

    `id` is its identity, which no other thing ever gets; `name` is what it is called and `where` the id of where it is.
    """

    id: str
    name: str
    where: str = ""


class Written(str):
    """A text of the game with the level of the least trusted who wrote any of it; a plain `str` has the game's own."""

    __slots__ = ("authority",)
    authority: int

    def __new__(cls, text: str, authority: int) -> Self:
        """Make the text."""
        written = super().__new__(cls, text)
        written.authority = authority
        return written


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody a character can see.

    `authority` is the level of who wrote the name and the description, None for the game itself; `id` is their
    identity, empty where the world has none.
    """

    name: str
    description: str = ""
    is_ai: bool = False
    authority: int | None = field(default=None, compare=False)
    id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Thing:
    """Something a character can see; `authority` and `id` as a person has them."""

    name: str
    description: str = ""
    authority: int | None = field(default=None, compare=False)
    id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Scene:
    """What lies round a character: its room, the ways out, the people and the things in it (itself left out).

    `authority` is the level of the least trusted who wrote the room's name, its description or the name of an exit,
    None for the game itself. `id` is the identity of the room, and `exit_ids` are those of the exits, in their order.
    `carried` is what the character has with it. `behind` is the name of the room behind each exit whose room the world
    knows and the character may see.
    """

    room: str
    description: str
    exits: tuple[str, ...] = ()
    people: tuple[Person, ...] = ()
    things: tuple[Thing, ...] = ()
    authority: int | None = field(default=None, compare=False)
    id: str = field(default="", compare=False)
    exit_ids: tuple[str, ...] = field(default=(), compare=False)
    carried: tuple[Thing, ...] = ()
    behind: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def lowest(self) -> int | None:
        """The level of the least trusted text of the whole scene, None when all of it is the game's own."""
        others: tuple[Person | Thing, ...] = (*self.people, *self.things, *self.carried)
        levels = (self.authority, *(one.authority for one in others))
        return min((level for level in levels if level is not None), default=None)


@dataclass(frozen=True, slots=True)
class GameCommand:
    """A typed line as the game understands it: which command it is, whatever alias or nick was typed.

    `line` is the whole line as it will run; `permission` is what the game asks of who runs it. `affects` looks up what
    the line acts on at this moment: the place first, then every object that its words mean. It does not wait, and may
    raise `ToolFailed`; None where the game cannot tell.
    """

    line: str
    name: str
    switches: tuple[str, ...] = ()
    permission: int = 1
    affects: Callable[[], tuple[Target, ...]] | None = field(default=None, compare=False, repr=False)


class World(Protocol):
    """The game as one character lives in it.

    Every method may fail with `ToolFailed` when the game says no, in a sentence the model may read. Cancelling the
    returned awaitable abandons the wait, not the act. A text or a failure that holds words which a player or another
    assistant wrote has their level (`Written`, `ToolFailed.authority`).
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

    def hears(self, who: Principal) -> bool:
        """Whether this person would hear the character speak aloud now. Does not wait, and must not raise."""
        ...

    def page(self, target: str, text: str) -> Awaitable[None]:
        """Speak to one person anywhere in the game; ToolFailed when nobody of that name is there."""
        ...

    def speak_on(self, channel: str, text: str) -> Awaitable[None]:
        """Speak on a channel that the character listens to; ToolFailed that lists those channels."""
        ...

    def move(self, direction: str) -> Awaitable[Scene]:
        """Leave by an exit; the scene at the other end."""
        ...

    def go_home(self) -> Awaitable[Scene]:
        """Go to the character's home; the scene there. ToolFailed when it is there already, or has none."""
        ...

    def is_left_alone(self) -> bool:
        """Whether the character is away from its home in a room without players. Does not wait, and must not raise."""
        ...

    def resolve(self, line: str) -> Awaitable[GameCommand]:
        """What the game takes `line` for, aliases and nicks replaced; nothing happens. ToolFailed for no command."""
        ...

    def execute(self, command: GameCommand) -> Awaitable[str]:
        """What the game printed when exactly this command ran; it is not looked up again."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Everything a tool may use. `requester` is who the run answers, None when nobody asked.

    `sight` is what the run has in view. `allowed` is what the call was found to need when it was allowed: a tool that
    looks its target up again does nothing when it has become another one.
    """

    actor: Principal
    world: World
    notes: Notes
    requester: Principal | None = None
    run_id: str = ""
    sight: Sight = field(default_factory=Sight)
    allowed: Requirement | None = None
    #: What this turn knows of the web, None where there is none.
    web: WebTurn | None = None
    #: Everybody whose words woke the run, the requester among them: speech is for whoever of them still hears it.
    askers: tuple[Principal, ...] = ()
    #: The tool that answers where the requester spoke, when that was not in the room; empty when it was, or for none.
    answer_by: str = ""
    #: Whether the run has changed the game already: it may be on an errand, where the requester is not.
    has_changed: bool = False
    #: The approval that this very call was given, None for a call that the model makes by itself.
    granted: Pending | None = None
    #: Takes the next turn to speak in the room: what to wait for, None for nothing.
    room_turn: Callable[[], Awaitable[None] | None] = field(default=lambda: None, compare=False, repr=False)
    #: Whom the character follows, None where it cannot follow anybody.
    following: Following | None = None

    def cited(self, words: str) -> str:
        """Words for people's ears, with the sources below them that they name."""
        return self.web.cited(words) if self.web else words
