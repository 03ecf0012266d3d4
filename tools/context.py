"""The context a tool acts with: the world, the requester and the actor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from tools.following import Following
from tools.game import GameCommand, Person, Scene, Target, Thing, World, Written
from tools.notes import Notes
from tools.requirement import Pending, Requirement
from tools.trust import ContextTrust, Kind, Principal

#: The names of `tools.game` and `tools.trust` are here for tools of the version before, for one release.
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


class WebKnowledge(Protocol):
    """What a run knows of the web (`tools/web/cite.py`); only the web's own tools know more of it than this."""

    def add_sources(self, words: str) -> str:
        """Return the words without marks of unknown sources, followed by the sources that they name."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Everything a tool may use. `requester` is the principal the run answers, None when the run was not asked for.

    `trust` is what the run has in view. `allowed` is what the call was found to need when it was allowed: a tool that
    looks its target up again must do nothing when the target has become another one.
    """

    actor: Principal
    world: World
    notes: Notes
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

    def cite(self, words: str) -> str:
        """Return words for people's ears, with the sources that they name below them."""
        return self.web.add_sources(words) if self.web else words
