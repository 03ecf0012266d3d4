"""Runs the page's work with the game's database in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connections

from mud_assistant.assistant.page.ports import Unavailable
from mud_assistant.resilience import Deadline, DeadlineExceeded
from mud_assistant.resilience.background import DaemonThreads, Full

#: How many threads there are, how many calls may wait for one, and how long a call may take, in seconds.
_THREADS, _WAITING, _SECONDS = 2, 64, 10.0
_BUSY = "the game's database is busy: try again in a moment"
T = TypeVar("T")


class DatabaseThreads:
    """A few threads for the game's database. Each piece of work has a connection of its own, closed behind it."""

    # Any: the reactor as clock and as what threads call back.
    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._threads: DaemonThreads[Any] = DaemonThreads(reactor, "page", _THREADS, _WAITING)

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Return what `work` returns, or raise its error. Raises Unavailable when the database does not keep up."""
        try:
            deadline = Deadline.after(self._reactor, _SECONDS)
            result: T = await deadline.bound(self._threads.run(lambda: _with_own_connection(work)))
        except (Full, DeadlineExceeded) as error:
            raise Unavailable(_BUSY) from error
        return result

    def close(self) -> None:
        """End the threads; work that waits is cancelled."""
        self._threads.close()


def _with_own_connection(work: Callable[[], T]) -> T:
    """Do the work, and close the connections to the database that this thread opened for it."""
    try:
        return work()
    finally:
        connections.close_all()
