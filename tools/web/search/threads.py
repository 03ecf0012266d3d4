"""A few threads for calls that block. Nothing ever waits for the threads to end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class FromThread(Protocol):
    """The reactor, as far as a thread may touch it."""

    def callFromThread(self, callable: Callable[..., object], *args: object) -> object:  # noqa: A002, N802  (Twisted's)
        """Call in the reactor's thread."""
        ...


class Full(Exception):
    """Raised when as many calls as may wait are waiting."""


class Panic(Exception):
    """Raised for a call that ended with a BaseException that is no Exception; the message is its class."""


class _Job(Generic[T]):
    """A call, and the Deferred of its result."""

    def __init__(self, work: Callable[[], T], on_begin: Callable[[], object]) -> None:
        self.work = work
        self.on_begin = on_begin
        self.result: Deferred[T] = Deferred()

    def fire(self, result: T | Failure) -> None:
        """Hand on the result; drop a late one."""
        if not self.result.called:
            self.result.callback(result)


class DaemonThreads(Generic[T]):
    """At most `size` daemon threads, started when they are needed, and at most `waiting` calls before them.

    A cancelled call that has begun goes on and keeps its thread busy until it ends; its result is dropped. After
    `close` no call begins, and nothing is waited for.
    """

    def __init__(self, reactor: FromThread, name: str, size: int = 2, waiting: int = 16) -> None:
        self._reactor = reactor
        self._name = name
        self._size = size
        self._waiting = waiting
        self._jobs: deque[_Job[T]] = deque()
        self._changed = threading.Condition()
        self._threads = 0
        self._idle = 0
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """Whether a call would have to wait for a thread."""
        with self._changed:
            return self._threads >= self._size and self._idle <= len(self._jobs)

    def run(self, work: Callable[[], T], on_begin: Callable[[], object] = bool) -> Deferred[T]:
        """Run `work` in a thread and return a Deferred of its result. Raises Full, and CancelledError after `close`.

        `on_begin` is called in the reactor's thread when a thread has taken the call up.
        """
        job = _Job(work, on_begin)
        with self._changed:
            if self._closed:
                raise CancelledError
            self._jobs = deque(waiting for waiting in self._jobs if not waiting.result.called)
            if len(self._jobs) >= self._waiting:
                raise Full
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._changed.notify()
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._threads}", daemon=True).start()
        return job.result

    def close(self) -> None:
        """Close: calls that wait are cancelled, threads end when their call is done."""
        with self._changed:
            self._closed = True
            jobs, self._jobs = self._jobs, deque()
            self._changed.notify_all()
        for job in jobs:
            job.result.cancel()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            result: T | Failure
            self._reactor.callFromThread(job.on_begin)
            try:
                result = job.work()
            except Exception:  # noqa: BLE001  (handed on to the caller)
                result = Failure()
                result.cleanFailure()
            except BaseException as error:  # noqa: BLE001  (a panic of Rust code, which must not end the thread)
                result = Failure(Panic(type(error).__name__))
            if not self._closed:
                self._reactor.callFromThread(job.fire, result)

    def _next(self) -> _Job[T] | None:
        with self._changed:
            while not self._closed:
                while self._jobs:
                    job = self._jobs.popleft()
                    if not job.result.called:
                        return job
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return None
