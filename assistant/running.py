"""Runs the reactor for one piece of work, and begins the log of a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import globalLogBeginner, textFileLogObserver
from twisted.python.failure import Failure

from mud_assistant.assistant.errors import complaint
from mud_assistant.assistant.keys.log import redacting
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.starting import settle_heap

_STANDARD_ERROR = Path("-")


def run_reactor(reactor: Any, work: Coroutine[Deferred[Any], Any, int], secrets: Secrets, cancelled: int = 0) -> int:
    """Run the reactor until `work` is over. Ctrl-C and SIGTERM cancel it and wait until it has ended.

    `cancelled` is the exit status of work that was cancelled.
    """
    status = 1
    leaving = False
    over: Deferred[None] = Deferred()

    def leave(running: Deferred[int]) -> Deferred[None]:
        nonlocal leaving
        leaving = True
        running.cancel()
        return over

    def begin() -> None:
        running = Deferred.fromCoroutine(work)
        reactor.addSystemEventTrigger("before", "shutdown", leave, running)
        running.addBoth(end)

    def end(result: int | Failure) -> None:
        nonlocal status
        status = explain(result, secrets, cancelled) if isinstance(result, Failure) else result
        over.callback(None)
        if not leaving:
            reactor.stop()

    settle_heap()
    reactor.callWhenRunning(begin)
    reactor.run()
    return status


def explain(failure: Failure, secrets: Secrets, cancelled: int = 0) -> int:
    """Print a sentence about what ended the work, where one is due, and return the exit status."""
    if failure.check(CancelledError):
        return cancelled
    if failure.check(BrokenPipeError):  # the reader of our output has left; Python's own last flush must not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    print(complaint(secrets.scrub(failure.getErrorMessage())), file=sys.stderr)
    if not failure.check(OSError):
        print("This is a fault in mud-assistant; please report it with these lines:", file=sys.stderr)
        print(secrets.scrub(failure.getTraceback()), end="", file=sys.stderr)
    return 1


def begin_logging(path: Path | None, secrets: Secrets) -> None:
    """Log to a file, without keys, or not at all: the terminal belongs to the conversation.

    The path `-` is standard error, which a service manager and a container's engine keep.
    """
    observers = []
    if path:
        file = sys.stderr if path == _STANDARD_ERROR else path.open("a", encoding="utf-8")
        observers.append(redacting(textFileLogObserver(file), secrets))
    globalLogBeginner.beginLoggingTo(observers, discardBuffer=True, redirectStandardIO=False)
