"""What is left after thousands of ticks: memory, descriptors, delayed calls, threads."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from benchmarks.canned import QUESTION
from benchmarks.children import stub
from benchmarks.figures import Figure
from benchmarks.memory_child import resident
from benchmarks.village import Tenant, Village

ASSISTANTS = 10
#: The model takes long enough for everybody to have a connection of his own from the beginning.
SLOW = "/whole/call/wait=20/v1"


@dataclass(frozen=True, slots=True)
class Held:
    """What the process holds at one moment. `bytes` is resident memory."""

    bytes: float
    descriptors: int
    calls: int
    threads: int


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """After a warm-up in which every window fills, and after the ticks."""
    warm, ticks = (1500, 5000) if full else (600, 1200)
    with tempfile.TemporaryDirectory() as folder:
        async with stub(reactor) as (url,):
            village = Village(reactor, ASSISTANTS, journal=Path(folder) / "journal")
            assert village.file is not None
            await village.file.open()
            for number in range(ASSISTANTS):
                await village.settle(number, Tenant(f"{url}{SLOW}", {"context_tokens": 3000}))
            before = await _after(reactor, village, warm)
            after = await _after(reactor, village, ticks)
            await village.close()
    grown = (after.bytes - before.bytes) / 2**20
    note = f"{before.bytes / 2**20:.1f} MB after {warm:,} ticks"
    return [
        Figure("small", f"memory after {ticks:,} more ticks", grown, "MB", 5.0 * ticks / 5000, note=note),
        Figure("small", "descriptors more", after.descriptors - before.descriptors, "", 0, note=f"{after.descriptors}"),
        Figure("small", "delayed calls more", after.calls - before.calls, "", 0, note=f"{after.calls}"),
        Figure("small", "threads more", after.threads - before.threads, "", 0, note=f"{after.threads}"),
    ]


async def _after(reactor: Any, village: Village, ticks: int) -> Held:
    """What is held when so many more ticks are over and nothing goes on."""
    for _ in range(ticks // ASSISTANTS):
        asked = [Deferred.fromCoroutine(server.ask(QUESTION)) for server in village.houses]
        await gatherResults(asked, consumeErrors=True)
        for server in village.houses:
            server.heard.clear()
    await deferLater(reactor, 0.3)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))  # noqa: ASYNC240  (no disk is asked)
    return Held(resident(), descriptors, len(reactor.getDelayedCalls()), threading.active_count())
