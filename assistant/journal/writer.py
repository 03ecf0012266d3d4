"""The writer's thread: takes what waits, does it in one transaction, commits once, and tells the reactor.

Each piece of work runs in a savepoint: one that raises is rolled back alone. Nothing is told before the commit that
covers it. Everything here but `Job` and `Queue.put` runs on that thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from twisted.internet.defer import Deferred

from assistant.journal.errors import (
    JournalError,
    JournalRefused,
    JournalUnreadable,
    JournalUnwritable,
    cause_of,
    is_damage,
    is_outage,
)
from assistant.journal.mark import Mark
from assistant.journal.opening import Opened, ReadOnly, Refused, open_file
from assistant.journal.schema import Schema

#: Pieces of work in one transaction, at most: their callers all go on in one turn of the reactor.
MAX_BATCH = 256
#: How long one transaction collects work: what came first is not kept waiting by a long row of reads.
MAX_BATCH_SECONDS = 0.02
#: How often, at most, a file that could not be written is opened anew.
RETRY_SECONDS = 5.0

#: How every sentence of a write that failed begins.
UNWRITABLE = "the journal could not be written"

Work = Callable[[sqlite3.Connection], Any]


@dataclass(slots=True, eq=False)
class Job:
    """One piece of work, who waits for it, and what it came to. One that is `alone` is done in no transaction."""

    work: Work
    writes: bool
    alone: bool = False
    waiting: Deferred[Any] = field(default_factory=Deferred)
    value: object = None
    error: BaseException | None = None

    def tell(self) -> None:
        """Let the caller go on. Only on the reactor's thread."""
        if self.error is None:
            self.waiting.callback(self.value)
        else:
            self.waiting.errback(self.error)


class Queue:
    """Jobs on their way to the writer, first come first served."""

    def __init__(self) -> None:
        #: None is the end.
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._is_over = False

    def __len__(self) -> int:
        """How many wait."""
        return self._jobs.qsize()

    def put(self, job: Job) -> None:
        """Add a job."""
        self._jobs.put(job)

    def close(self) -> None:
        """Let the writer end once it has done what waits. Nothing is put after it."""
        self._jobs.put(None)

    def take(self) -> list[Job]:
        """The next jobs, at least one; none when the queue is closed and empty. Blocks."""
        jobs: list[Job] = []
        while not self._is_over and (not jobs or (self._jobs.qsize() and len(jobs) < MAX_BATCH)):
            job = self._jobs.get()
            if job is None:
                self._is_over = True
            else:
                jobs.append(job)
        return jobs


