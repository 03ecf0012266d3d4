"""The journal on this machine's disk: acceptance by 1, 50 and 200 at once, and what size does to a start and a turn."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import journal
from benchmarks.figures import Figure

SECONDS = 3.0


async def figures(reactor: Any, *, full: bool) -> list[Figure]:  # noqa: ARG001  (sections are all called alike)
    """The two tables of `journal.py`, row by row."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for producers in (1, 50, 200):
            name = f"journal: acceptance by {producers} at once, p99"
            pace = await journal.measure(reactor, Path(folder), producers, SECONDS)
            found.append(Figure("", name, pace.p99, "ms", note=pace.told))
        for settled in (100, journal.MANY):
            size = await journal.measure_size(reactor, Path(folder), settled)
            found.append(
                Figure("", f"journal: a turn with {settled:,} settled events", 1000 * size.turn, "ms", note=size.told)
            )
    return found
