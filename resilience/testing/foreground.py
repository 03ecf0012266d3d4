"""Runs a server in a terminal until it is interrupted, and leaves nothing behind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure


async def print_and_wait(url: str) -> None:
    """Print the address of a server that is up, and wait until this is cancelled."""
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    await Deferred()


def serve_until_interrupted(work: Callable[[IReactorTime], Coroutine[Deferred[Any], Any, None]]) -> int:
    """Run `work` and return the exit status: 0 after an interruption, 1 when it fails, with its cause on stderr.

    An interruption cancels `work` and waits for it. Starts the reactor: for the main functions of commands only.
    """
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (a composition root)

    failures: list[str] = []

    def ended(failure: Failure) -> None:
        if failure.check(CancelledError) is None:
            failures.append(failure.getErrorMessage())
            reactor.callWhenRunning(reactor.stop)

    def stop() -> Deferred[None]:
        serving.cancel()
        return serving

    serving = Deferred.fromCoroutine(work(reactor)).addErrback(ended)
    reactor.addSystemEventTrigger("before", "shutdown", stop)
    reactor.run()
    sys.stderr.writelines(f"cannot serve: {failure}\n" for failure in failures)
    return 1 if failures else 0
