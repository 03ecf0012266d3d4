"""The table of `evennia_lag.py`, and its verdict on the two promises."""

from __future__ import annotations

import argparse
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

P95_SECONDS = 0.05
CALLBACK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Report:
    """One window: what the probe saw, the lateness of an idle process meanwhile, lines spoken and answered."""

    name: str
    seen: dict[str, Any]
    idle: list[float]
    asked: int
    answered: int

    @property
    def longest(self) -> tuple[float, float, str]:
        """The callback with most CPU: its CPU, its wall time, its name."""
        cpu, wall, name = (self.seen["long"] or [(0.0, 0.0, "(none over 20 ms)")])[0]
        return cpu, wall, name


def printed(reports: list[Report], options: argparse.Namespace, left: int, log: str) -> dict[str, Any]:
    """Print everything; the same for a JSON file."""
    print(
        f"\nEvennia {version('evennia')}, Twisted {version('twisted')}, Python {platform.python_version()}: "
        f"{options.assistants} assistants, tick 1 s, {options.rooms} players, {options.rate:g} lines/s, "
        f"{options.seconds:g} s{', SQLite as shipped' if options.as_shipped else ''}"
    )
    head = ("reactor lag, ms", "p50", "p95", "p99", "max", "own CPU", "over 50 ms", "longest callback")
    print(f"{head[0]:18}{head[1]:>8}{head[2]:>8}{head[3]:>8}{head[4]:>9}{head[5]:>9}{head[6]:>12}  {head[7]}")
    for report in reports:
        lag = [1000 * report.seen["lag"][share] for share in ("0.5", "0.95", "0.99", "1.0")]
        cpu, wall, name = report.longest
        print(
            f"{report.name:18}{lag[0]:8.1f}{lag[1]:8.1f}{lag[2]:8.1f}{lag[3]:9.1f}{report.seen['cpu_share']:9.0%}"
            f"{report.seen['over_50_ms']:12}  {1000 * cpu:.0f} ms CPU ({1000 * wall:.0f} ms): {name}"
        )
        idle = [
            1000 * report.idle[min(len(report.idle) - 1, int(len(report.idle) * at))] for at in (0.5, 0.95, 0.99, 1)
        ]
        print(f"{'  this machine':18}{idle[0]:8.1f}{idle[1]:8.1f}{idle[2]:8.1f}{idle[3]:9.1f}")
    busy = reports[-1]
    print(f"asked {busy.asked}, answered {busy.answered}, lost {busy.asked - busy.answered}; triggers left over {left}")
    if options.profile:
        _print_profile(busy)
    lag_held = busy.seen["lag"]["0.95"] < P95_SECONDS
    callback_held = busy.longest[0] < CALLBACK_SECONDS
    held = {"lag": lag_held, "callback": callback_held, "lost": busy.asked == busy.answered}
    print(f"p95 under 50 ms: {_word(lag_held)}; no callback over 50 ms CPU: {_word(callback_held)}")
    trouble = [line for line in log.splitlines() if "synchronous" in line or "Traceback" in line or "[!!]" in line]
    print(*trouble[:10], sep="\n")
    rows = [{"name": r.name, **r.seen, "idle_p95": r.idle[int(len(r.idle) * 0.95)], "asked": r.asked,
             "answered": r.answered} for r in reports]  # fmt: skip
    return {"evennia": version("evennia"), "options": vars(options), "windows": rows, "left": left, "held": held}


def _print_profile(report: Report) -> None:
    """What took most CPU in all, and what was seen at work in what took long."""
    seconds = report.seen["seconds"]
    print(*(f"  {cpu / seconds:6.1%} CPU  {name}" for name, cpu in report.seen["most"]), sep="\n")
    print(f"longest collection of garbage: {1000 * report.seen['longest_collection']:.0f} ms; memory "
          f"{report.seen['memory_kb'] // 1024} MB")  # fmt: skip
    print("longest:", *(f"  {1000 * c:.0f} ms CPU {1000 * w:.0f} ms {n}" for c, w, n in report.seen["long"]), sep="\n")
    print(
        "longest waits:",
        *(f"  {1000 * c:.0f} ms CPU {1000 * w:.0f} ms {n}" for c, w, n in report.seen["waits"]),
        sep="\n",
    )
    print("seen:", *(f"  {times:4} {stack}" for stack, times in report.seen["stacks"][:20]), sep="\n")


def _word(held: bool) -> str:
    return "held" if held else "MISSED"
