"""The jobs for the writer's thread, and the queue in which they wait for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from twisted.internet.defer import Deferred

#: The most jobs in one transaction: all their callers continue in one turn of the reactor.
MAX_BATCH = 256

Work = Callable[[sqlite3.Connection], Any]


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
