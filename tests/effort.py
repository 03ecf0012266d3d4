"""How often chance is tried: as often as a change can wait for, and with `MUD_EFFORT=5` five times that."""

from __future__ import annotations

import os

EFFORT = float(os.environ.get("MUD_EFFORT", "1"))


def times(count: int) -> int:
    """Return how often something is to be tried that is tried `count` times in a usual run."""
    return max(1, round(count * EFFORT))
