"""Goal 6: what the journal and the accounts cost a step on the reactor's thread; the writer's thread is not counted."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from benchmarks.canned import QUESTION
from benchmarks.children import stub
from benchmarks.figures import Figure
from benchmarks.paired import Turn, compare
from benchmarks.village import Tenant, Village

CALLERS = 8
#: Steps of a question: it takes two model calls.
STEPS = 2


class Life:
    """Assistants that live on from question to question; metered on the reactor's thread alone."""

    def __init__(self, village: Village) -> None:
        self._village = village

    async def turn(self, seconds: float) -> Turn:
        """Questions to all of them."""
        used, done = 0.0, 0
        while used < seconds:
            began = time.thread_time()
            asked = [Deferred.fromCoroutine(house.ask(QUESTION)) for house in self._village.houses]
            await gatherResults(asked, consumeErrors=True)
            used += time.thread_time() - began
            done += len(asked)
        return Turn(used, done)

    async def close(self) -> None:
        """End everybody."""
        await self._village.close()


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """A journal on disk and a ledger, against memory and none."""
    with tempfile.TemporaryDirectory() as folder:
        async with stub(reactor) as (url,):
            written = Village(reactor, CALLERS, journal=Path(folder) / "journal")
            assert written.file is not None
            await written.file.open()
            forgot = Village(reactor, CALLERS, ledger=False)
            for village in (written, forgot):
                for number in range(CALLERS):
                    await village.settle(number, Tenant(f"{url}/whole/call/v1"))
            rounds = await compare({"written": Life(written), "not": Life(forgot)}, 25 if full else 10)
    costs = [(one - other) / STEPS for one, other in zip(rounds.each["written"], rounds.each["not"], strict=True)]
    low, middle, high = statistics.quantiles(costs, n=4)
    note = f"a question of {STEPS} steps: {rounds.middle('written'):.3g} ms with, {rounds.middle('not'):.3g} ms without"
    return [Figure("6", "journal and accounts per step", middle, "ms", 0.15, low, high, note)]
