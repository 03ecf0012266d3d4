"""Tells who is present, and whether anybody is: without them a character does nothing of itself.

A player is present who typed something lately and would hear the character, and neither mutes it nor asked not to be
spoken to first. Players stay logged in for days: a session that idles is nobody.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

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
