"""The one place where a coroutine becomes a Deferred that is held."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

_log = Logger()


class Launcher:
    """Runs coroutines that are not awaited: holds them, logs what they raise, cancels them at stop."""

    def __init__(self) -> None:
        #: A dict, not a set: an empty set takes three times the memory, and each assistant has four launchers.
        self._running: dict[Deferred[Any], None] = {}

    def launch(self, work: Coroutine[Deferred[Any], Any, Any], what: str) -> Deferred[None]:
        """Run `work` and log its error as `what`. The Deferred fires with None when it is over, however it ended."""
        running = Deferred.fromCoroutine(work)
        self._running[running] = None
        over: Deferred[None] = Deferred(lambda _: running.cancel())

        def done(result: object) -> None:
            self._running.pop(running, None)
            if isinstance(result, Failure) and not result.check(CancelledError):
                _log.failure("{what} failed", failure=result, what=what)
            if not over.called:
                over.callback(None)

        running.addBoth(done)
        return over

    def __len__(self) -> int:
        """Return how many are running."""
        return len(self._running)

    def stop(self) -> Deferred[None]:
        """Cancel everything that runs. The Deferred fires when all of it is over."""
        running = list(self._running)
        over = DeferredList([_watch(deferred) for deferred in running])
        for deferred in running:
            deferred.cancel()
        return over.addCallback(lambda _: None)


def _watch(deferred: Deferred[Any]) -> Deferred[None]:
    """Return a Deferred that fires when `deferred` does, without touching its result."""
    seen: Deferred[None] = Deferred()

    def tell(result: object) -> object:
        seen.callback(None)
        return result

    deferred.addBoth(tell)
    return seen
