"""The writer's thread on PostgreSQL: does all waiting jobs in one transaction, commits once, and passes them on.

Jobs are done in a pipeline, without waiting for answers (`pipeline.py`). When one does not go as expected, all are done
again one after the other: there a job that raises is rolled back alone, to its savepoint. No job is reported before the
commit that covers it. When the connection breaks, it is made anew and the jobs are done again, for `GIVE_UP_SECONDS`;
then they fail, as with a full disk. When it broke after COMMIT was sent, the row of this process tells whether the
commit was done: each transaction locks that row first and counts itself in it. So nothing is done twice, and
nothing that was done is reported as lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import psycopg
from psycopg import errors as pg

from mud_assistant.assistant.journal.errors import JournalError, JournalRefused, JournalUnreadable, JournalUnwritable
from mud_assistant.assistant.journal.place import Opened, OpeningRefused, ReadOnly, Sound
from mud_assistant.assistant.journal.postgres import opening
from mud_assistant.assistant.journal.postgres.clock import ThreadClock
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase
from mud_assistant.assistant.journal.postgres.pipeline import do_at_once
from mud_assistant.assistant.journal.postgres.refusals import explain, lasts
from mud_assistant.assistant.journal.postgres.sharing.leases import HeldLeases
from mud_assistant.assistant.journal.store import Job, Queue

#: How long jobs are tried while the database does not answer, in seconds.
GIVE_UP_SECONDS = 10.0
#: The waits between two attempts to connect, in seconds: the first, and the longest.
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
#: The most jobs in one transaction, so that the first does not wait long for the last: each takes about a third of a
#: millisecond, and two when it waits for its answers.
MAX_JOBS = 64
#: How often jobs are done again that collided with those of another process.
COLLISIONS = 5
#: The beginning of every sentence about a failed write.
UNWRITABLE = "the journal could not be written"
#: Two transactions stood in each other's way, and this one was given up. It is done again:
#: https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html
_COLLISION = (pg.SerializationFailure, pg.DeadlockDetected, pg.LockNotAvailable)
#: The database is at fault, and not one of our statements.
_OUTAGE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    pg.ReadOnlySqlTransaction,
    pg.InsufficientResources,
    pg.OperatorIntervention,
)


class PostgresWriter:
    """The owner of the connection to the database. `tell` passes finished jobs to their callers."""

    def __init__(
        self,
        connect: Callable[[], PostgresDatabase],
        where: str,
        leases: HeldLeases,
        clock: ThreadClock,
        tell: Callable[[Sequence[Job]], None],
    ) -> None:
        self._connect = connect
        self._where = where
        self._process = leases.process
        self._leases = leases
        self._tell = tell
        self._clock = clock
        self._db: PostgresDatabase | None = None
        #: How many transactions were committed, as the row of this process says, and how often all were fenced.
        self._known = opening.Entered()
        #: When the last of them was.
        self._committed_at = clock.now()
        #: Whether the answer to a COMMIT is missing, and whether it turned out that it was done.
        self._is_in_doubt = self._was_committed = False
        self.opened: Opened | None = None
        self.commits = 0
        self.on_commit: Callable[[float], None] | None = None
        self.trouble: str | None = None

    def open(self) -> Opened:
        """Connect, make the tables, and return the state they were found in."""
        try:
            self._usable()
        except (psycopg.Error, opening.CannotUse) as error:
            if self.opened is None:
                self.trouble = _sentence(error)
                self.opened = ReadOnly(self._where, self.trouble, passes=not lasts(error))
        assert self.opened is not None
        return self.opened

    def work_off(self, queue: Queue) -> None:
        """Do the jobs of the queue until it is closed and empty."""
        while jobs := queue.take():
            rest: Sequence[Job] = jobs
            while rest:
                rest = self._batch(rest)

    def close(self) -> None:
        """Give the leases back, take this process off the list, and close the connection."""
        if self._db is not None:
            with suppress(psycopg.Error):
                self._leases.release_all(self._db)
                self._db.execute("DELETE FROM processes WHERE id = ?", (self._process.id,))
        self._disconnect()

    def _batch(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Do the first of these jobs that go together, and report them; return the others."""
        first = jobs[0]
        if first.alone or not first.writes:
            part = jobs[:1]
        else:
            part = jobs[: next((at for at, job in enumerate(jobs) if job.alone), MAX_JOBS)][:MAX_JOBS]
        self._do_again_and_again(part)
        self._tell(part)
        return jobs[len(part) :]

    def _do_again_and_again(self, jobs: Sequence[Job]) -> None:
        """Do these jobs; when the database is away, again until it is back or time is up."""
        began, wait, collisions = self._clock.now(), FIRST_WAIT, 0
        gave_up_before, is_new = self.trouble is not None, self._db is None
        while True:
            try:
                if not self._is_done():
                    self._do(jobs)
                break
            except _COLLISION as error:
                collisions += 1
                self._is_in_doubt &= self._db is None  # otherwise the server has answered
                self._roll_back()
                if collisions > COLLISIONS:
                    self._fail(jobs, error)
                    return
            except (psycopg.Error, opening.CannotUse) as error:
                self._disconnect()
                is_over = gave_up_before or self._clock.now() - began + wait > GIVE_UP_SECONDS
                if is_new and (is_over or isinstance(self.opened, OpeningRefused)):
                    self._fail(jobs, error)
                    return
                if is_new:
                    self._clock.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT)
                is_new = True  # a line that is found dead, however late, is worth another
        self.trouble = None

    def _do(self, jobs: Sequence[Job]) -> None:
        """Do these jobs once. Raises psycopg.Error when the database is at fault."""
        db = self._usable()
        if not jobs[0].writes:
            self._do_one(jobs[0], db)
            return
        if self._do_at_once(db, jobs):
            self._commit(db)
            return
        self._begin(db)
        is_first = True
        for job in jobs:
            if not is_first:
                db.run("SAVEPOINT job")
            if self._do_one(job, db):
                is_first = False
            elif is_first:
                db.run("ROLLBACK")
                self._begin(db)
            else:
                db.run("ROLLBACK TO SAVEPOINT job")
                self._leases.forget_checks()
        self._commit(db)

    def _begin(self, db: PostgresDatabase) -> None:
        """Begin a transaction. Raises CannotUse when an older state of the tables was put back under this process."""
        db.run("BEGIN")
        if not db.connection.execute(self._count.encode()).rowcount:
            raise opening.CannotUse(opening.PUT_BACK)
        self._leases.begin()

    @property
    def _count(self) -> str:
        """What a transaction begins with: it locks the row of this process first, and counts itself in it."""
        before = self._known.writes
        return f"UPDATE processes SET writes = {before + 1} WHERE id = '{self._process.id}' AND writes = {before}"

    def _do_at_once(self, db: PostgresDatabase, jobs: Sequence[Job]) -> bool:
        """Do these jobs without waiting for answers. Return False, and undo it, unless all went as expected."""
        self._leases.begin()
        works = [*(job.work for job in jobs), self._leases.check_expected]
        values = do_at_once(db, self._leases.numbers, self._count, works)
        if values is None:
            return False
        for job, value in zip(jobs, values, strict=False):
            job.value, job.error = value, None
        return True

    def _do_one(self, job: Job, db: PostgresDatabase) -> bool:
        """Do one job. Return False when its work raised an error of its own. Raises what the database is guilty of."""
        job.value, job.error = None, None
        try:
            job.value = job.work(db)
        except (*_COLLISION, *_OUTAGE):
            raise
        except Exception as error:  # noqa: BLE001  (the work may raise anything; the caller gets it)
            job.error = error
            return False
        return True

    def _commit(self, db: PostgresDatabase) -> None:
        began = self._clock.now()
        self._is_in_doubt = True
        db.run("COMMIT")
        self._is_in_doubt = False
        self._leases.committed()
        self._known = self._known._replace(writes=self._known.writes + 1)
        self._committed_at = self._clock.now()
        self.commits += 1
        if self.on_commit is not None:
            self.on_commit(self._clock.now() - began)

    def _is_done(self) -> bool:
        """Connect if need be. Return True when the transaction whose answer is missing was committed."""
        self._usable()
        was_committed, self._was_committed = self._was_committed, False
        if was_committed:
            self.commits += 1
            self._leases.committed()
        return was_committed

    def _usable(self) -> PostgresDatabase:
        """Return the connection, made anew if it is gone. Raises CannotUse and psycopg.Error."""
        if isinstance(self.opened, OpeningRefused):
            raise opening.CannotUse(self.opened.sentence, is_final=True)
        if self._db is not None and not self._db.is_broken:
            return self._db
        db = self._connect_and_open()
        try:
            is_listed = self._clock.now() - self._committed_at < opening.LISTED_SECONDS
            entered = opening.enter(db, self._process, self._known if is_listed else self._known._replace(writes=0))
        except BaseException:
            db.close()
            raise
        self._was_committed = self._is_in_doubt and entered.writes > self._known.writes
        if entered.fences != self._known.fences:
            self._leases.numbers.forget()  # those in hand may be given once more
        self._known, self._is_in_doubt = entered, False
        self._db = db
        return db

    def _connect_and_open(self) -> PostgresDatabase:
        """Return a new connection; with the first one, make the tables. What does not pass by itself is refused.

        Raises CannotUse and psycopg.Error.
        """
        if isinstance(self.opened, Sound):
            return self._connect()
        db: PostgresDatabase | None = None
        try:
            db = self._connect()
            self.opened = opening.open_database(db, self._connect, self._where)
        except (psycopg.Error, JournalRefused, opening.CannotUse) as error:
            if db is not None:
                db.close()
            if isinstance(error, _COLLISION + _OUTAGE) or (isinstance(error, opening.CannotUse) and not error.is_final):
                raise
            self.opened = OpeningRefused(self._where, _sentence(error))
            raise opening.CannotUse(self.opened.sentence, is_final=True) from error
        return db

    def _roll_back(self) -> None:
        if self._db is not None:
            try:
                self._db.run("ROLLBACK")
            except psycopg.Error:
                self._disconnect()

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(psycopg.Error):
                db.close()

    def _fail(self, jobs: Sequence[Job], error: Exception) -> None:
        """Fail these jobs, each with an error object of its own, and remember why."""
        self.trouble = _sentence(error)
        if isinstance(self.opened, ReadOnly):
            self.opened = ReadOnly(self._where, self.trouble, passes=not lasts(error))
        self._is_in_doubt = False  # their callers are told that it is not known
        for job in jobs:
            job.value, job.error = None, self._error_for_caller(job)
            job.error.__cause__ = error

    def _error_for_caller(self, job: Job) -> JournalError:
        if isinstance(self.opened, OpeningRefused):
            return JournalRefused(self.opened.sentence)
        if job.writes or job.alone:
            return JournalUnwritable(f"{UNWRITABLE}: {self.trouble}")
        return JournalUnreadable(f"the journal could not be read: {self.trouble}")


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, opening.CannotUse | JournalRefused) else explain(error)