class Writer:
    """Owns the connection. `tell` brings finished jobs to their callers; `wall` is seconds since 1970."""

    def __init__(self, schema: Schema, wall: Callable[[], float], tell: Callable[[Sequence[Job]], None]) -> None:
        self._schema = schema
        self._wall = wall
        self._tell = tell
        self._db: sqlite3.Connection | None = None
        self._mark: Mark | None = None
        self._tried_at = 0.0
        self.opened: Opened | None = None
        self.commits = 0
        #: Why the file could not be written or read lately, None since it was written again. Damage is for good.
        self.trouble: str | None = None
        self._is_damaged = False
        #: Whether something of the batch at hand met a trouble.
        self._met_trouble = False

    def open(self, opened: Opened, db: sqlite3.Connection | None) -> None:
        """Go on with this connection."""
        self.close()
        self._db, self.opened, self._tried_at = db, opened, self._wall()
        self._mark = Mark(opened.path)
        self.trouble = opened.sentence if isinstance(opened, ReadOnly) else None
        self._is_damaged = False

    def work_off(self, queue: Queue) -> None:
        """Do what comes until the queue is closed and empty."""
        while jobs := queue.take():
            rest: Sequence[Job] = jobs
            while rest:
                rest = self._batch(rest)

    def close(self) -> None:
        """Move the log into the file, and let go of it."""
        if self._db is None:
            return
        db, self._db = self._db, None
        with closing(db), suppress(sqlite3.Error):  # else it is done at the next start
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if self._mark is not None:
            self._mark.close()

    def _batch(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Do these jobs in one transaction and tell of them; those not begun, as it took long or was lost."""
        told, end, began = 0, len(jobs), self._wall()
        self._met_trouble = False
        unwritable: JournalError | None = None
        for at, job in enumerate(jobs):
            if job.alone and self._in_transaction():
                end = at
                break
            if job.writes and not self._in_transaction():
                self._told(jobs[told:at])  # reads before the first write need no commit
                told = at
                unwritable = unwritable or self._begin()
            if job.writes and unwritable is not None:
                self._fail([job], unwritable)
            elif self._run(job):
                self._fail(jobs[told : at + 1], _lost(job.error))
                self._told(jobs[told : at + 1])
                return jobs[at + 1 :]
            if self._wall() - began > MAX_BATCH_SECONDS:
                end = at + 1
                break
        if (error := self._commit()) is not None:
            self._fail(jobs[told:end], error)
        self._told(jobs[told:end])
        return jobs[end:]

    def _told(self, jobs: Sequence[Job]) -> None:
        """Tell those who wait for these jobs, if there are any: each telling wakes the reactor."""
        if jobs:
            self._tell(jobs)

    def _run(self, job: Job) -> bool:
        """Do one job; True when SQLite has given up the whole transaction because of it."""
        inside = self._in_transaction()
        try:
            job.value = self._done(job)
        except Exception as error:  # noqa: BLE001  (the border to any work; it goes to the caller)
            job.error = self._typed(error, writes=job.writes or job.alone)
        return inside and not self._in_transaction()

    def _done(self, job: Job) -> object:
        """What the job's work returns."""
        if job.alone:
            return job.work(self._connection())
        return self._saved(job.work) if job.writes else self._looked(job.work)

    def _saved(self, work: Work) -> object:
        """What the work returns; when it raises, nothing of it remains."""
        db = self._connection()
        db.execute("SAVEPOINT job")
        try:
            value = work(db)
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK TO job")
                db.execute("RELEASE job")
            raise
        db.execute("RELEASE job")
        return value

    def _looked(self, work: Work) -> object:
        """What the work returns; it cannot write."""
        db = self._connection()
        db.execute("PRAGMA query_only = ON")
        try:
            return work(db)
        finally:
            db.execute("PRAGMA query_only = OFF")

    def _begin(self) -> JournalError | None:
        """Begin a transaction; why not, when that fails."""
        try:
            if isinstance(self.opened, ReadOnly) and self._wall() - self._tried_at >= RETRY_SECONDS:
                path = self.opened.path
                self.close()
                db, opened = open_file(path, self._schema, self._wall())
                self.open(opened, db)
            if isinstance(self.opened, ReadOnly):
                return JournalUnwritable(self.opened.sentence)
            self._connection().execute("BEGIN IMMEDIATE")
        except (sqlite3.Error, JournalError) as error:
            return self._unwritable(error)
        return None

    def _commit(self) -> JournalError | None:
        """Commit what was begun; why not, when that fails, and then nothing of it remains."""
        if not self._in_transaction():
            return None
        number = 0
        try:
            if self._mark is not None:
                number = self._mark.count(self._connection())
            self._connection().execute("COMMIT")
        except sqlite3.Error as error:
            self._rollback()
            return self._unwritable(error)
        if self._mark is not None:
            self._mark.promise(number)
        self.commits += 1
        if not self._met_trouble and not self._is_damaged:
            self.trouble = None
        return None

    def _fail(self, jobs: Sequence[Job], error: JournalError) -> None:
        """Fail the jobs that had not failed by themselves, each with an error of its own."""
        self._meet(error)
        for job in jobs:
            if job.error is None:
                job.value, job.error = None, type(error)(*error.args)
                job.error.__cause__ = error.__cause__

    def _rollback(self) -> None:
        with suppress(sqlite3.Error):  # the next BEGIN says so
            if self._in_transaction():
                self._connection().execute("ROLLBACK")

    def _in_transaction(self) -> bool:
        return self._db is not None and self._db.in_transaction

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            refused = isinstance(self.opened, Refused)
            sentence = self.opened.sentence if self.opened else "the journal is not open"
            raise (JournalRefused if refused else JournalUnreadable)(sentence)
        return self._db

    def _unwritable(self, error: sqlite3.Error | JournalError) -> JournalError:
        if isinstance(error, JournalError):
            return error
        unwritable = JournalUnwritable(f"{UNWRITABLE}: {cause_of(error)}")
        unwritable.__cause__ = error
        return unwritable

    def _typed(self, error: Exception, *, writes: bool) -> Exception:
        """The error as the caller gets it: that of a failing disk or file has a type of ours."""
        if not isinstance(error, sqlite3.Error) or not is_outage(error):
            return error
        if writes:
            typed = self._unwritable(error)
        else:
            typed = JournalUnreadable(f"the journal could not be read: {cause_of(error)}")
            typed.__cause__ = error
        self._is_damaged = self._is_damaged or is_damage(error)
        self._meet(typed)
        return typed

    def _meet(self, error: JournalError) -> None:
        """Keep why the file cannot be used now."""
        self._met_trouble = True
        self.trouble = str(error)


def _lost(error: BaseException | None) -> JournalUnwritable:
    """Why a transaction is gone that SQLite gave up because of this error."""
    said = str(error)
    return JournalUnwritable(said if isinstance(error, JournalError) else f"{UNWRITABLE}: {said}")
