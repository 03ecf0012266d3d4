"""Where one assistant lives."""

from __future__ import annotations

from dataclasses import dataclass

from tools import Principal, Tool, World


@dataclass(frozen=True, slots=True)
class Place:
    """Who the assistant is in its game, and how it acts there.

    The id of `me` is for ever: what it remembers is kept under it. `tools` are those the world has beyond the usual.
    """

    me: Principal
    world: World
    tools: tuple[Tool, ...] = ()
