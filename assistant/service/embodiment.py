"""The tie of one assistant to its game."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tools import Principal, Tool, World


@dataclass(frozen=True, slots=True)
class Embodiment:
    """The identity of an assistant in its game, and how it acts there.

    The id of `me` never changes: the assistant's memory is kept under it. `tools` are the tools of this world beyond
    the usual ones. `gathered` is called at start when events of an earlier process wait for an answer. It returns when
    a player is there to be answered, or waiting for one has been long enough. `notify` tells a player one sentence
    outside the story, where they are. `where` gives the identity of the room it is in, empty when that is not known.
    """

    me: Principal
    world: World
    tools: tuple[Tool, ...] = ()
    gathered: Callable[[], Awaitable[None]] | None = None
    notify: Callable[[Principal, str], None] = lambda _, __: None
    where: Callable[[], str] = str
