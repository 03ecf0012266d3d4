"""Runs blocking work, which may never end, outside the reactor's thread; so are keys read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from assistant.keys.redaction import Secrets
from assistant.keys.reference import KeySources
from resilience import Deadline

T = TypeVar("T")

#: How long reading a key may take, in seconds. A person may have to unlock it first.
KEY_SECONDS = 60.0


# Any: the reactor has no one interface for time and threads.
def in_daemon_thread(reactor: Any, seconds: float, work: Callable[[], T]) -> Deferred[T]:
    """Return what `work` returns or raise its error; raise DeadlineExceeded after `seconds`.

    The work has a thread of its own instead of one of the reactor's pool. The program waits for the pool when it ends,
    and would wait for a keyring that asks for a password. Cancelling and the deadline do not stop the work.
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


# Any: the reactor as clock, and for calls from other threads.
def key_sources(reactor: Any, environment: Mapping[str, str], folder: Path, secrets: Secrets) -> KeySources:
    """Return the sources of keys. Keys are read outside the reactor's thread, and are then known to `secrets`."""
    return KeySources(environment, partial(in_daemon_thread, reactor, KEY_SECONDS), folder, secrets)
