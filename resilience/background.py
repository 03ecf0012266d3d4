"""Work in the background: coroutines that no caller awaits, calls that block in daemon threads, and relays of these.

The launcher is the one place where a coroutine becomes a Deferred that is held. A call in a daemon thread does not hold
up the reactor, and the program does not wait for its end. The reactor's own pool is not used for such work: calls that
never end would fill it, and the program waits for the pool when it ends.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.resilience.deadline import Deadline

_log = Logger()
T = TypeVar("T")
#: Starts a call that blocks, and has its argument called in the call's thread, with its result or its failure.
Step = Callable[[Callable[[object], None]], object]
#: Work in steps: the generator yields them, gets the result of each, and goes on in the thread where it ended.
Relay = Generator[Step, Any, T]


class Launcher:
    """Runs coroutines that are not awaited: holds them, logs what they raise, cancels them at stop."""

    __slots__ = ("_running",)

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
            if not self._running:
                self._running = {}  # an emptied dict keeps the memory of its past
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


class FromThread(Protocol):
    """The reactor, as far as a thread may touch it."""

    def callFromThread(self, callable: Callable[..., object], *args: object) -> object:  # noqa: A002, N802  (Twisted's)
        """Call in the reactor's thread."""
        ...


class Full(Exception):
    """Raised when as many calls as may wait are waiting."""


class Panic(Exception):
    """Raised for a call that ended with a BaseException that is no Exception; the message is its class."""


# Any: the reactor has no one interface for time and threads.
def in_daemon_thread(reactor: Any, seconds: float, work: Callable[[], T]) -> Deferred[T]:
    """Return what `work` returns or raise its error; raise DeadlineExceeded after `seconds`.

    The work has a thread of its own, so that it holds up no other work: a keyring may wait for a password. Cancelling
    and the deadline do not stop the work; its late result is dropped.
    """
    call = _Call(work)

    def run() -> None:
        reactor.callFromThread(call.fire, call.outcome())

    threading.Thread(target=run, name="off the reactor", daemon=True).start()
    return Deadline.after(reactor, seconds).bound(call.result)


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
        self._calls: deque[_Call[T]] = deque()
        self._changed = threading.Condition()
        self._threads = 0
        #: Calls that threads have taken up and not ended.
        self._running = 0
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """Whether a call would have to wait for a thread."""
        with self._changed:
            return self._running + len(self._calls) >= self._size

    def run(self, work: Callable[[], T], on_begin: Callable[[], object] | None = None) -> Deferred[T]:
        """Run `work` in a thread and return a Deferred of its result. Raises Full, and CancelledError after `close`.

        `on_begin` is called in the reactor's thread when a thread has taken the call up; None wakes it for nothing.
        """
        call = _Call(work, on_begin)
        self._put(call)
        return call.result

    def run_then(self, work: Callable[[], T], then: Callable[[T | Failure], object]) -> None:
        """Run `work` in a thread and call `then` there with its result or its failure; the reactor is not woken.

        It may be called in any thread. After `close`, calls that wait get CancelledError, in the reactor's thread.
        Raises Full, and CancelledError after `close`.
        """
        call = _Call(work, stays=True)
        call.result.addBoth(then)
        self._put(call)

    def _put(self, call: _Call[T]) -> None:
        with self._changed:
            if self._closed:
                raise CancelledError
            self._calls = deque(waiting for waiting in self._calls if not waiting.result.called)
            if self._running + len(self._calls) >= self._size + self._waiting:
                raise Full
            self._calls.append(call)
            if self._threads < min(self._size, self._running + len(self._calls)):
                self._threads += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._threads}", daemon=True).start()
            else:
                self._changed.notify()

    def close(self) -> None:
        """Close: calls that wait are cancelled, threads end when their call is done."""
        with self._changed:
            self._closed = True
            calls, self._calls = self._calls, deque()
            self._changed.notify_all()
        for call in calls:
            call.result.cancel()

    def _serve(self) -> None:
        while (call := self._next()) is not None:
            if call.on_begin is not None:
                self._reactor.callFromThread(call.on_begin)
            outcome = call.outcome()
            if isinstance(outcome, Failure):
                outcome.cleanFailure()
            with self._changed:
                self._running -= 1
            if call.stays:
                call.fire(outcome)
            elif not self._closed:
                self._reactor.callFromThread(call.fire, outcome)
            del call, outcome  # the thread may be idle for long

    def _next(self) -> _Call[T] | None:
        """Wait for a call to take up; return None after `close`."""
        with self._changed:
            while not self._closed:
                while self._calls:
                    call = self._calls.popleft()
                    if not call.result.called:
                        self._running += 1
                        return call
                self._changed.wait()
            return None


class _Call(Generic[T]):
    """Work for a thread, and the Deferred of its result: it fires in the reactor's thread, unless the call `stays`."""

    def __init__(
        self, work: Callable[[], T], on_begin: Callable[[], object] | None = None, *, stays: bool = False
    ) -> None:
        self.work = work
        self.on_begin = on_begin
        self.stays = stays
        self.result: Deferred[T] = Deferred()

    def outcome(self) -> T | Failure:
        """Do the work, in a thread. Return its result or its failure."""
        try:
            return self.work()
        except Exception:  # noqa: BLE001  (handed on to the caller)
            return Failure()
        except BaseException as error:  # noqa: BLE001  (a panic of Rust code, which must not end the thread)
            return Failure(Panic(type(error).__name__))

    def fire(self, outcome: T | Failure) -> None:
        """Hand on the outcome; drop a late one."""
        if not self.result.called:
            self.result.callback(outcome)


def run_relay(steps: Relay[T], call_back: Callable[[Callable[[Any], object], Any], object]) -> Deferred[T]:
    """Run the steps one after the other and return what the generator returns, or raise what it raises.

    `call_back` calls in the reactor's thread with a value; it is used once, at the end. Cancelling drops the result:
    the step under way ends, and none begins after it.
    """
    over: Deferred[T] = Deferred()
    _go_on(steps, call_back, over, None)
    return over


def _go_on(
    steps: Relay[T], call_back: Callable[[Callable[[Any], object], Any], object], over: Deferred[T], outcome: object
) -> None:
    """Take the next step with what came of the one before, in the thread of that one.

    It stands by itself: a function that held itself would be freed by the garbage collector alone.
    """
    if over.called:  # cancelled
        return
    try:
        step = outcome.throwExceptionIntoGenerator(steps) if isinstance(outcome, Failure) else steps.send(outcome)
        step(partial(_go_on, steps, call_back, over))
    except StopIteration as end:
        call_back(over.callback, end.value)
    except BaseException:  # noqa: BLE001  (handed on to the caller)
        call_back(over.errback, Failure())
