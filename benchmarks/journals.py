"""The journal on this machine's disk: acceptance by 1, 50 and 200 at once, what size does to recovery and a turn."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import journal
from benchmarks.figures import Figure

SECONDS = 3.0


async def figures(reactor: Any, *, full: bool) -> list[Figure]:  # noqa: ARG001  (sections are all called alike)
    """The two tables of `journal.py`."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for producers in (1, 50, 200):
            found += _pace(producers, await journal.measure(reactor, Path(folder), producers, SECONDS))
        for settled in journal.SIZES:
            found += _size(settled, await journal.measure_size(reactor, Path(folder), settled))
    return found


def _pace(producers: int, pace: journal.Pace) -> list[Figure]:
    by = f"by {producers} at once"
    wait = f"p50 {pace.p50:.1f} ms, max {pace.longest:.1f} ms"
    note = f"{pace.commits_per_second:,.0f} commits/s, {pace.busy:.0%} of a core"
    return [
        Figure("", f"journal: events accepted {by}", pace.per_second, "events/s", note=note),
        Figure("", f"journal: acknowledgement {by}, p99", pace.p99, "ms", note=wait),
    ]


def _size(settled: int, size: journal.Size) -> list[Figure]:
    having = f"with {settled:,} settled events"
    left = f"{journal.LEFT} events and an open run left; an orderly start {1000 * size.start:.0f} ms"
    forgot = f"{size.forgotten:,} events of the player; file {size.megabytes:.1f} MiB"
    return [
        Figure("", f"journal: recovery after a kill {having}", 1000 * size.recovery, "ms", note=left),
        Figure("", f"journal: a turn {having}", 1000 * size.turn, "ms", note="three fsyncs"),
        Figure("", f"journal: forgetting a player {having}", 1000 * size.forgetting, "ms", note=forgot),
    ]
