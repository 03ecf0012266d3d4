"""Principals: the causes of what happens, with the permission the game gives them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What sort of actor a principal is."""

    PLAYER = "player"
    ASSISTANT = "assistant"
    WORLD = "world"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Principal:
    """The cause of something: a player, an assistant, the world or the operator.

    `id` is stable within the game; `permission` is the game's own ladder as a number: 0 guest, 1 player, 2 helper,
    3 builder, 4 admin, 5 developer (Evennia's `PERMISSION_HIERARCHY`). `trust` is the most that its words and its name
    count for when another person wrote them: a thing speaks in the words of its maker.
    """

    id: str
    name: str
    kind: Kind = Kind.PLAYER
    permission: int = 1
    trust: int = 5
