"""What a process believes of its leases, over histories in which commits stay unanswered: never more than is so.

A model follows what the server committed, and what was told as done. After each step the leases must agree with both:
who believes that they hold a lease has renewed it lately, and who was told so believes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from typing import Any

import psycopg
import pytest

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.sharing.leases import ACT_SECONDS, HeldLeases
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.writer import PostgresWriter
from mud_assistant.assistant.journal.store import Job, Queue
from tests.assistant.journal.postgres.test_doubt import VirtualClock

ASSISTANTS = ("sage", "tom", "ida")
STEPS = 40
#: How often nobody answers after a line was cut: at once, after a while, later than a lease is good for, and never.
REFUSALS = (0, 0, 3, 6, 50)
STEAL = "UPDATE leases SET holder = 'another', token = token + 1 WHERE assistant = %s"


class GivenUp(Exception):
    """A work that raises, as a bug does."""


class Line:
    """Connects to a server. The next commit may be cut, before it is done or after."""

    def __init__(self, url: str, on_commit: Callable[[], None]) -> None:
        self._url = url
        self._on_commit = on_commit
        self.cuts = ""
        self.refuses = self.refuses_then = 0

    def connect(self) -> PostgresDatabase:
        if self.refuses:
            self.refuses -= 1
            raise psycopg.OperationalError("nobody answers")
        line = self

        class Cut(PostgresDatabase):
            def run(self, sql: str) -> None:
                cut, line.cuts = (line.cuts, "") if sql == "COMMIT" else ("", line.cuts)
                if cut != "before":
                    super().run(sql)
                    if sql == "COMMIT":
                        line._on_commit()
                if cut:
                    line.refuses = line.refuses_then
                    self.close()
                    raise psycopg.OperationalError("the line was cut")

        return Cut(connect(self._url).connection)


class History:
    """One process over a while, and what is true of its leases."""

    def __init__(self, url: str, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311
        self.clock = VirtualClock()
        self.line = Line(url, self._committed)
        self.leases = HeldLeases(JournalProcess("here"), self.clock.now)
        self.writer = PostgresWriter(self.line.connect, "there", self.leases, self.clock, lambda jobs: None)
        self.rival = psycopg.connect(url, autocommit=True)
        #: When the last renewal that was committed had been sent, None where the lease is not ours.
        self.so: dict[str, float | None] = dict.fromkeys(ASSISTANTS)
        #: The same as far as it was told; None where it was not, or may be so no more.
        self.told: dict[str, float | None] = dict.fromkeys(ASSISTANTS)
        #: Those that were told to be taken.
        self.held: set[str] = set()
        self.anew = float("-inf")
        #: What the transaction under way does: when each renewal is sent, and None for a lease that is given back.
        self._doing: dict[str, float | None] = {}
        #: What the last commit did.
        self._done: dict[str, float | None] = {}
        self.steps: list[str] = []
        self.writer.open()

    def close(self) -> None:
        self.line.refuses = 0
        self.writer.close()
        self.rival.close()

    def step(self) -> None:
        """One thing that happens, and what must hold then."""
        name = self.chance.choice(
            ("take", "take", "renew", "renew", "release", "steal", "wait", "end", "cut", "raise", "anew")
        )
        one = self.chance.choice(ASSISTANTS)
        self.steps.append(f"{name} {one}")
        match name:
            case "take":
                self._do(self._take(one), taken={one})
            case "renew":
                self._do(self._renew)
            case "release":
                self.held.discard(one)
                self.told[one] = None
                self._do(self._release(one))
            case "raise":
                self._do(self._take(one, raises=True), self._renew)
            case "steal":
                self.rival.execute(STEAL, (one,))
                self.told[one] = None  # it is ours no more, and is not known to be
            case "wait":
                self.clock.sleep(self.chance.uniform(0.5, ACT_SECONDS))
            case "end" if (sent := self.so[one]) is not None:  # to the moment at which it may act no more
                self.clock.time = max(self.clock.time, sent + ACT_SECONDS)
            case "anew":
                self.leases.begin_anew()
                self.anew = self.clock.now()
            case "cut":
                self.line.cuts = self.chance.choice(("before", "after"))
                self.line.refuses_then = self.chance.choice(REFUSALS)
        self.check()

    def check(self) -> None:
        now = self.clock.now()
        for one in ASSISTANTS:
            so, told, believes = self.so[one], self.told[one], not self.leases.has_expired(one)
            if believes:
                assert so is not None, f"{one} is not ours: {self.steps}"
                assert now - so < ACT_SECONDS, f"{one} was renewed too long ago: {self.steps}"
                assert so >= self.anew, f"{one} may have been taken meanwhile: {self.steps}"
            elif told is not None:
                assert now - told >= ACT_SECONDS or told < self.anew, f"{one} was told to be ours: {self.steps}"

    def _do(self, *works: Callable[[Database], Any], taken: Collection[str] = ()) -> None:
        """Let the writer do these works in one transaction, and note what is told: with them, these are `taken`."""

        def first(db: Database) -> None:
            self._doing = {}  # each attempt begins with it
            works[0](db)

        queue, jobs = Queue(), [Job(work, writes=True) for work in (first, *works[1:])]
        for job in jobs:
            job.waiting.addErrback(lambda _: None)
            queue.put(job)
        queue.close()
        self.writer.work_off(queue)
        if self.line.refuses:  # it gave up; from now on the server answers again
            self.line.refuses = 0
        if any(job.error is None for job in jobs):
            self.held = {one for one in self.held.union(taken) if self.so[one] is not None}
            self.told |= {one: sent for one, sent in self._done.items() if one in self.held}

    def _take(self, one: str, *, raises: bool = False) -> Callable[[Database], Any]:
        def work(db: Database) -> None:
            self.leases.take(db, one, 0.0, by_force=True)
            if raises:
                raise GivenUp
            self._doing[one] = self.clock.now()

        return work

    def _renew(self, db: Database) -> None:
        sent = self.clock.now()
        self.leases.renew(db)
        ours = db.execute("SELECT assistant FROM leases WHERE holder = ?", (self.leases.process.id,)).fetchall()
        self._doing |= dict.fromkeys(ASSISTANTS)
        self._doing |= {one: sent for (one,) in ours if self.so[one] is not None or self._doing.get(one) is not None}

    def _release(self, one: str) -> Callable[[Database], Any]:
        def work(db: Database) -> None:
            self.leases.release(db, one)
            self._doing[one] = None

        return work

    def _committed(self) -> None:
        """What was under way is so from now on."""
        self.so |= self._doing
        self._done = self._doing


@pytest.mark.parametrize("seed", range(12))
def test_a_process_never_believes_more_than_is_so_and_always_what_it_was_told(postgres_url: str, seed: int) -> None:
    history = History(postgres_url, seed)
    try:
        for _ in range(STEPS):
            history.step()
    finally:
        history.close()
