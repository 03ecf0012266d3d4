"""Where one assistant lives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tools import Principal, Tool, World


@dataclass(frozen=True, slots=True)
class Place:
    """Who the assistant is in its game, and how it acts there.

    The id of `me` is for ever: what it remembers is kept under it. `tools` are those the world has beyond the usual.
    `gathered` returns when somebody is there to be answered, or need not be waited for any longer; it is asked where an
    earlier life left something to answer. `notify` tells a player one sentence outside the story, where they are.
    `where` gives the identity of the room it is in, empty when that is not known.
    """

    me: Principal
    world: World
    tools: tuple[Tool, ...] = ()
    gathered: Callable[[], Awaitable[None]] | None = None
    notify: Callable[[Principal, str], None] = lambda _, __: None
    where: Callable[[], str] = str
