"""Keeps the garbage collector from holding up the reactor: what lives as long as the process is not looked at again.

A full collection looks at every object there is: 118 ms of CPU in one callback in a stock game of Evennia with 50
assistants, 60 to 90 ms with 200 in the embedded world (docs/performance.md). A game calls this at its start, and once
more when everybody who lives in it is awake.

A run that goes well leaves nothing that only a collector can free; but what hundreds of runs hold while they wait for
their models passes for something that stays, and asks for full collections. So there are fewer of those: one where
400,000 objects more have been made than freed; Python has it 80,000 up to 3.12, and 240,000 from 3.13 on. The
collections of what is neither new nor old come twice as often instead, and look at half as much. The price: what only a
full collection frees waits until there are 400,000 objects of it.
"""

from __future__ import annotations

import gc

#: The thresholds that Python begins with, up to 3.12 and from 3.13 on. Others were chosen by somebody: left alone.
PYTHONS_OWN = frozenset({(700, 10, 10), (2000, 10, 10)})
#: Those of a game: new objects until the newest are looked at, and how often that is done before the next ones are.
GENTLE = (700, 5, 100)


def settle_heap() -> int:
    """How many objects are left out of all later collections: those there are, after one last collection."""
    gc.collect()
    gc.freeze()
    if gc.get_threshold() in PYTHONS_OWN:
        gc.set_threshold(*GENTLE)
    return gc.get_freeze_count()
