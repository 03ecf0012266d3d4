"""How fast events are accepted on disk, by 1, 50 and 200 assistants at the same time, and how long each one waits.

Then what a start, recovery after a kill, a turn and forgetting a player take with 100 to 100,000 settled events.

    python benchmarks/journal.py [FOLDER] [SECONDS]

Every acceptance is its own write, acknowledged after its fsync; each assistant deals with its inbox every 100 events.
The folder must be on the disk in question: a RAM disk has no fsync worth measuring.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import react

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.journal import Accepted, Store, StoredJournal
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, Usage, assistant
from mud_assistant.tools import Principal

SPEECH = Attention(Classification.TRIGGER, 8)
WORDS = "Has anybody seen the old map that hung over the fireplace? It was here yesterday. " * 2
ANNA = Principal("7", "Anna")
BEN = Principal("8", "Ben")
MANY = 100_000
SIZES = (100, 10_000, MANY)
TURNS = 200
#: Events that a kill leaves in the inbox, and how many of them its open run is about.
LEFT, IN_RUN = 500, 10


async def produce(journal: StoredJournal, until: float, waits: list[float]) -> None:
    """Accept events one after the other; each wait in seconds goes to `waits`."""
    count = 0
    while (began := time.perf_counter()) < until:
        count += 1
        await journal.accept(Said(id=str(count), at=began, who=ANNA, text=WORDS), SPEECH)
        waits.append(time.perf_counter() - began)
        if not count % 100:
            await journal.close_run(await journal.open_run(await journal.pending()), NothingToDo())


@dataclass(frozen=True, slots=True)
class Pace:
    """One line of the first table: events per second, and the wait of one event in milliseconds."""

    per_second: float
    p50: float
    p99: float
    longest: float
    commits_per_second: float
    busy: float

    @property
    def told(self) -> str:
        """All of it in words."""
        pace = f"{self.per_second:8,.0f} events/s  {self.commits_per_second:6,.0f} commits/s"
        wait = f"ack p50 {self.p50:6.1f} ms  p99 {self.p99:6.1f} ms  max {self.longest:6.1f} ms"
        return f"{pace}  {wait}  {self.busy:4.0%} of a core"


@dataclass(frozen=True, slots=True)
class Size:
    """One line of the second table, in seconds: a start, recovery after a kill, a turn, forgetting a player."""

    start: float
    recovery: float
    turn: float
    forgetting: float
    forgotten: int
    megabytes: float

    @property
    def told(self) -> str:
        """All of it in words."""
        began = f"start {self.start:5.2f} s  recovery {self.recovery:5.2f} s  turn {1000 * self.turn:5.1f} ms"
        forgot = f"forgetting {self.forgotten:6,} events {self.forgetting:5.2f} s"
        return f"{began}  {forgot}  file {self.megabytes:5.1f} MiB"


async def measure(reactor: Any, folder: Path, producers: int, seconds: float) -> Pace:
    """How fast events are accepted."""
    store = Store(folder / f"journal-{producers}", reactor, time.time)  # noqa: TID251  (composition root)
    await store.open()
    journals = [StoredJournal(store, f"assistant-{number}") for number in range(producers)]
    await DeferredList([Deferred.fromCoroutine(journal.start()) for journal in journals])
    commits, cpu, began, waits = store.commits, time.process_time(), time.perf_counter(), list[float]()
    works = [Deferred.fromCoroutine(produce(journal, began + seconds, waits)) for journal in journals]
    await DeferredList(works, fireOnOneErrback=True)
    took = time.perf_counter() - began
    busy = (time.process_time() - cpu) / took
    waits.sort()
    p50, p99 = (1000 * waits[int(len(waits) * share)] for share in (0.5, 0.99))
    pace, written = len(waits) / took, (store.commits - commits) / took
    await store.close()
    return Pace(pace, p50, p99, 1000 * waits[-1], written, busy)


async def opened(path: Path, reactor: Any) -> tuple[Store, StoredJournal, float]:
    """A started journal, and the seconds that took."""
    store = Store(path, reactor, time.time)  # noqa: TID251  (composition root)
    began = time.perf_counter()
    await store.open()
    journal = StoredJournal(store, "sage", MANY)
    await journal.start()
    return store, journal, time.perf_counter() - began


async def finish(journal: StoredJournal, events: Sequence[Accepted]) -> None:
    """One run over these."""
    await journal.close_run(await journal.open_run(events), NothingToDo())


async def turn(journal: StoredJournal, count: int) -> float:
    """Seconds of an average turn: an event is taken, and a run over it opened and closed; three fsyncs."""
    began = time.perf_counter()
    for number in range(count):
        await journal.accept(Said(id=f"new-{number}", at=began, who=ANNA, text=WORDS), SPEECH)
        await finish(journal, await journal.pending())
    return (time.perf_counter() - began) / count


async def settle(journal: StoredJournal, count: int) -> None:
    """So many events, a tenth of them said by Anna, in runs of ten that are over."""
    for first in range(0, count, 1000):
        events = [
            Said(id=str(number), at=1.0, who=BEN if number % 10 else ANNA, text=WORDS)
            for number in range(first, min(first + 1000, count))
        ]
        await DeferredList([Deferred.fromCoroutine(journal.accept(event, SPEECH)) for event in events])
        waiting = await journal.pending()
        over = [finish(journal, waiting[at : at + 10]) for at in range(0, len(waiting), 10)]
        await DeferredList([Deferred.fromCoroutine(run) for run in over])


async def recovery(journal: StoredJournal, path: Path, reactor: Any) -> float:
    """Seconds from opening what a kill would leave now to knowing the interrupted run and the inbox.

    That is a copy of the files as they are, with the log of writes that nobody had the time to fold in.
    """
    left = [Said(id=f"left-{number}", at=1.0, who=BEN, text=WORDS) for number in range(LEFT)]
    await DeferredList([Deferred.fromCoroutine(journal.accept(event, SPEECH)) for event in left])
    run = await journal.open_run((await journal.pending())[:IN_RUN])
    call = ToolCall("1", "say", {"text": WORDS})
    answer = LLMResponse(assistant(call), FinishReason.TOOL_CALLS, Usage(1800, 120), "local", "stub")
    await journal.record_response(run, 1, answer)
    await journal.record_intent(run, 1, 0, call, effect=True)
    killed = path.with_name(f"{path.name}-killed")
    for name in ("", "-wal"):
        shutil.copyfile(f"{path}{name}", f"{killed}{name}")
    began = time.perf_counter()
    store, again, _ = await opened(killed, reactor)
    interrupted, inbox = await again.interrupted(), await again.pending()
    took = time.perf_counter() - began
    assert interrupted is not None
    assert (interrupted.id, len(interrupted.events), len(inbox)) == (run, IN_RUN, LEFT)
    await store.close()
    await finish(journal, await journal.pending())
    return took


async def measure_size(reactor: Any, folder: Path, settled: int) -> Size:
    """What a start, recovery, a turn and forgetting take."""
    path = folder / f"settled-{settled}"
    store, journal, _ = await opened(path, reactor)
    await settle(journal, settled)
    await store.close()
    store, journal, start = await opened(path, reactor)
    recovered = await recovery(journal, path, reactor)
    average = await turn(journal, TURNS)
    began = time.perf_counter()
    forgotten = await journal.forget_player(ANNA.id)
    forgetting = time.perf_counter() - began
    size = path.stat().st_size / 2**20
    await store.close()
    return Size(start, recovered, average, forgetting, forgotten.events, size)


async def main(reactor: Any) -> None:
    """The table."""
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0  # noqa: PLR2004
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for producers in (1, 50, 200):
            pace = await measure(reactor, Path(folder), producers, seconds)
            print(f"{producers:5} producers: {pace.told}")
        for settled in SIZES:
            size = await measure_size(reactor, Path(folder), settled)
            print(f"{settled:7,} settled events: {size.told}")


if __name__ == "__main__":
    react(lambda reactor: Deferred.fromCoroutine(main(reactor)), ())
