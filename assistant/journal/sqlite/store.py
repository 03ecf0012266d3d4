"""Keeps one SQLite file behind one thread, for all assistants of a process. The reactor's thread never touches SQLite.

Work that arrives while a commit waits for the disk goes into the next commit together, so the disk's latency is paid
once for many. The Deferred of a write fires when the write is on disk, and not before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure

from assistant.journal.errors import JournalClosed
from assistant.journal.files import compact_file
from assistant.journal.schema import SCHEMA, Schema
from assistant.journal.sqlite.jobs import Job, Queue
from assistant.journal.sqlite.opening import Opened, open_file
from assistant.journal.sqlite.writer import Writer

T = TypeVar("T")

#: After this many good commits in a row a trouble is over. One is not enough: on a nearly full disk some writes fit.
CALM_COMMITS = 4
_NOT_OPEN = "the journal is not open"


def _nobody(_: str) -> None:
    """Ignore a trouble: the default of `on_trouble`."""


class Store:
    """The journal's file at `path`. `wall` gives seconds since 1970, on any thread.

    `on_trouble` is called with a sentence when the file cannot be written or read, and with an empty string once
    `CALM_COMMITS` commits in a row were good. It is called on the reactor's thread.
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
        #: The last argument of `on_trouble`, None before the first call.
        self._told_trouble: str | None = None
        #: The number of the last commit before the last trouble.
        self._last_before = 0

    @property
    def queued(self) -> int:
        """The number of jobs that wait for the writer."""
        return len(self._queue)

    @property
    def commits(self) -> int:
        """The number of transactions committed since `open`."""
        return self._writer.commits

    @property
    def opened(self) -> Opened | None:
        """The state in which the file was last opened, None before that."""
        return self._writer.opened

    @property
    def trouble(self) -> str | None:
        """Why the last transaction could not be written or read, None when it could."""
        return self._writer.trouble

    def watch_commits(self, on_commit: Callable[[float], None] | None) -> None:
        """Call `on_commit` with the seconds of each commit, on the writer's thread; None ends that."""
        self._writer.on_commit = on_commit

    def open(self) -> Deferred[Opened]:
        """Open the file, repair what can be repaired, and return the state it was found in. Once for each store.

        Never fails because of the file: when the file is refused, `write` and `read` fail instead.
        """
        if self._thread is not None:
            return fail(JournalClosed("a store is opened once"))
        opening: Deferred[Opened] = Deferred()
        self._thread = Thread(target=self._run, args=(opening,), name="journal", daemon=True)
        self._thread.start()
        return opening

    def write(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """Run `work` on the writer's thread, in a savepoint; return what it returns, once that is on disk.

        When `work` raises, its error is passed on and nothing it wrote remains. Raises JournalUnwritable when the
        commit failed. Cancelling only drops the result: the work is done all the same.
        """
        return self._put(Job(work, writes=True))

    def read(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """Run `work` on the writer's thread and return what it returns. Raises JournalUnreadable.

        `work` sees every write that was requested before it, and cannot write.
        """
        return self._put(Job(work, writes=False))

    def read_then(self, work: Callable[[sqlite3.Connection], T], then: Callable[[T | Failure], object]) -> None:
        """Read as `read` does, and call `then` on the writer's thread with the result or a Failure; wake nobody.

        It may be called on any thread, as long as `close` is not called meanwhile. Raises JournalClosed.
        """
        job = Job(work, writes=False, stays=True)
        job.waiting.addBoth(then)
        if not self._is_open:
            raise JournalClosed(_NOT_OPEN)
        self._queue.put(job)

    def call_back(self, call: Callable[[T], object], value: T) -> None:
        """Call in the reactor's thread, from any thread."""
        self._reactor.callFromThread(call, value)

    def compact(self) -> Deferred[bool]:
        """Rewrite the file, so that no deleted data is left in it or its log. Raises JournalUnwritable.

        Return False when deleted data is left, for example as another process reads the log. The writer does nothing
        else meanwhile.
        """
        return self._put(Job(compact_file, writes=False, alone=True))

    def close(self) -> Deferred[None]:
        """Finish all requested work, close the file and end the thread. Must not be cancelled."""
        if not self._is_open:
            return fail(JournalClosed(_NOT_OPEN))
        self._ending = Deferred()
        self._queue.close()
        return self._ending

    @property
    def _is_open(self) -> bool:
        return self._thread is not None and self._ending is None

    def _put(self, job: Job) -> Deferred[Any]:
        if not self._is_open:
            return fail(JournalClosed(_NOT_OPEN))
        self._queue.put(job)
        return job.waiting

    def _run(self, opening: Deferred[Opened]) -> None:
        """Run the writer's thread: open the file, work off the queue, close the file."""
        try:
            db, opened = open_file(self.path, self._schema, self.wall())
        except Exception as error:  # noqa: BLE001  (a bug of ours: the caller gets it, and then every job fails)
            self._reactor.callFromThread(opening.errback, error)
        else:
            self._writer.open(opened, db)
            self._tell_trouble()
            self._reactor.callFromThread(opening.callback, opened)
        try:
            self._writer.work_off(self._queue)
        finally:
            self._writer.close()
            self._reactor.callFromThread(self._end)

    def _tell(self, jobs: Sequence[Job]) -> None:
        """Pass finished jobs to the reactor's thread, in order, after the trouble they met; some stay on this one."""
        self._tell_trouble()
        if leaving := tuple(job for job in jobs if not job.stays):
            self._reactor.callFromThread(_tell_each, leaving)
        _tell_each(job for job in jobs if job.stays)

    def _tell_trouble(self) -> None:
        """Report a trouble that has begun, changed or ended to the reactor's thread. Runs on the writer's thread."""
        trouble = self._writer.trouble or ""
        if trouble:
            self._last_before = self.commits
        elif self.commits - self._last_before < CALM_COMMITS:
            return
        if trouble != self._told_trouble:
            self._told_trouble = trouble
            self._reactor.callFromThread(self._on_trouble, trouble)

    def _end(self) -> None:
        """Join the thread and fire the Deferred of `close`.

        The thread has nothing left to do but return, so joining takes microseconds.
        """
        if self._thread is not None:
            self._thread.join()
        if self._ending is not None:
            self._ending.callback(None)


def _tell_each(jobs: Iterable[Job]) -> None:
    for job in jobs:
        job.tell()
