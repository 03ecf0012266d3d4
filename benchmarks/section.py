"""One section of the benchmark, in a process of its own: `python -m benchmarks.section NAME quick|full`.

Its last line is its figures as JSON; whatever else it says goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react


async def main(reactor: Any) -> None:
    """Measure and tell."""
    name, size = sys.argv[1:]
    figures = await importlib.import_module(f"benchmarks.{name}").figures(reactor, full=size == "full")
    print(json.dumps([asdict(figure) for figure in figures]), flush=True)


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
