"""The writer's thread: does all waiting jobs in one transaction, commits once, and passes them to the reactor.

When a job that writes raises, it alone is rolled back: to a savepoint, or the first of a transaction with all of it,
which is then begun again. No job is reported before the commit that covers it. Everything here runs on that
thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from mud_assistant.assistant.journal.errors import (
    JournalError,
    JournalRefused,
    JournalUnreadable,
    JournalUnwritable,
    cause_of,
    is_damage,
    is_outage,
)
from mud_assistant.assistant.journal.files import Mark
from mud_assistant.assistant.journal.place import Opened, OpeningRefused, ReadOnly
from mud_assistant.assistant.journal.schema import Schema
from mud_assistant.assistant.journal.sqlite.opening import open_file
from mud_assistant.assistant.journal.store import Job, Queue, Work

#: How long one transaction collects jobs, so that the first is not delayed by a long row of reads.
MAX_BATCH_SECONDS = 0.02
#: How long to wait before a file that could not be written is opened again.
RETRY_SECONDS = 5.0

#: The beginning of every sentence about a failed write.
UNWRITABLE = "the journal could not be written"


class Writer:
    """The owner of the connection to the file at `path`.

    `tell` passes finished jobs to their callers; `wall` gives seconds since 1970.
    """

    def __init__(
        self, path: Path, schema: Schema, wall: Callable[[], float], tell: Callable[[Sequence[Job]], None]
    ) -> None:
        self._path = path
        self._schema = schema
        self._wall = wall
        self._tell = tell
        self._db: sqlite3.Connection | None = None
        self._mark: Mark | None = None
        self._tried_at = 0.0
        self.opened: Opened | None = None
        self.commits = 0
        self.on_commit: Callable[[float], None] | None = None  # is told the seconds of each commit, on this thread
        #: Why the file could not be written or read lately; None once it is written again. Damage stays until reopened.
        self.trouble: str | None = None
        self._is_damaged = False
        #: Whether a job of the current batch met a trouble.
        self._met_trouble = False
        #: Whether no job has written in the open transaction yet.
        self._is_empty = False

    def open(self) -> Opened:
        """Open the file, repair what can be repaired, and return the state it was found in."""
        db, opened = open_file(self._path, self._schema, self._wall())
        self._use(opened, db)
        return opened

    def _use(self, opened: Opened, db: sqlite3.Connection | None) -> None:
        """Use this connection from now on, in place of the one before."""
        self.close()
        self._db, self.opened, self._tried_at = db, opened, self._wall()
        self._mark = Mark(self._path)
        self.trouble = opened.sentence if isinstance(opened, ReadOnly) else None
        self._is_damaged = False

    def work_off(self, queue: Queue) -> None:
        """Do the jobs of the queue until it is closed and empty."""
        while jobs := queue.take():
            rest: Sequence[Job] = jobs
            while rest:
                rest = self._batch(rest)

    def close(self) -> None:
        """Move the log into the file, and close both."""
        if self._db is None:
            return
        db, self._db = self._db, None
        with closing(db), suppress(sqlite3.Error):  # when this fails, the next start does it
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if self._mark is not None:
            self._mark.close()

    def _batch(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Do these jobs in one transaction and report them; return those not begun.

        Jobs are left over when the batch took long, when SQLite gave up the transaction, or when one is `alone`.
        """
        first, end, began = 0, len(jobs), self._wall()
        self._met_trouble = False
        unwritable: JournalError | None = None
        for at, job in enumerate(jobs):
            if job.alone and self._in_transaction():
                end = at
                break
            if job.writes and not self._in_transaction():
                self._report(jobs[first:at])  # reads before the first write need no commit
                first = at
                unwritable = unwritable or self._begin()
            if job.writes and unwritable is not None:
                self._fail([job], unwritable)
            elif self._run(job):
                self._fail(jobs[first : at + 1], _lost_error(job.error))
                self._report(jobs[first : at + 1])
                return jobs[at + 1 :]
            if self._wall() - began > MAX_BATCH_SECONDS:
                end = at + 1
                break
        if (error := self._commit()) is not None:
            self._fail(jobs[first:end], error)
        self._report(jobs[first:end])
        return jobs[end:]

    def _report(self, jobs: Sequence[Job]) -> None:
        """Report these jobs to their callers. Does nothing without jobs, as each report wakes the reactor."""
        if jobs:
            self._tell(jobs)

    def _run(self, job: Job) -> bool:
        """Do one job. Return True when SQLite gave up the whole transaction because of it."""
        inside = self._in_transaction()
        try:
            job.value = self._perform(job)
        except Exception as error:  # noqa: BLE001  (the work may raise anything; the caller gets it)
            job.error = self._error_for_caller(error, writes=job.writes or job.alone)
        return inside and not self._in_transaction()

    def _perform(self, job: Job) -> object:
        """Run the job's work and return what it returns."""
        if job.alone:
            return job.work(self._connection())
        if not job.writes:
            return self._run_read_only(job.work)
        is_first, self._is_empty = self._is_empty, False
        return self._run_first(job.work) if is_first else self._run_in_savepoint(job.work)

    def _run_first(self, work: Work) -> object:
        """Run the work and return what it returns. When it raises, nothing that the transaction wrote remains."""
        db = self._connection()
        try:
            return work(db)
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
                self._is_empty = True
            raise

    def _run_in_savepoint(self, work: Work) -> object:
        """Run the work in a savepoint and return what it returns. When it raises, nothing it wrote remains."""
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

    def _run_read_only(self, work: Work) -> object:
        """Run the work so that it cannot write, and return what it returns."""
        db = self._connection()
        db.execute("PRAGMA query_only = ON")
        try:
            return work(db)
        finally:
            db.execute("PRAGMA query_only = OFF")

    def _begin(self) -> JournalError | None:
        """Begin a transaction. Return the error when that fails, else None."""
        try:
            if isinstance(self.opened, ReadOnly) and self._wall() - self._tried_at >= RETRY_SECONDS:
                self.close()
                self.open()
            if isinstance(self.opened, ReadOnly):
                return JournalUnwritable(self.opened.sentence)
            self._connection().execute("BEGIN IMMEDIATE")
            self._is_empty = True
        except (sqlite3.Error, JournalError) as error:
            return self._unwritable(error)
        return None

    def _commit(self) -> JournalError | None:
        """Commit the open transaction. Return the error when that fails, and then nothing of it remains, else None."""
        if not self._in_transaction():
            return None
        number, began = 0, 0.0 if self.on_commit is None else self._wall()
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
        if self.on_commit is not None and began:
            self.on_commit(max(0.0, self._wall() - began))
        if not self._met_trouble and not self._is_damaged:
            self.trouble = None
        return None

    def _fail(self, jobs: Sequence[Job], error: JournalError) -> None:
        """Fail the jobs that have not failed by themselves, each with an error object of its own."""
        self._meet(error)
        for job in jobs:
            if job.error is None:
                job.value, job.error = None, type(error)(*error.args)
                job.error.__cause__ = error.__cause__

    def _rollback(self) -> None:
        with suppress(sqlite3.Error):  # the next BEGIN fails then
            if self._in_transaction():
                self._connection().execute("ROLLBACK")

    def _in_transaction(self) -> bool:
        return self._db is not None and self._db.in_transaction

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            refused = isinstance(self.opened, OpeningRefused)
            sentence = self.opened.sentence if self.opened else "the journal is not open"
            raise (JournalRefused if refused else JournalUnreadable)(sentence)
        return self._db

    def _unwritable(self, error: sqlite3.Error | JournalError) -> JournalError:
        if isinstance(error, JournalError):
            return error
        unwritable = JournalUnwritable(f"{UNWRITABLE}: {cause_of(error)}")
        unwritable.__cause__ = error
        return unwritable

    def _error_for_caller(self, error: Exception, *, writes: bool) -> Exception:
        """Return the error for the caller: JournalUnwritable or JournalUnreadable when the disk or file is at fault."""
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
        """Remember why the file cannot be used now."""
        self._met_trouble = True
        self.trouble = str(error)


def _lost_error(error: BaseException | None) -> JournalUnwritable:
    """Return the error for the jobs of a transaction that SQLite gave up because of `error`."""
    said = str(error)
    return JournalUnwritable(said if isinstance(error, JournalError) else f"{UNWRITABLE}: {said}")
