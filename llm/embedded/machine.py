"""Measures what this machine can do for a local model: free memory, processors, and their speed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

MEMINFO = Path("/proc/meminfo")
#: Where the system mounts its groups of processes, and which of them are ours.
GROUPS, OUR_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: The better model is offered with this much free memory, and this many processors, or fewer fast ones.
BETTER_BYTES = 4_000_000_000
BETTER_CORES, FAST_CORES = 4, 2
#: A processor is fast when it completes the calculation of `calculating_seconds` in this time.
FAST_SECONDS = 0.06
_STEPS, _ROUNDS = 300_000, 5


class Machine(Struct, frozen=True):
    """What was measured. `free_bytes` is None where the system does not say; `seconds` is the calculation's time."""

    free_bytes: int | None
    cores: int
    seconds: float

    @property
    def is_for_better(self) -> bool:
        """Whether the better model answers here in about three seconds or less."""
        is_fast = self.cores >= FAST_CORES and self.seconds <= FAST_SECONDS
        return (self.free_bytes or 0) >= BETTER_BYTES and (self.cores >= BETTER_CORES or is_fast)


def measure_machine(now: Callable[[], float]) -> Machine:
    """Measure this machine. `now` gives seconds. Blocks for about a third of a second."""
    return Machine(free_bytes(), usable_cores(), calculating_seconds(now))


def free_bytes() -> int | None:
    """Return the memory that programs can still have, in bytes, or None where the system does not say. Blocks.

    A limit of our control group, such as a container's, counts as well.
    """
    known = [free for free in (_free_of_all(), _free_of_group()) if free is not None]
    return min(known, default=None)


def _free_of_all() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def _free_of_group() -> int | None:
    """Return what is left below the tightest limit of our control groups and those above them, None without a limit."""
    try:
        lines = OUR_GROUPS.read_text().splitlines()
    except OSError:
        return None
    found: list[int] = []
    for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") > 1):
        if controllers == "":  # version 2 has one hierarchy
            found += _left_along(GROUPS, path, ("memory.max", "memory.current", "inactive_file"))
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            found += _left_along(GROUPS / "memory", path, names)
    return min(found, default=None)


def _left_along(root: Path, path: str, names: tuple[str, str, str]) -> list[int]:
    """Return what each group from `path` up to the root has left. In a container the root is the container's own."""
    steps = [step for step in path.split("/") if step and step != ".."]
    folders = [root.joinpath(*steps[:count]) for count in range(len(steps), -1, -1)]
    return [left for folder in folders if (left := _left(folder, names)) is not None]


def _left(folder: Path, names: tuple[str, str, str]) -> int | None:
    """Return limit less use of one group; pages of files that can be dropped at any time do not count as used."""
    limit, used, droppable = names
    try:
        most, now = int((folder / limit).read_text()), int((folder / used).read_text())
        stat = dict(line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines() if " " in line)
        return max(0, most - now + int(stat.get(droppable, "0")))
    except (OSError, ValueError):  # "max", or no such group
        return None


def usable_cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def calculating_seconds(now: Callable[[], float]) -> float:
    """Return how long one processor takes for a fixed piece of arithmetic: the best of a few rounds. Blocks."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began, total = now(), 0
        for number in range(_STEPS):
            total = (total * 31 + number) & 0xFFFF
        best = min(best, now() - began)
    return best
