"""One SQLite file behind one thread, for all assistants of a process. The reactor's thread never touches SQLite.

What comes while a commit waits for the disk goes into the next one together, so the disk's latency is paid once for
many. A Deferred fires when what it stands for is on disk, and not before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorFromThreads

from assistant.journal.compacting import compacted
from assistant.journal.errors import JournalClosed
from assistant.journal.opening import Opened, open_file
from assistant.journal.schema import SCHEMA, Schema
from assistant.journal.writer import Job, Queue, Writer

T = TypeVar("T")

#: Commits in a row after which a trouble is over: on a disk that is nearly full some writes still find room.
CALM_COMMITS = 4


def _nobody(_: str) -> None:
    """Nobody wants to know of troubles."""


class Store:
    """The journal's file at `path`. `wall` gives seconds since 1970, on any thread.

    `on_trouble` is called with a sentence when the file cannot be written or read, and with an empty one when it was
    written a few times since. It is called on the reactor's thread.
    """

    def __init__(
        self,
        path: Path,
        reactor: IReactorFromThreads,
        wall: Callable[[], float],
        schema: Schema = SCHEMA,
        *,
        on_trouble: Callable[[str], None] = _nobody,
    ) -> None:
        self.path = path
        self.wall = wall
        self._reactor = reactor
        self._schema = schema
        self._queue = Queue()
        self._writer = Writer(schema, wall, self._tell)
        self._thread: Thread | None = None
        self._ending: Deferred[None] | None = None
        self._on_trouble = on_trouble
        #: What was told last, None before anything was.
        self._told_trouble: str | None = None
        #: The number of the last commit before the last trouble.
        self._last_before = 0

    @property
    def queued(self) -> int:
        """How many pieces of work wait for the writer."""
        return len(self._queue)

    @property
    def commits(self) -> int:
        """How many transactions were committed since `open`."""
        return self._writer.commits

    @property
    def opened(self) -> Opened | None:
        """The state of the file, None before it was opened."""
        return self._writer.opened

    @property
    def trouble(self) -> str | None:
        """Why the last transaction could not be written or read, None when it could."""
        return self._writer.trouble

    def open(self) -> Deferred[Opened]:
        """The state in which the file was found, after what could be repaired was. Once for each store.

        Never fails for the file's sake: a file that is refused makes `write` and `read` fail.
        """
        if self._thread is not None:
            return fail(JournalClosed("a store is opened once"))
        opening: Deferred[Opened] = Deferred()
        self._thread = Thread(target=self._run, args=(opening,), name="journal", daemon=True)
        self._thread.start()
        return opening

    def write(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """What `work` returns, once it is on disk; `work` runs on the writer's thread, in a savepoint, and only there.

        What it raises is raised, and nothing of it remains. JournalUnwritable when the commit failed. Cancelling drops
        the interest of the caller: the work is done nevertheless, or was.
        """
        return self._put(Job(work, writes=True))

    def read(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """What `work` returns; it sees every write asked for before it, and cannot write. JournalUnreadable."""
        return self._put(Job(work, writes=False))

    def compact(self) -> Deferred[bool]:
        """Fires when nothing that was deleted is left in the file or its log; False when another process reads it.

        Writes the file anew, in which time nothing else is done. JournalUnwritable.
        """
        return self._put(Job(compacted, writes=False, alone=True))

    def close(self) -> Deferred[None]:
        """Fires when all that was asked for is done, the file is closed and the thread gone. Not to be cancelled."""
        if self._thread is None or self._ending is not None:
            return fail(JournalClosed("the journal is not open"))
        self._ending = Deferred()
        self._queue.close()
        return self._ending

    def _put(self, job: Job) -> Deferred[Any]:
        if self._thread is None or self._ending is not None:
            return fail(JournalClosed("the journal is not open"))
        self._queue.put(job)
        return job.waiting

    def _run(self, opening: Deferred[Opened]) -> None:
        """The thread's whole life."""
        try:
            db, opened = open_file(self.path, self._schema, self.wall())
        except Exception as error:  # noqa: BLE001  (a bug of ours: told, and then every work fails)
            self._reactor.callFromThread(opening.errback, error)
        else:
            self._writer.open(opened, db)
            self._tell_trouble()
            self._reactor.callFromThread(opening.callback, opened)
        try:
            self._writer.work_off(self._queue)
        finally:
            self._writer.close()
            self._reactor.callFromThread(self._ended)

    def _tell(self, jobs: Sequence[Job]) -> None:
        """Bring finished jobs to the reactor's thread, in order, behind the trouble they met."""
        self._tell_trouble()
        self._reactor.callFromThread(_tell_each, tuple(jobs))

    def _tell_trouble(self) -> None:
        """Tell the reactor's thread of a trouble that has begun, changed or ended. On the writer's thread."""
        trouble = self._writer.trouble or ""
        if trouble:
            self._last_before = self.commits
        elif self.commits - self._last_before < CALM_COMMITS:
            return
        if trouble != self._told_trouble:
            self._told_trouble = trouble
            self._reactor.callFromThread(self._on_trouble, trouble)

    def _ended(self) -> None:
        """The thread has nothing left to do but return; waiting for that takes microseconds."""
        if self._thread is not None:
            self._thread.join()
        if self._ending is not None:
            self._ending.callback(None)


def _tell_each(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.tell()
