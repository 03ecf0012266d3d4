"""Goal 13: what importing the core costs over bare Twisted, and how long assistants take to be there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.children import ROOT
from benchmarks.figures import Figure, ratio
from benchmarks.village import ENDLESS, Tenant, Village, past

_BARE = "import twisted.internet.reactor, twisted.web.client"
_OURS = "mud_assistant.assistant"
IMPORTS = {
    "bare": _BARE,
    "core": f"{_BARE}; import {_OURS}.runtime.build, {_OURS}.runtime.storage, mud_assistant.tools.verbs",
    # What is put off until an assistant needs it is paid for here; the embedded world is in it as well.
    "ready": f"{_BARE}; import {_OURS}.runtime.build, benchmarks.ready; benchmarks.ready.one_assistant()",
    "llm alone": f"{_BARE}; import mud_assistant.llm, mud_assistant.llm.providers",
}
_TOLD = "; import json, sys, time; print(json.dumps([time.process_time(), len(sys.modules)]))"
MANY = 200


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Imports in fresh processes by turns; then assistants made and started in this one."""
    each: dict[str, list[tuple[float, int]]] = {name: [] for name in IMPORTS}
    with TemporaryDirectory() as folder:
        for code in IMPORTS.values():
            _imported(code, Path(folder))
        for number in range(15 if full else 5):
            for name in list(IMPORTS)[:: -1 if number % 2 else 1]:
                each[name].append(_imported(IMPORTS[name], Path(folder)))
    ratios = {
        name: [mine[0] / bare[0] for mine, bare in zip(each[name], each["bare"], strict=True)] for name in IMPORTS
    }
    notes = {name: f"{1000 * min(one[0] for one in told):.0f} ms, {told[0][1]} modules" for name, told in each.items()}
    note = f"{notes['core']}; bare {notes['bare']}"
    return [
        ratio("13", "import of the core / bare Twisted and web client", ratios["core"], 1.25, note=note),
        ratio("", "the same, and one assistant made ready / the same", ratios["ready"], note=notes["ready"]),
        ratio("", "import of llm alone / the same", ratios["llm alone"], note=notes["llm alone"]),
        *[await _started(reactor, count) for count in (1, MANY)],
    ]


def _imported(code: str, compiled: Path) -> tuple[float, int]:
    """CPU seconds of a fresh process, and the modules it has.

    Byte code is kept in `compiled`, as an installation keeps it: an environment that forbids to write any would have
    our modules compiled anew each time, but not those of installed packages.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(compiled)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code + _TOLD]
    told = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    seconds, modules = json.loads(told.stdout)
    return seconds, modules


async def _started(reactor: Any, count: int) -> Figure:
    village = Village(reactor, count)
    began = time.process_time()
    for number in range(count):
        await village.settle(number, Tenant("http://127.0.0.1:9/v1", ENDLESS, stream=past(20)))
    seconds = time.process_time() - began
    await village.close()
    return Figure("", f"making and starting an assistant, {count} in all", 1000 * seconds / count, "ms CPU")
