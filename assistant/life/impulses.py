"""Decides whether a character may do something that nobody asked for and no line of its owner names. Pure.

A timer offers an impulse, dice and the clock decide (`decide`). One that is taken wakes the model. The pause before the
next one doubles while nobody answers, and is short again once a person speaks.
"""

from __future__ import annotations

from random import Random

from msgspec import Struct

#: How long nothing must have been said to it, in seconds.
LEFT_IN_PEACE = 120.0
#: The shortest pause from its own last act to an impulse, and the longest, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 600.0, 86_400.0
#: For how long after an impulse no other assistant in the room has one, in seconds.
OTHERS_PAUSE = 300.0
#: How often an impulse is offered at most, in seconds, and how many of the offers the dice let pass.
OFFER_SECONDS, CHANCE = 60.0, 0.4
#: What an impulse may do, whatever is granted beside.
IMPULSE_TOOLS = frozenset({"say", "emote", "look", "inspect", "noop"})
#: The line that tells the character of it.
IMPULSE = "Nobody has asked you for anything. If you feel like it, do or say one small thing; otherwise do nothing."


class ImpulseSigns(Struct, frozen=True):
    """What is known when an impulse is offered. All times are in clock seconds; minus infinity means never.

    `present`: somebody is present in the room. `spoken_to` is when something was last said to it, `acted` when it acted
    last, `pause` how long it must wait since then. `has_budget`: its share of the day's budget is not used up.
    `is_free`: no other assistant of the room has had an impulse lately. `held` says why it may have none at all.
    """

    now: float
    present: bool
    spoken_to: float
    acted: float
    pause: float
    has_budget: bool = True
    is_free: bool = True
    held: str = ""


class ImpulseVerdict(Struct, frozen=True):
    """Whether the impulse is taken, and why or why not."""

    taken: bool
    why: str


def decide(signs: ImpulseSigns, dice: Random) -> ImpulseVerdict:
    """Return whether the impulse is taken. The dice are thrown only when nothing else speaks against it."""
    against = (
        (bool(signs.held), signs.held),
        (not signs.present, "nobody is present"),
        (signs.now - signs.spoken_to < LEFT_IN_PEACE, "somebody spoke to it less than two minutes ago"),
        (signs.now - signs.acted < signs.pause, f"it acted less than {signs.pause / 60:g} minutes ago"),
        (not signs.has_budget, "its share of the day's budget is used up"),
        (not signs.is_free, "another character here had an impulse a little while ago"),
    )
    why = next((why for is_so, why in against if is_so), "")
    if not why and dice.random() >= CHANCE:
        why = "by chance"
    return ImpulseVerdict(not why, why or "the time, and chance")


def next_pause(pause: float) -> float:
    """Return the pause after an impulse that nobody has answered yet."""
    return min(2 * pause, LONGEST_PAUSE)


def soonest(signs: ImpulseSigns) -> float:
    """Return when an impulse can be taken at the earliest, as far as that is known, in clock seconds."""
    return max(signs.now + OFFER_SECONDS, signs.spoken_to + LEFT_IN_PEACE, signs.acted + signs.pause)
