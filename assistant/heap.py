"""Keeps the garbage collector from holding up the reactor: what lives as long as the process is not looked at again.

A full collection looks at every object there is: 118 ms of CPU in one callback in a stock game of Evennia with 50
assistants, 60 to 90 ms with 200 in the embedded world (docs/performance.md). A game calls this once, at its start.
"""

from __future__ import annotations

import gc


def settle_heap() -> int:
    """How many objects are left out of all later collections: those there are, after one last collection."""
    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()
