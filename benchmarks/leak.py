"""What is left after thousands of ticks: memory, descriptors, delayed calls, threads."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from benchmarks.canned import QUESTION
from benchmarks.children import stub
from benchmarks.figures import Figure
from benchmarks.held import Held, grown, held
from benchmarks.village import Tenant, Village

ASSISTANTS = 10
#: The model takes long enough for everybody to have a connection of his own from the beginning.
SLOW = "/whole/call/wait=20/v1"


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
    memory = (after.bytes - before.bytes) / 2**20
    note = f"{before.bytes / 2**20:.1f} MB after {warm:,} ticks"
    return [
        Figure("small", f"memory after {ticks:,} more ticks", memory, "MB", 5.0 * ticks / 5000, note=note),
        *grown("small", before, after),
    ]


async def _after(reactor: Any, village: Village, ticks: int) -> Held:
    """What is held when so many more ticks are over and nothing goes on."""
    for _ in range(ticks // ASSISTANTS):
        asked = [Deferred.fromCoroutine(server.ask(QUESTION)) for server in village.houses]
        await gatherResults(asked, consumeErrors=True)
        for server in village.houses:
            server.heard.clear()
    await deferLater(reactor, 0.3)
    return held(reactor)
