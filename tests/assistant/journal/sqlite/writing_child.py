"""A process that writes a journal and says on standard output what it was told is on disk, one line each.

`python writing_child.py write PATH COUNT` writes that many events. `python writing_child.py kill PATH KILLS SEED` lets
children write to one file, kills each with SIGKILL at a random moment, and prints how many acknowledged things are
missing from the file, and how many there were.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, DeferredList

from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import OpeningRefused, ReadOnly, Recovered, Store, StoredJournal
from tests.assistant.journal.keeping import SAY, TRIGGER, event, executed, noon, response

#: How many producers write at the same time.
PRODUCERS = 10
#: How to find each acknowledged thing in the file.
_QUERIES = {
    "event": "SELECT 1 FROM events WHERE id = ?1",
    "run": "SELECT 1 FROM runs WHERE seq = ?1",
    "response": "SELECT 1 FROM responses WHERE run = ?1",
    "intent": "SELECT 1 FROM intents WHERE run = ?1",
    "result": "SELECT 1 FROM results WHERE run = ?1",
    "closed": "SELECT 1 FROM runs WHERE seq = ?1 AND outcome IS NOT NULL",
}


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def take_in(journal: StoredJournal, numbers: Iterator[int]) -> None:
    for number in numbers:
        await journal.accept(event(number), TRIGGER)
        say("event", f"event-{number}")


async def live(journal: StoredJournal) -> None:
    """Run after run, as the loop writes them."""
    while True:
        run = await journal.open_run((await journal.pending())[:3])
        number = run.removeprefix("run-")
        say("run", number)
        await journal.record_response(run, 1, response(SAY))
        say("response", number)
        await journal.record_intent(run, 1, 0, SAY, effect=True)
        say("intent", number)
        await journal.record_result(run, 1, 0, executed(SAY))
        say("result", number)
        await journal.close_run(run, Answered(("say",)))
        say("closed", number)


async def write(path: Path, first: int, count: int, reactor: Any, *, runs: bool) -> None:
    store = Store(path, reactor, noon)
    opening = await store.open()
    assert not isinstance(opening, Recovered | ReadOnly | OpeningRefused), opening.sentence
    journal = StoredJournal(store, "sage", 10**6)
    await journal.start()
    numbers = iter(range(first, first + count))
    works = [Deferred.fromCoroutine(take_in(journal, numbers)) for _ in range(PRODUCERS)]
    if runs:
        works.append(Deferred.fromCoroutine(live(journal)))
    await DeferredList(works, fireOnOneErrback=True)
    await store.close()


def main_write(path: Path, first: int, count: int, *, runs: bool) -> None:
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (this process's composition root)
    from twisted.internet.task import react  # noqa: PLC0415

    react(lambda clock: Deferred.fromCoroutine(write(path, first, count, clock, runs=runs)), (), reactor)


def kill_one(work: Callable[[], object], seconds: float) -> list[list[str]]:
    """What a child that works said, in words, before it was killed. It lives so many seconds after its first line."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        work()
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = [pipe.readline()]  # the first one: it is at work
        time.sleep(seconds)  # noqa: TID251  (a kill comes at any time)
        os.kill(child, signal.SIGKILL)
        lines += pipe.readlines()
    os.waitpid(child, 0)
    return [line.split() for line in lines if line.endswith("\n")]


def main_kill(path: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    told: list[list[str]] = []
    for kill in range(kills):
        work = partial(main_write, path, kill * 10**6, 10**9, runs=True)
        told += kill_one(work, chance.uniform(0, 0.08))
    with closing(sqlite3.connect(path)) as db:
        lost = [line for line in told if not db.execute(_QUERIES[line[0]], (line[1],)).fetchone()]
        whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    say(len(lost), len(told), whole)


if __name__ == "__main__":
    where, number = Path(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] == "kill":
        main_kill(where, number, int(sys.argv[4]))
    else:
        main_write(where, 0, number, runs=False)
