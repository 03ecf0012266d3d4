"""Principals, who cause what happens, and how far their texts are to be trusted.

A level is a step of the game's own ladder (`Principal.permission`). A text of level 1 may ask at most for things that
every player may do. No text says its own level; it follows from where the text came from.

A text also has an audience: who may be told of it. Words said to one person in private are for that person alone, and
so is everything that is made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import assert_never

from msgspec import Struct

#: The level of the operator and of our own words: the top of the ladder.
TOP = 5
#: The beginning of the id of every assistant, in every world.
ASSISTANT_ID = "assistant:"
#: The longest name of an audience, in characters.
_LONGEST_KEY = 64
#: The names of the steps of the ladder.
RANKS = ("guest", "player", "helper", "builder", "admin", "developer")
#: The ids of the principals and private channels that may be told of a text; None is everybody, no id is nobody.
Audience = frozenset[str] | None


class Kind(StrEnum):
    """What sort of actor a principal is."""

    PLAYER = "player"
    ASSISTANT = "assistant"
    WORLD = "world"
    OPERATOR = "operator"


#: The kinds of principal that are people: they may come and go, wait for an answer, and be forgotten.
PEOPLE = frozenset({Kind.PLAYER, Kind.OPERATOR})


class Principal(Struct, frozen=True):
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


class Source(StrEnum):
    """The author of a text."""

    OPERATOR = "operator"  # also our own words, such as confirmations and refusals
    PLAYER = "player"
    WORLD = "world"
    WEB = "web"
    MEMORY = "memory"
    ASSISTANT = "assistant"


#: The author of what a principal of each kind says.
_SOURCE_OF = {
    Kind.OPERATOR: Source.OPERATOR,
    Kind.PLAYER: Source.PLAYER,
    Kind.WORLD: Source.WORLD,
    Kind.ASSISTANT: Source.ASSISTANT,
}


class Label(Struct, frozen=True):
    """The source of a text, its level and its audience; `who` is a principal's id, empty for nobody."""

    source: Source
    authority: int
    who: str = ""
    audience: Audience = None


def label_of(who: Principal, world_text: int = 1) -> Label:
    """Return the label of what `who` says; `world_text` is the level of the game's own texts."""
    return Label(_SOURCE_OF[who.kind], authority_of_words(who, world_text), who.id)


def authority_of_words(who: Principal, world_text: int = 1) -> int:
    """Return the level of what `who` says; `world_text` is the level of the game's own texts."""
    match who.kind:
        case Kind.OPERATOR:
            return TOP
        case Kind.PLAYER:
            return clamp_level(min(who.permission, who.trust))
        case Kind.WORLD:
            return clamp_level(min(world_text, who.trust))
        case Kind.ASSISTANT:
            return 0
        case _:
            assert_never(who.kind)


def clamp_level(level: int) -> int:
    """Return `level`, limited to the steps of the ladder."""
    return min(TOP, level) if level > 0 else 0


def rank(permission: int) -> str:
    """Name the rank with this permission, with an article: 'a builder'."""
    name = RANKS[clamp_level(permission)]
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def channel_id(name: str) -> str:
    """Return the id that stands in an audience for everybody who listens to the channel."""
    return f"channel:{name.strip().casefold()}"


def common(first: Audience, second: Audience) -> Audience:
    """Return who may be told of a text that is made of two others."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def may_hear(audience: Audience, hearers: Audience) -> bool:
    """Tell whether each of the hearers may be told of a text with this audience."""
    return audience is None or (hearers is not None and hearers <= audience)


class Withheld(Struct, frozen=True):
    """The words of a query that strangers may not read: `known` in private talk alone, or `unheard` in public."""

    known: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()


def _nobody(_: str) -> frozenset[str]:
    return frozenset()


def _nothing(_: str) -> Withheld:
    return Withheld()


@dataclass(slots=True)
class ContextTrust:
    """What the model has in view during one run: its lowest level counts, and never rises again.

    `audience` is who may be told of all of it, so it only narrows. `sources_of` finds the ids of those in view whose
    words a text repeats. `look_up` names the cause of a level that was in view before the run. `shown_from` is the
    level below which the prompt of the answer that is acted on held nothing; 0 when it held everything in view.
    """

    min_level: int = TOP
    shown_from: int = 0
    audience: Audience = None
    sources_of: Callable[[str], frozenset[str]] = _nobody
    look_up: Callable[[int], str] | None = None
    #: Finds the words of a query that are neither public nor in what is answered now.
    withheld: Callable[[str], Withheld] = _nothing
    #: What lowered `min_level` to each level during the run itself.
    _why: dict[int, Callable[[], str]] = field(default_factory=dict)

    @property
    def level(self) -> int:
        """The lowest level of what the model was shown for the answer that is acted on."""
        return max(self.min_level, self.shown_from)

    def read(self, label: Label) -> None:
        """Note that the model sees a text with this label from now on."""
        self.lower(label.authority)
        self.narrow(label.audience)

    def narrow(self, audience: Audience) -> None:
        """Note that the model sees a text with this audience from now on."""
        self.audience = common(self.audience, audience)

    def lower(self, authority: int, why: Callable[[], str] = str) -> None:
        """Note that the model sees a text of this level from now on; `why` names it when somebody asks."""
        if why is not str:
            self._why.setdefault(authority, why)
        self.min_level = min(self.min_level, authority)
        self.shown_from = min(self.shown_from, authority)

    def because(self) -> str:
        """Name who or what the lowest level comes from; empty when that is not known."""
        before = self.look_up(self.level) if self.look_up is not None else ""
        return "; ".join(filter(None, (before, self._why.get(self.level, str)())))


def audience_key(audience: Audience) -> str:
    """Return a short name of an audience: the same for the same ids, in any order."""
    if audience is None:
        return "everybody"
    named = ",".join(sorted(audience))
    return named if len(named) <= _LONGEST_KEY else sha256(named.encode(errors="replace")).hexdigest()[:16]
