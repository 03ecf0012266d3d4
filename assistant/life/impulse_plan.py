"""Estimates how many impulses a character would have had: the decision of each, replayed over what was heard. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from mud_assistant.assistant.life.impulses import FIRST_PAUSE, ImpulseSigns, decide, next_pause, soonest
from mud_assistant.assistant.life.presence import PRESENT_SECONDS


def replay_impulses(heard: Sequence[float], acted: Sequence[float], dice: Random) -> int:
    """Return how many impulses there would have been, with a budget that is not used up and no other character about.

    `heard` are the times at which players said or did something before it, `acted` those at which it acted, both in
    seconds and in their order. A player counts as present for as long as after their last word.
    """
    impulses, own, pause = 0, -math.inf, FIRST_PAUSE
    now = heard[0] if heard else math.inf
    while math.isfinite(now):
        after = bisect_right(heard, now)
        spoken = heard[after - 1]
        if now - spoken >= PRESENT_SECONDS:
            now = heard[after] if after < len(heard) else math.inf
            continue
        if spoken > own:
            pause = FIRST_PAUSE
        signs = ImpulseSigns(now, True, spoken, max(own, _last(acted, now)), pause)
        if decide(signs, dice).taken:
            impulses, own, pause = impulses + 1, now, next_pause(pause)
            signs = replace(signs, acted=own, pause=pause)
        now = soonest(signs)
    return impulses


def _last(times: Sequence[float], now: float) -> float:
    at = bisect_right(times, now)
    return times[at - 1] if at else -math.inf
