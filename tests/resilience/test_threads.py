"""Threads for work that blocks: as many as allowed, a bounded queue, and the program waits for none of them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, gatherResults
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from mud_assistant.resilience.background import DaemonThreads, Full, Panic, Relay, in_daemon_thread, run_relay
from mud_assistant.resilience.errors import DeadlineExceeded

BRIEF = 5.0  # seconds that a thread of a failing test waits at most


@contextmanager
def pool(reactor: Any, **options: int) -> Iterator[DaemonThreads[Any]]:
    threads: DaemonThreads[Any] = DaemonThreads(reactor, "test", **options)
    try:
        yield threads
    finally:
        threads.close()


async def test_results_and_errors_come_back_from_daemon_threads(reactor: Any) -> None:
    with pool(reactor) as threads:
        assert await threads.run(lambda: threading.current_thread().daemon) is True
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 / 0)

        def panic() -> None:
            raise SystemExit(3)

        with pytest.raises(Panic, match="SystemExit"):
            await threads.run(panic)
        assert await threads.run(lambda: "still here") == "still here"


async def test_no_more_than_two_run_at_a_time_and_all_get_their_turn(reactor: Any) -> None:
    running, most, lock = set[int](), 0, threading.Lock()
    together = threading.Barrier(2, timeout=BRIEF)

    def work() -> str:
        nonlocal most
        with lock:
            running.add(threading.get_ident())
            most = max(most, len(running))
        together.wait()
        with lock:
            running.discard(threading.get_ident())
        return threading.current_thread().name

    with pool(reactor) as threads:
        names = await gatherResults([threads.run(work) for _ in range(8)])
    assert most == 2
    assert set(names) == {"test-1", "test-2"}


async def test_the_queue_is_bounded_and_a_cancelled_call_leaves_it(reactor: Any) -> None:
    go, begun = threading.Event(), threading.Event()

    def block() -> str:
        begun.set()
        go.wait(BRIEF)
        return "done"

    with pool(reactor, size=1, waiting=1) as threads:
        first = threads.run(block)
        begun.wait(BRIEF)
        waiting = threads.run(lambda: "never")
        with pytest.raises(Full):
            threads.run(lambda: "too many")
        waiting.cancel()
        with pytest.raises(CancelledError):
            await waiting
        last = threads.run(lambda: "last")
        go.set()
        assert (await first, await last) == ("done", "last")


async def test_the_late_result_of_a_cancelled_call_is_dropped(reactor: Any) -> None:
    go, begun = threading.Event(), threading.Event()

    def block() -> str:
        begun.set()
        go.wait(BRIEF)
        raise RuntimeError("late")

    with pool(reactor, size=1) as threads:
        work = threads.run(block)
        begun.wait(BRIEF)
        work.cancel()
        with pytest.raises(CancelledError):
            await work
        go.set()
        assert await threads.run(lambda: "next") == "next"


async def test_closing_cancels_what_waits_and_waits_for_nothing(reactor: Any) -> None:
    go, begun = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        go.wait(BRIEF)

    threads: DaemonThreads[Any] = DaemonThreads(reactor, "test", size=1)
    running = threads.run(block)
    begun.wait(BRIEF)
    waiting = threads.run(block)
    threads.close()
    assert not go.is_set()
    with pytest.raises(CancelledError):
        await waiting
    with pytest.raises(CancelledError):
        threads.run(block)
    running.addErrback(lambda _: None).cancel()
    go.set()
    await deferLater(reactor, 0)


async def test_calls_made_at_once_are_as_many_as_run_and_wait_together(reactor: Any) -> None:
    go = threading.Event()
    with pool(reactor, size=2, waiting=3) as threads:
        calls = [threads.run(lambda: go.wait(BRIEF)) for _ in range(5)]
        assert threads.is_busy
        with pytest.raises(Full):
            threads.run(lambda: "too many")
        go.set()
        assert await gatherResults(calls) == [True] * 5
        assert not threads.is_busy


async def test_work_in_a_thread_of_its_own_leaves_the_reactor_alone(reactor: Any) -> None:
    go = threading.Event()

    def work() -> bool:
        go.wait(BRIEF)
        return threading.current_thread().daemon

    result = in_daemon_thread(reactor, BRIEF, work)
    assert await in_daemon_thread(reactor, BRIEF, lambda: "beside it") == "beside it"
    await deferLater(reactor, 0)
    go.set()
    assert await result is True


async def test_an_error_of_work_in_a_thread_comes_back(reactor: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        await in_daemon_thread(reactor, BRIEF, lambda: 1 / 0)

    def panic() -> None:
        raise SystemExit(3)

    with pytest.raises(Panic, match="SystemExit"):
        await in_daemon_thread(reactor, BRIEF, panic)


@pytest.mark.parametrize("error", [None, RuntimeError("late")])
async def test_what_a_thread_brings_after_the_deadline_is_dropped(reactor: Any, error: Exception | None) -> None:
    go, ended = threading.Event(), threading.Event()

    def late() -> None:
        go.wait(BRIEF)
        reactor.callFromThread(reactor.callLater, 0, ended.set)
        if error:
            raise error

    with pytest.raises(DeadlineExceeded):
        await in_daemon_thread(reactor, 0.01, late)
    go.set()
    while not ended.is_set():
        await deferLater(reactor, 0.001)


def test_a_program_ends_though_work_in_threads_hangs() -> None:
    code = """if True:
        from threading import Barrier, Event
        from twisted.internet import reactor
        from mud_assistant.resilience.background import DaemonThreads, in_daemon_thread
        together = Barrier(3)
        def hang():
            together.wait(5)
            Event().wait(600)
        in_daemon_thread(reactor, 60.0, hang).addErrback(lambda _: None)
        DaemonThreads(reactor, "test").run(hang)
        def stop():
            together.wait(5)
            reactor.stop()
        reactor.callLater(0.01, stop)
        reactor.run()
        """
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=20).returncode == 0


async def test_a_call_that_stays_in_its_thread_wakes_nobody(reactor: Any) -> None:
    told: list[object] = []
    with pool(Unwoken(), size=1) as threads:
        over = threading.Event()
        threads.run_then(lambda: "done", lambda result: told.append((result, threading.current_thread().name)))
        threads.run_then(lambda: 1 / 0, told.append)
        threads.run_then(lambda: None, lambda _: over.set())
        assert over.wait(BRIEF)
    assert told[0] == ("done", "test-1")
    assert isinstance(told[1], Failure)
    assert told[1].check(ZeroDivisionError)


async def test_calls_that_stay_are_bounded_and_end_when_it_closes(reactor: Any) -> None:
    begun, go, told = threading.Event(), threading.Event(), list[object]()

    def block() -> None:
        begun.set()
        go.wait(BRIEF)

    with pool(reactor, size=1, waiting=1) as threads:
        threads.run_then(block, told.append)
        begun.wait(BRIEF)
        threads.run_then(lambda: "never", told.append)
        with pytest.raises(Full):
            threads.run_then(lambda: "too many", told.append)
        threads.close()
        go.set()
        with pytest.raises(CancelledError):
            threads.run_then(lambda: "late", told.append)
    cancelled = [result for result in told if isinstance(result, Failure)]
    assert [failure.type for failure in cancelled] == [CancelledError]


class Unwoken:
    """A reactor that no thread may wake."""

    def callFromThread(self, *_: object) -> None:  # noqa: N802  (Twisted's name)
        """Fail the test."""
        raise AssertionError("the reactor was woken")


def in_turns(first: DaemonThreads[Any], second: DaemonThreads[Any], names: list[str], error: bool) -> Relay[str]:
    def name() -> str:
        return threading.current_thread().name

    names.append((yield partial(first.run_then, name)))
    names.append((yield partial(second.run_then, name)))
    if error:
        try:
            yield partial(first.run_then, lambda: 1 / 0)
        except ZeroDivisionError:
            names.append(name())
            raise
    over: str = yield partial(first.run_then, lambda: "over")
    return over


async def test_a_relay_goes_from_thread_to_thread_and_wakes_the_reactor_once(reactor: Any) -> None:
    wakes = 0

    def call_back(call: Callable[[Any], object], value: object) -> None:
        nonlocal wakes
        wakes += 1
        reactor.callFromThread(call, value)

    one: DaemonThreads[Any] = DaemonThreads(Unwoken(), "one", size=1)
    other: DaemonThreads[Any] = DaemonThreads(Unwoken(), "other", size=1)
    names: list[str] = []
    assert await run_relay(in_turns(one, other, names, error=False), call_back) == "over"
    assert (names, wakes) == (["one-1", "other-1"], 1)
    with pytest.raises(ZeroDivisionError):
        await run_relay(in_turns(one, other, names, error=True), call_back)
    assert (names[2:], wakes) == (["one-1", "other-1", "one-1"], 2)
    other.close()
    with pytest.raises(CancelledError):
        await run_relay(in_turns(one, other, names, error=False), call_back)
    one.close()


async def test_a_cancelled_relay_begins_no_further_step(reactor: Any) -> None:
    begun, go, after = threading.Event(), threading.Event(), list[str]()

    def block() -> None:
        begun.set()
        go.wait(BRIEF)

    with pool(reactor, size=1) as threads:

        def steps() -> Relay[None]:
            yield partial(threads.run_then, block)
            after.append("went on")

        running = run_relay(steps(), reactor.callFromThread)
        begun.wait(BRIEF)
        running.cancel()
        with pytest.raises(CancelledError):
            await running
        go.set()
        await threads.run(lambda: None)
    assert after == []
