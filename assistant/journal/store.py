"""Keeps a journal behind one thread, for all assistants of a process. The reactor's thread never touches the database.

Work that arrives while a commit waits for the disk goes into the next commit together, so the disk's latency is paid
once for many. The Deferred of a write fires when the write is on disk, and not before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure

from mud_assistant.assistant.events.scheduler import CallsInTurn
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import Fenced, JournalClosed
from mud_assistant.assistant.journal.place import JournalPlace, Opened

#: The most jobs in one transaction.
MAX_BATCH = 256

Work = Callable[[Database], Any]


@dataclass(slots=True, eq=False)
class Job:
    """One piece of work, its caller's Deferred, and its result. A job that is `alone` runs outside transactions.

    The Deferred fires in the reactor's thread; that of a job that `stays` fires in the writer's.
    """

    work: Work
    writes: bool
    alone: bool = False
    stays: bool = False
    waiting: Deferred[Any] = field(default_factory=Deferred)
    value: object = None
    error: BaseException | None = None

    def tell(self) -> None:
        """Fire the caller's Deferred."""
        if self.error is None:
            self.waiting.callback(self.value)
        else:
            self.waiting.errback(self.error)


class Queue:
    """The jobs that wait for the writer, in order of arrival."""

    def __init__(self) -> None:
        #: None marks the end.
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._is_over = False

    def __len__(self) -> int:
        """Return how many jobs wait."""
        return self._jobs.qsize()

    def put(self, job: Job) -> None:
        """Add a job."""
        self._jobs.put(job)

    def close(self) -> None:
        """Let the writer end once it has done the waiting jobs. Nothing may be put after it."""
        self._jobs.put(None)

    def take(self) -> list[Job]:
        """Return the next jobs, at least one; none when the queue is closed and empty. Blocks."""
        jobs: list[Job] = []
        while not self._is_over and (not jobs or (self._jobs.qsize() and len(jobs) < MAX_BATCH)):
            job = self._jobs.get()
            if job is None:
                self._is_over = True
            else:
                jobs.append(job)
        return jobs


T = TypeVar("T")

#: After this many good commits in a row a trouble is over. One is not enough: on a nearly full disk some writes fit.
CALM_COMMITS = 4
_NOT_OPEN = "the journal is not open"


class JobWriter(Protocol):
    """The owner of a connection. All but `on_commit` is for the writer's thread."""

    opened: Opened | None
    commits: int
    on_commit: Callable[[float], None] | None
    trouble: str | None

    def open(self) -> Opened:
        """Open the database, and return the state it was found in."""
        ...

    def work_off(self, queue: Queue) -> None:
        """Do the jobs of the queue until it is closed and empty."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class JournalStore(ABC):
    """A journal and its writer's thread. `wall` gives seconds since 1970, on any thread.

    `on_trouble` is called with a sentence when the journal cannot be written or read, and with an empty string once
    `CALM_COMMITS` commits in a row were good. It is called on the reactor's thread.
    """

    def __init__(
        self, reactor: IReactorFromThreads, wall: Callable[[], float], on_trouble: Callable[[str], None]
    ) -> None:
        self.wall = wall
        self._reactor = reactor
        self._calls = CallsInTurn(reactor)
        self._queue = Queue()
        self._writer: JobWriter = self._make_writer()
        self._thread: Thread | None = None
        self._ending: Deferred[None] | None = None
        self._on_trouble = on_trouble
        #: The last argument of `on_trouble`, None before the first call.
        self._told_trouble: str | None = None
        #: The number of the last commit before the last trouble.
        self._last_before = 0

    @abstractmethod
    def _make_writer(self) -> JobWriter:
        """Return the owner of the connection, which passes finished jobs to `_tell`."""

    @property
    @abstractmethod
    def place(self) -> JournalPlace:
        """Where the journal is, for those who read it beside the writer."""

    @abstractmethod
    def take_lease(self, db: Database, assistant: str) -> int:
        """Write down the next token of an assistant and return it. Part of a work."""

    @abstractmethod
    def token_of(self, db: Database, assistant: str) -> int:
        """Return the token that may write for an assistant, 0 when there is none, and hold it. Part of a work."""

    def check_token(self, db: Database, assistant: str, token: int) -> None:
        """Raise Fenced unless `token` is the one that may write for an assistant. Part of a work."""
        current = self.token_of(db, assistant)
        if current != token or not token:
            raise Fenced(assistant, token, current)

    def has_expired(self, assistant: str) -> bool:
        """Tell whether this process may no longer act for an assistant, as far as it knows. On any thread."""
        return False

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
        """Open the journal, repair what can be repaired, and return the state it was found in. Once for each store.

        Never fails because of the journal: when it is refused, `write` and `read` fail instead.
        """
        if self._thread is not None:
            return fail(JournalClosed("a store is opened once"))
        opening: Deferred[Opened] = Deferred()
        self._thread = Thread(target=self._run, args=(opening,), name="journal", daemon=True)
        self._thread.start()
        return opening

    def write(self, work: Callable[[Database], T]) -> Deferred[T]:
        """Run `work` on the writer's thread, in a savepoint; return what it returns, once that is on disk.

        When `work` raises, its error is passed on and nothing it wrote remains. Raises JournalUnwritable when the
        commit failed. Cancelling only drops the result: the work is done all the same.
        """
        return self._put(Job(work, writes=True))

    def read(self, work: Callable[[Database], T]) -> Deferred[T]:
        """Run `work` on the writer's thread and return what it returns. Raises JournalUnreadable.

        `work` sees every write that was requested before it, and cannot write.
        """
        return self._put(Job(work, writes=False))

    def read_then(self, work: Callable[[Database], T], then: Callable[[T | Failure], object]) -> None:
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
        self._calls.put((partial(call, value),))

    @abstractmethod
    def compact(self) -> Deferred[bool]:
        """Leave no byte of what was deleted. Return False when some is left. Raises JournalUnwritable."""

    def close(self) -> Deferred[None]:
        """Finish all requested work, close the journal and end the thread. Must not be cancelled."""
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
        """Run the writer's thread: open the journal, work off the queue, close the journal."""
        try:
            opened = self._writer.open()
        except Exception as error:  # noqa: BLE001  (a bug of ours: the caller gets it, and then every job fails)
            self._reactor.callFromThread(opening.errback, error)
        else:
            self._tell_trouble()
            self._reactor.callFromThread(opening.callback, opened)
        try:
            self._writer.work_off(self._queue)
        finally:
            self._writer.close()
            self._calls.put((self._end,))

    def _tell(self, jobs: Sequence[Job]) -> None:
        """Pass finished jobs to the reactor's thread, in order, after the trouble they met; some stay on this one."""
        self._tell_trouble()
        if leaving := tuple(job.tell for job in jobs if not job.stays):
            self._calls.put(leaving)
        for job in jobs:
            if job.stays:
                job.tell()

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
