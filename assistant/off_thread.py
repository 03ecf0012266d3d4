"""Blocking work away from the reactor's thread, which may never end."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from resilience import Deadline

T = TypeVar("T")


# Any: the reactor has no one interface for time and threads.
def in_daemon_thread(reactor: Any, seconds: float, work: Callable[[], T]) -> Deferred[T]:
    """What `work` gives or raises, or DeadlineExceeded after `seconds`.

    A thread of its own and not one of the reactor's pool: the program's end waits for the pool, and would wait for a
    keyring that asks somebody for a password. Cancelling, and the deadline, leave the work to itself.
    """
    done: Deferred[T] = Deferred()

    def run() -> None:
        try:
            result: T | Failure = work()
        except Exception:  # noqa: BLE001  (handed on)
            result = Failure()
        reactor.callFromThread(done.callback, result)

    Thread(target=run, daemon=True, name="reading a key").start()
    return Deadline.after(reactor, seconds).bound(done)
