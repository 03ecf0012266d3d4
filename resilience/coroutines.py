"""Runs a coroutine so that no reference cycle is left when it fails.

With `Deferred.fromCoroutine` the traceback of each failure holds frames of Twisted, and these hold the failure. What
the call had in hand (its request, its answer, its connection) then stays until the garbage collector runs.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from types import TracebackType
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

T = TypeVar("T")
_log = Logger()
#: The modules whose frames hold failures.
_RUNNERS = {__name__, Deferred.__module__, Failure.__module__}


class CoroutineRunner:
    """A coroutine under way, in a context of its own."""

    __slots__ = ("_context", "_coroutine", "_is_cancelling", "_on_end", "_waits_for")

    def __init__(self, coroutine: Coroutine[Deferred[Any], Any, Any]) -> None:
        self._context = copy_context()
        self._coroutine = coroutine
        self._on_end: Callable[[Any], object] | None = None
        self._waits_for: Deferred[Any] | None = None
        self._is_cancelling: Deferred[Any] | None = None

    def start(self, on_end: Callable[[Any], object]) -> None:
        """Run it until it waits for something or ends. `on_end` is called once, with its result or its Failure."""
        self._on_end = on_end
        self._go_on(None)

    def cancel(self) -> None:
        """Cancel what it waits for. No effect on a coroutine that is just running, or has ended.

        No effect either while that is being cancelled already: most cancellers can only run once.
        """
        waits_for = self._waits_for
        if waits_for is None or waits_for is self._is_cancelling:
            return
        self._is_cancelling = waits_for
        try:
            waits_for.cancel()
        finally:
            self._is_cancelling = None

    def _go_on(self, result: Any) -> None:  # Any: of whatever it waited for
        """Give it the result of what it waited for. A Deferred that is there already makes no coroutine wait."""
        self._waits_for = None
        ended: Any
        try:
            if isinstance(result, Failure):
                assert result.value is not None
                error = result.value.with_traceback(result.getTracebackObject())
                waits_for = self._context.run(self._coroutine.throw, error)
            else:
                waits_for = self._context.run(self._coroutine.send, result)
        except StopIteration as stop:
            ended = stop.value
        except BaseException as raised:  # noqa: BLE001  (it is the outcome)
            ended = failure_of(raised)
        else:
            self._waits_for = waits_for
            waits_for.addBoth(self._go_on)
            return
        on_end, self._on_end = self._on_end, None  # it may refer to this object
        assert on_end is not None
        on_end(ended)


def run(coroutine: Coroutine[Deferred[Any], Any, T]) -> Deferred[T]:
    """Run a coroutine and return its result. Cancelling cancels what it waits for, and does not wait for its end."""
    running = CoroutineRunner(coroutine)
    outcome: Deferred[T] = Deferred(lambda _: running.cancel())

    def end(result: T | Failure) -> None:
        if not outcome.called:
            outcome.callback(result)
        elif isinstance(result, Failure):
            log_late(result)

    running.start(end)
    return outcome


def failure_of(error: BaseException) -> Failure:
    """Return the failure of this error. The tracebacks of it and of its causes lose the frames that hold failures."""
    at: BaseException | None = error
    seen = set[int]()  # an error may be its own cause
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        at.__traceback__ = _trimmed(at.__traceback__)
        at = at.__cause__ or at.__context__
    return Failure(error, type(error), error.__traceback__)


def log_late(failure: Failure) -> None:
    """Log a failure that came after its caller had left."""
    _log.debug("late failure after a deadline: {kind}", kind=type(failure.value).__name__)


def _trimmed(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames that only run coroutines."""
    kept: list[TracebackType] = []
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__") not in _RUNNERS:
            kept.append(traceback)
        traceback = traceback.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=False):
        entry.tb_next = following
    return kept[0] if kept else None
