"""Resolves names to addresses in a few threads of our own, within a deadline; a late answer is an error.

The reactor's own pool is not used: a name server that does not answer would fill it. The threads are daemons, because
a look-up cannot be ended and must not hold up the end of the program.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from resilience import Deadline, DeadlineExceeded
from tools.web.errors import ErrorKind, WebError

#: What `socket.getaddrinfo` returns: family, type, protocol, canonical name and socket address, the host first.
_Found = Sequence[tuple[Any, Any, Any, Any, tuple[Any, ...]]]


class Resolver(Protocol):
    """Looks names up."""

    def resolve(self, name: str) -> Awaitable[Sequence[str]]:
        """Return the addresses of a name, best first, at least one. Raises WebError. May be cancelled."""
        ...


class GetAddrInfo(Protocol):
    """`socket.getaddrinfo`, as far as we call it."""

    def __call__(self, host: bytes, port: None, *, type: int) -> _Found:  # noqa: A002  (its own name)
        """Look a name up, for as long as it takes."""
        ...


@dataclass(eq=False)
class _Job:
    """One look-up. `wanted` is False once its caller waits no longer."""

    name: str
    done: Deferred[_Found]
    wanted: bool = True

    def leave(self) -> None:
        """Skip the look-up if it has not begun."""
        self.wanted = False


class ThreadedResolver:
    """The operating system's own look-up. `reactor` takes the answers over from the threads.

    At most `threads` look-ups run and `waiting` wait; each has `seconds` from when it is asked for. Only the first
    `most` addresses of an answer are used. Names are looked up as absolute ones: our search domains are not tried.
    """

    def __init__(
        self,
        reactor: Any,  # Any: no one interface has both time and threads
        *,
        threads: int = 4,
        seconds: float = 5.0,
        waiting: int = 64,
        most: int = 16,
        getaddrinfo: GetAddrInfo = socket.getaddrinfo,
    ) -> None:
        self._reactor = reactor
        self._most_threads = threads
        self._seconds = seconds
        self._most_waiting = waiting
        self._most = most
        self._getaddrinfo = getaddrinfo
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = 0
        self._open: set[_Job] = set()
        self._closed = False

    async def resolve(self, name: str) -> Sequence[str]:
        """Return the addresses of `name`.

        Raises WebError: NETWORK when there are none, TIMEOUT when it takes too long.
        """
        if self._closed or len(self._open) >= self._most_waiting + self._most_threads:
            raise WebError(ErrorKind.NETWORK, "too many names are being looked up")
        job = _Job(name, Deferred())
        self._open.add(job)
        try:
            found = await Deadline.after(self._reactor, self._seconds).bound(self._start(job), job.leave)
        except DeadlineExceeded:
            raise WebError(ErrorKind.TIMEOUT, f"the name {name} was not found within {self._seconds:g} s") from None
        except (OSError, UnicodeError):
            raise WebError(ErrorKind.NETWORK, f"the name {name} was not found") from None
        finally:
            job.leave()
            self._open.discard(job)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))[: self._most]
        if not addresses:
            raise WebError(ErrorKind.NETWORK, f"the name {name} was not found")
        return addresses

    def close(self) -> None:
        """Let idle threads end. Callers that wait get the error that the name was not found."""
        self._closed = True
        for job in list(self._open):
            job.leave()
            if not job.done.called:
                job.done.errback(OSError("closed"))
        for _ in range(self._threads):
            self._queue.put(None)

    def _start(self, job: _Job) -> Deferred[_Found]:
        if self._threads < min(self._most_threads, len(self._open)):
            self._threads += 1
            work = _worker(self._queue, self._getaddrinfo, self._reactor.callFromThread)
            Thread(target=work, daemon=True, name="looking a name up").start()
        self._queue.put(job)
        return job.done


def _worker(
    queue: SimpleQueue[_Job | None], getaddrinfo: GetAddrInfo, hand_over: Callable[..., object]
) -> Callable[[], None]:
    """Return what a thread runs: look up what the queue holds, until that is None. It refers to these three only."""

    def run() -> None:
        while (job := queue.get()) is not None:
            if not job.wanted:
                continue
            try:
                found: _Found | Failure = getaddrinfo(f"{job.name}.".encode("ascii"), None, type=socket.SOCK_STREAM)
            except Exception:  # noqa: BLE001  (handed on to the caller)
                found = Failure()
            hand_over(_settle, job, found)

    return run


def _settle(job: _Job, found: _Found | Failure) -> None:
    """Hand the answer to its caller, in the reactor's thread; drop a late one."""
    if not job.done.called:
        job.done.callback(found)
