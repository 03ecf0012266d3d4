"""Tells who is present, and what restrains a character: without anybody there it does nothing of itself.

A player is present who typed something lately and would hear the character, and neither mutes it nor asked not to be
spoken to first. Players stay logged in for days: a session that idles is nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Protocol

from msgspec import Struct

from mud_assistant.assistant.events.events import Event
from mud_assistant.tools.game import World, present, somebody_plays
from mud_assistant.tools.trust import Principal

#: How long after they last typed something players count as present, in seconds.
PRESENT_SECONDS = 900.0


def present_players(
    world: World, muted: Container[str], unwanted: Container[str] = frozenset()
) -> tuple[Principal, ...]:
    """Return the players who are present.

    `muted` holds the ids of those who mute the character, `unwanted` of those who asked not to be spoken to first.
    """
    return tuple(who for who in present(world, PRESENT_SECONDS) if who.id not in muted and who.id not in unwanted)


def is_anybody_there(world: World, here: Sequence[Principal]) -> bool:
    """Tell whether a character has anybody to live for: those `here`, or a player anywhere who typed something lately.

    A player may come to where it is, or wait where its day wants it.
    """
    return bool(here) or somebody_plays(world, PRESENT_SECONDS)


class Goals(Protocol):
    """What the character promised.

    An event of it carries the id of its goal (`ByRule.goal`), and whoever makes the call finds out what is to be done.
    """

    def next_event(self, now: float) -> Event | None:
        """Return the event that tries to keep a goal that is due, None for none. `now` is in clock seconds."""
        ...

    def next_at(self, now: float) -> float:
        """Return when the next goal can be tried, in clock seconds; infinity for none."""
        ...


class Restraints(Struct, frozen=True):
    """What others say of a character's initiative. Each is asked when it matters, and does not wait.

    A sentence that is not empty says why something is not done; owners read it among the reasons.
    """

    #: Why it does nothing of itself at all, empty when it may: its owner wants quiet.
    quiet: Callable[[], str] = str
    #: Why it stays where it is, empty when it may go; given the clock seconds.
    stays: Callable[[float], str] = lambda _: ""
    #: The ids of the players who mute it, and of those who asked not to be spoken to first.
    muted: Callable[[], Container[str]] = frozenset
    unwanted: Callable[[], Container[str]] = frozenset
