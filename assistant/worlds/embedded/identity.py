"""The identity of things in the embedded world, whatever their names, and how far their texts are to be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.errors import ToolFailed
from tools.game import Person, Target, Thing, Written
from tools.text.names import plain
from tools.trust import Kind, Principal, label_of

if TYPE_CHECKING:
    from assistant.worlds.embedded.hamlet import Resident
    from assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld


_SELF = frozenset({"me", "myself", "self"})
_HERE = frozenset({"here", "room", "around"})


class Identities:
    """Numbers the things of a world when they are first asked for; no number is given twice."""

    def __init__(self) -> None:
        #: By the `id()` of each thing, with the copy that others see. The thing is kept too, so that no other object
        #: gets the same `id()`.
        self._known: dict[int, tuple[Thing, Thing]] = {}

    def of(self, thing: Thing) -> str:
        """Return the identity of this very thing; another one with the same name and description has its own."""
        return self.marked(thing).id

    def marked(self, thing: Thing) -> Thing:
        """Return the copy of the thing that others see, with its identity."""
        known = self._known.get(id(thing))
        if known is None:
            known = self._known[id(thing)] = (thing, replace(thing, id=f"#{len(self._known) + 1}"))
        return known[1]

    def target(self, thing: Thing, where: str) -> Target:
        """Describe the thing as what a command acts on."""
        return Target(self.of(thing), thing.name, where)


def aliased(target: str, body: EmbeddedBody) -> str:
    """Return `target`, with 'me' and 'here' replaced by the names of the body and the room."""
    wanted = plain(target)
    if wanted in _SELF:
        return body.principal.name
    return body.room.name if wanted in _HERE else target


def level_of_body(principal: Principal) -> int | None:
    """Return the level of a body's name and description: a player's own, 0 for an assistant, None for a resident."""
    return None if principal.kind is Kind.WORLD else label_of(principal).authority


def written(text: str, level: int | None) -> str:
    """Return the text marked with its level; text of the game itself (None) is returned unchanged."""
    return text if level is None else Written(text, level)


def lowest_seen(body: EmbeddedBody, *, everywhere: bool = False) -> int | None:
    """Return the lowest level of any name round the body, or in the whole game; None when all are the game's own."""
    world: EmbeddedWorld = body.world
    bodies = world.bodies if everywhere else world.bodies_with(body)
    levels = [level_of_body(other.principal) for other in bodies if other is not body]
    levels += [thing.authority for thing in (*world.things[body.room.key], *body.carried)]
    return min((level for level in levels if level is not None), default=None)


@contextmanager
def levelled(body: EmbeddedBody, *, everywhere: bool = False) -> Iterator[None]:
    """Give a ToolFailed raised in this context the level of the names that its sentence lists."""
    try:
        yield
    except ToolFailed as failed:
        failed.authority = lowest_seen(body, everywhere=everywhere)
        raise


def resident_person(resident: Resident) -> Person:
    """Return a resident as others see them."""
    return Person(resident.principal.name, resident.description)
