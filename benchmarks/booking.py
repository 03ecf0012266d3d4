"""Goal 6: what the journal and the accounts cost a step on the reactor's thread, and what they cost the writer's.

Two villages that do the same: one with a journal on disk and a ledger whose spending is kept there, as a household has
it, one with a journal in memory and no ledger. They take turns question by question, so that both have equally long
histories at every moment and share every slow second of the machine; a round is the sum over many turns.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred, gatherResults

from benchmarks.canned import QUESTION
from benchmarks.children import stub
from benchmarks.figures import Figure, is_noisy, ratio
from benchmarks.village import Tenant, Village
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.runtime.storage import JournalFile, KeptJournal
from mud_assistant.assistant.service.usage_store import UsageStore
from mud_assistant.assistant.starting import settle_heap
from mud_assistant.resilience import Ledger, Pipeline

CALLERS = 8
#: Steps of a question: it takes two model calls.
STEPS = 2
#: Questions to everybody before anything counts, and in each round.
WARM_UP, TURNS = 4, 12


class Life:
    """Assistants that live on from question to question; metered on the reactor's thread alone."""

    def __init__(self, village: Village) -> None:
        self._village = village
        self.cpu = 0.0

    async def turn(self) -> None:
        """A question to all of them, and what it leaves to be written down."""
        began = time.thread_time()
        asked = [Deferred.fromCoroutine(server.ask(QUESTION)) for server in self._village.houses]
        await gatherResults(asked, consumeErrors=True)
        await self._village.process.pipeline.write_ledger()
        self.cpu += time.thread_time() - began


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """A journal on disk and a ledger, against memory and none."""
    before: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with stub(reactor) as (url,):
            written, forgot = (
                await keeping(reactor, on_disk(reactor, Path(folder))),
                Village(reactor, CALLERS, ledger=False),
            )
            writer = _cpu_of("journal")
            rounds = await side_by_side(url, written, forgot, 25 if full else 10, lambda: before.append(writer()))
            by_writer = 1000 * (writer() - before[0]) / (len(rounds) * TURNS * CALLERS * STEPS)
            for village in (written, forgot):
                await village.close()
    costs = [one - other for one, other in rounds]
    one, other = (statistics.median(each) for each in zip(*rounds, strict=True))
    note = f"a step: {one:.3g} ms with, {other:.3g} ms without"
    return [
        ratio("6", "journal and accounts per step", costs, 0.15, unit="ms", note=note),
        Figure("", "journal and accounts per step, the writer's thread", by_writer, "ms"),
    ]


async def side_by_side(
    url: str, one: Village, other: Village, count: int, on_warm: Callable[[], object] = lambda: None
) -> list[tuple[float, float]]:
    """CPU milliseconds of a step of each, round by round: twice `count` rounds where their difference is noisy."""
    for village in (one, other):
        for number in range(CALLERS):
            await village.settle(number, Tenant(f"{url}/whole/call/v1"))
    lives = Life(one), Life(other)
    await _round(lives, WARM_UP)
    settle_heap()
    on_warm()
    rounds = [await _round(lives, TURNS) for _ in range(count)]
    if is_noisy([mine - theirs for mine, theirs in rounds]):
        rounds += [await _round(lives, TURNS) for _ in range(count)]
    return rounds


def on_disk(reactor: Any, folder: Path) -> JournalFile:
    """A journal in a file, not yet open."""
    path = folder / "journal"
    return JournalFile(path, reactor, time.time, JournalConfig(file=str(path)))  # noqa: TID251  (composition root)


async def keeping(reactor: Any, file: KeptJournal) -> Village:
    """Assistants with this journal, which is opened, and what they spend is kept there as well."""
    village = Village(reactor, CALLERS)
    village.file = file
    await file.open()
    ledger = Ledger(reactor.seconds, time.time)  # noqa: TID251  (composition root)
    spending, shared = UsageStore(ledger, file.usage), file.shared_ledger
    keep = spending.keep if shared is None else None
    pipeline = Pipeline(reactor, Random(1), ledger, keep, shared)  # noqa: S311  (jitter)
    village.process = replace(village.process, pipeline=pipeline)
    await (spending.restore() if shared is None else pipeline.read_ledger())
    return village


async def _round(lives: tuple[Life, Life], turns: int) -> tuple[float, float]:
    """CPU milliseconds of a step of each."""
    for life in lives:
        life.cpu = 0.0
    order = lives
    for _ in range(turns):
        for life in order:
            await life.turn()
        order = order[::-1]
    one, other = (1000 * life.cpu / (turns * CALLERS * STEPS) for life in lives)
    return one, other


def _cpu_of(name: str) -> Callable[[], float]:
    """Tells the CPU seconds that the thread of this name has used."""
    [thread] = [thread for thread in threading.enumerate() if thread.name == name]
    assert thread.ident is not None
    clock = time.pthread_getcpuclockid(thread.ident)
    return lambda: time.clock_gettime(clock)
