"""The context a tool acts with: the world, the requester, the actor, and what its call was found to need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mud_assistant.llm.messages import JSONObject
from mud_assistant.tools.game import Person, Target, World
from mud_assistant.tools.memories import RECALLED, Memories, Memory
from mud_assistant.tools.trust import ContextTrust, Principal

if TYPE_CHECKING:
    from treq.client import HTTPClient


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one call needs: a permission, the game commands it runs (`name/switch`) and what an approver is shown.

    `covers` is what an approval of it is bound to: the place, then what the call acts on; empty until it is needed.
    `affects` looks that up for a game command (see `GameCommand`).
    """

    permission: int
    commands: tuple[str, ...] = ()
    shown: str = ""
    covers: tuple[Target, ...] = ()
    affects: Callable[[], tuple[Target, ...]] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that waits for approval.

    `shown` is the literal text to show to the person who decides, `permission` the level they need; `expires_at` is in
    clock seconds; `approved_by` is the person who has approved it, None while it is only asked for. `covers` is the
    place, then what the call acts on; `commands` are the game commands it runs. `because` says why it does not happen
    without an approval.
    """

    number: int
    tool: str
    arguments: JSONObject
    shown: str
    requester: Principal | None
    permission: int
    expires_at: float
    approved_by: Principal | None = None
    commands: tuple[str, ...] = field(default=(), compare=False)
    covers: tuple[Target, ...] = ()
    because: str = field(default="", compare=False)

    @property
    def requirement(self) -> Requirement:
        """The requirement that was found when the call was asked for."""
        return Requirement(self.permission, self.commands, self.shown if self.commands else "", self.covers)


A_MINUTE = 60.0


def _nobody_is_told() -> None:
    """Do nothing: the default of `Following.on_change`."""


class Following:
    """The person one character follows. `now` gives seconds; it ends after `minutes`, and with 0 it never begins."""

    def __init__(self, now: Callable[[], float], minutes: float = 30.0) -> None:
        self.minutes = minutes
        #: The principal who asked for it: the walks are judged as theirs.
        self.asker: Principal | None = None
        #: Called when it has begun or ended.
        self.on_change: Callable[[], object] = _nobody_is_told
        self._now = now
        self._leader: Person | None = None
        self._until = 0.0

    @property
    def leader(self) -> Person | None:
        """The person the character follows now, None for nobody."""
        if self._leader is not None and self._now() >= self._until:
            self.end()
        return self._leader

    def begin(self, leader: Person, asker: Principal | None) -> None:
        """Follow this person, and nobody else, from now on."""
        self.restore(leader, asker, self.minutes * A_MINUTE)
        self.on_change()

    def restore(self, leader: Person, asker: Principal | None, seconds: float) -> None:
        """Go on following this person for so many seconds, at most the minutes that it lasts. Nobody is told."""
        seconds = min(seconds, self.minutes * A_MINUTE)
        if seconds > 0:
            self._leader, self.asker, self._until = leader, asker, self._now() + seconds

    @property
    def seconds_left(self) -> float:
        """How long the character still follows somebody, in seconds."""
        return 0.0 if self.leader is None else self._until - self._now()

    def leads(self, id_: str) -> bool:
        """Tell whether the character follows the person with this id."""
        return (leader := self.leader) is not None and leader.id == id_

    def look_for_leader(self, people: Iterable[Person]) -> None:
        """Stop following when the leader is not among these people."""
        if (leader := self.leader) is not None and leader.id not in {person.id for person in people}:
            self.end()

    def end(self) -> None:
        """Stop following."""
        was_following = self._leader is not None
        self._leader = self.asker = None
        if was_following:
            self.on_change()

    def forget(self, id_: str) -> None:
        """Stop following when the person with this id leads or has asked for it."""
        if self._leader is not None and id_ in {self._leader.id, self.asker.id if self.asker else ""}:
            self.end()


class WebKnowledge(Protocol):
    """What a run knows of the web (`tools/web/cite.py`); only the web's own tools know more of it than this."""

    def add_sources(self, words: str) -> str:
        """Return the words without marks of unknown sources, followed by the sources that they name."""
        ...


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What came of a question: its words, their level, and the ids of those whose words are in it."""

    text: str
    authority: int
    sources: frozenset[str]


def no_http() -> HTTPClient:
    """Refuse to make a client. Raises RuntimeError."""
    raise RuntimeError("this context has no HTTP client: a test gives one as `http_client`")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Everything a tool may use. `requester` is the principal the run answers, None when the run was not asked for.

    `trust` is what the run has in view. `allowed` is what the call was found to need when it was allowed: a tool that
    looks its target up again must do nothing when the target has become another one.
    """

    actor: Principal
    world: World
    memories: Memories
    requester: Principal | None = None
    run_id: str = ""
    trust: ContextTrust = field(default_factory=ContextTrust)
    allowed: Requirement | None = None
    #: What this turn knows of the web, None where there is no web.
    web: WebKnowledge | None = None
    #: Everybody whose words woke the run, including the requester: speech is for those of them who still hear it.
    askers: tuple[Principal, ...] = ()
    #: The tool that answers where the requester spoke; empty when that was in the room, or when there is no such tool.
    answer_by: str = ""
    #: Whether the run has changed the game already: it may be on an errand, away from the requester.
    has_changed: bool = False
    #: The approval that this very call was given, None for a call that the model makes by itself.
    granted: Pending | None = None
    #: Takes the next turn to speak in the room. Returns what to wait for, None when there is no need to wait.
    room_turn: Callable[[], Awaitable[None] | None] = field(default=lambda: None, compare=False, repr=False)
    #: The state of following a person, None where the character cannot follow.
    following: Following | None = None
    #: Finds what the character knows of the world by the words of a line.
    lore: Callable[[str], Sequence[Memory]] = field(default=lambda _: (), compare=False, repr=False)
    #: Returns the time in seconds since 1970.
    now: Callable[[], float] = field(default=lambda: 0.0, compare=False, repr=False)
    #: How many memories a search gives back at most.
    shown_memories: int = RECALLED
    #: Looks into a question and reports (`tools/verbs/delegate.py`), None where nobody can.
    look_into: Callable[[str, ToolContext], Awaitable[TaskReport]] | None = field(
        default=None, compare=False, repr=False
    )
    #: Makes an HTTP client; see `http`.
    http_client: Callable[[], HTTPClient] = field(default=no_http, compare=False, repr=False)

    @property
    def http(self) -> HTTPClient:
        """A new HTTP client, as treq's, for a tool's own requests (`tools/web/http.py`).

        It obeys the owner's settings of the web. Its requests, and reading their bodies, fail with WebError. Raises
        ModuleNotFoundError, which says what to install, where the extra `web` is not installed.
        """
        return self.http_client()

    @property
    def people(self) -> tuple[Principal, ...]:
        """Everybody whose words woke the run, each once; the requester may be one more."""
        everybody = (*self.askers, *((self.requester,) if self.requester else ()))
        return tuple({who.id: who for who in everybody}.values())

    def cite(self, words: str) -> str:
        """Return words for people's ears, with the sources that they name below them."""
        return self.web.add_sources(words) if self.web else words
