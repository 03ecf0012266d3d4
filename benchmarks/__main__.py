"""The benchmark: every section in turn, one table, and lines of JSON for comparison over time.

    python -m benchmarks [--quick | --full] [--only SECTION ...] [--json FILE] [--profile FOLDER]

Leaves with 1 when a goal was missed, with 3 when a figure was too noisy to judge, and none was missed.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.children import Child, ChildFailed
from benchmarks.figures import Figure, table, versions, write_json

SECTIONS = ("calls", "steps", "crowd", "tls", "prompts", "booking", "memory", "startup", "latency", "load", "leak")
#: Those that only the full set has.
FULL_SECTIONS = ("journals",)
MISSED, TOO_NOISY = 1, 3


def asked() -> argparse.Namespace:
    """The options given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what design.md promises.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="under 3 minutes; the default")
    size.add_argument("--full", action="store_true", help="everything, and longer")
    parser.add_argument("--only", nargs="+", choices=(*SECTIONS, *FULL_SECTIONS), help="only these sections")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one line of JSON for each figure")
    parser.add_argument("--profile", type=Path, metavar="FOLDER", help="write profiles as text there instead")
    return parser.parse_args()


async def measured(reactor: Any, section: str, *, full: bool) -> list[Figure]:
    """The figures of a section, measured in a process of its own; one that says why when that failed."""
    print(f"{section} ...", end=" ", file=sys.stderr, flush=True)
    began = time.perf_counter()
    child = Child(reactor, "benchmarks.section", section, "full" if full else "quick")
    try:
        figures = [Figure(**one) for one in await child.answer()]
    except ChildFailed as failed:
        print(failed, file=sys.stderr)
        figures = [Figure("", f"section {section}", None, note="FAILED, see standard error")]
    await child.close()
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    return figures


async def main(reactor: Any) -> None:
    """Measure and print."""
    options = asked()
    if options.profile is not None:
        await Child(reactor, "benchmarks.profiles", str(options.profile)).gone
        return
    began = time.perf_counter()
    sections = options.only or (*SECTIONS, *(FULL_SECTIONS if options.full else ()))
    figures = [one for section in sections for one in await measured(reactor, section, full=options.full)]
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(table(figures))
    print(
        f"\n{seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU; "
        + ", ".join(f"{name} {number}" for name, number in versions().items())
    )
    if options.json is not None:
        write_json(options.json, figures, seconds)
    verdicts = {one.verdict for one in figures}
    failed = any("FAILED" in one.note for one in figures)
    if failed or "missed" in verdicts:
        raise SystemExit(MISSED)
    if "too noisy" in verdicts:
        raise SystemExit(TOO_NOISY)


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
