"""What a process holds at one moment, and what of it has grown since another."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.memory_child import resident


@dataclass(frozen=True, slots=True)
class Held:
    """What the process holds. `bytes` is resident memory."""

    bytes: float
    descriptors: int
    calls: int
    threads: int


def held(reactor: Any) -> Held:
    """What is held now."""
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return Held(resident(), descriptors, len(reactor.getDelayedCalls()), threading.active_count())


def grown(goal: str, before: Held, after: Held, behind: str = "") -> list[Figure]:
    """Descriptors, delayed calls and threads that there are more of; `behind` is added to their names."""
    return [
        Figure(
            goal,
            f"descriptors more{behind}",
            after.descriptors - before.descriptors,
            "",
            0,
            note=f"{after.descriptors}",
        ),
        Figure(goal, f"delayed calls more{behind}", after.calls - before.calls, "", 0, note=f"{after.calls}"),
        Figure(goal, f"threads more{behind}", after.threads - before.threads, "", 0, note=f"{after.threads}"),
    ]
