"""A commit whose answer was lost, and the jobs that come after it."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import JournalUnwritable
from mud_assistant.assistant.journal.postgres.clock import ThreadClock
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.sharing.leases import HeldLeases
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.writer import PostgresWriter
from mud_assistant.assistant.journal.store import Job, Queue


class VirtualClock(ThreadClock):
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class CutLine:
    """Connects to a server. Once it `cuts`, the line breaks after the next commit, and `refuses` that many others."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.cuts = False
        self.refuses = 0

    def connect(self) -> PostgresDatabase:
        if self.refuses:
            self.refuses -= 1
            raise psycopg.OperationalError("nobody answers")
        made, line = connect(self._url), self

        class Cut(PostgresDatabase):
            def run(self, sql: str) -> None:
                super().run(sql)
                if "COMMIT" in sql and line.cuts:
                    line.cuts = False
                    self.close()
                    raise psycopg.OperationalError("the line was cut")

        return Cut(made.connection)


def put(name: str) -> Callable[[Database], str]:
    def work(db: Database) -> str:
        db.execute("INSERT INTO meta VALUES (?, 'x')", (name,))
        return name

    return work


def do(writer: PostgresWriter, name: str) -> Job:
    queue, job = Queue(), Job(put(name), writes=True)
    job.waiting.addErrback(lambda _: None)
    queue.put(job)
    queue.close()
    writer.work_off(queue)
    return job


def test_a_doubt_that_outlived_its_jobs_is_not_about_those_after_them(postgres_url: str) -> None:
    clock, line = VirtualClock(), CutLine(postgres_url)
    writer = PostgresWriter(line.connect, "there", HeldLeases(JournalProcess("a"), clock.now), clock, lambda jobs: None)
    writer.open()
    line.cuts = True
    first = do(writer, "first")
    assert (first.value, first.error) == ("first", None), "the row of the process tells that it was committed"
    line.cuts, line.refuses = True, 50
    assert isinstance(do(writer, "second").error, JournalUnwritable)
    line.refuses = 0
    third = do(writer, "third")
    assert (third.value, third.error) == ("third", None)
    writer.close()
    with psycopg.connect(postgres_url) as db:
        rows = db.execute("SELECT key FROM meta WHERE value = 'x' ORDER BY key DESC").fetchall()
    assert rows == [("third",), ("second",), ("first",)]
