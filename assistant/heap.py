"""Keeps the garbage collector from holding up the reactor: what lives as long as the process is not looked at again.

A full collection looks at every object there is: with 200 assistants 60 to 90 ms of CPU in one callback
(docs/performance.md). A composition root calls this once, after its assistants are there.
"""

from __future__ import annotations

import gc


def settle_heap() -> int:
    """How many objects are left out of all later collections: those there are, after one last collection."""
    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()
