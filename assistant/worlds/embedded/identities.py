"""Says which thing is which in the embedded world, and whose words each text is."""

from __future__ import annotations

from dataclasses import replace

from assistant.worlds.embedded.hamlet import Resident
from tools.game import Person, Target, Thing, Written
from tools.trust import Kind, Principal, label_of


class Identities:
    """Numbers the things of a world when they are first asked for; no number is given twice."""

    def __init__(self) -> None:
        #: By the `id()` of each thing, with the copy that others see. The thing is kept too, so that no other object
        #: gets the same `id()`.
        self._known: dict[int, tuple[Thing, Thing]] = {}

    def of(self, thing: Thing) -> str:
        """Return the identity of this very thing; another one with the same name and description has its own."""
        return self.mark(thing).id

    def mark(self, thing: Thing) -> Thing:
        """Return the copy of the thing that others see, with its identity."""
        known = self._known.get(id(thing))
        if known is None:
            known = self._known[id(thing)] = (thing, replace(thing, id=f"#{len(self._known) + 1}"))
        return known[1]

    def target(self, thing: Thing, where: str) -> Target:
        """Describe the thing as what a command acts on."""
        return Target(self.of(thing), thing.name, where)


def level_of_body(principal: Principal, *, by_owner: bool) -> int | None:
    """Return the level of a body's name and description: a player's own, None for what the game or its owner wrote.

    An assistant's description counts for the assistant, the least, unless it is its owner's (`by_owner`).
    """
    is_owners = principal.kind is Kind.WORLD or (principal.kind is Kind.ASSISTANT and by_owner)
    return None if is_owners else label_of(principal).authority


def with_level(text: str, level: int | None) -> str:
    """Return the text marked with its level; text of the game itself (None) is returned unchanged."""
    return text if level is None else Written(text, level)


def resident_person(resident: Resident) -> Person:
    """Return a resident as others see them."""
    return Person(resident.principal.name, resident.description)
