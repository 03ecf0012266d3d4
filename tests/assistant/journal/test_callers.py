"""Those whom the journal makes go on: a few in each turn of the reactor, in the order in which they asked."""

from __future__ import annotations

from collections import Counter
from functools import partial
from threading import Event
from typing import Any, Self

from tests.assistant.journal.keeping import Place, store_in
from tests.guards import FlushFailures

CALLERS = 40
#: Each may go on with a run, which takes up to a millisecond of the reactor's time.
IN_ONE_TURN = 8


class Turns:
    """Counts the turns of the reactor while its block lasts."""

    def __init__(self, reactor: Any) -> None:
        self.now = 0
        self._reactor = reactor
        self._next: Any = None

    def __enter__(self) -> Self:
        self._count()
        return self

    def __exit__(self, *_: object) -> None:
        self._next.cancel()

    def _count(self) -> None:
        self.now += 1
        self._next = self._reactor.callLater(0, self._count)


async def test_callers_of_one_commit_go_on_a_few_in_a_turn_and_in_order(place: Place, reactor: Any) -> None:
    store = store_in(place, reactor)
    await store.open()
    all_have_asked = Event()
    store.write(lambda _: all_have_asked.wait())
    told: list[tuple[int, int]] = []
    with Turns(reactor) as turns:
        for number in range(CALLERS):
            store.write(partial(_same, number)).addCallback(lambda value: told.append((value, turns.now)))
        closing = store.close()
        all_have_asked.set()
        await closing
    assert [value for value, _ in told] == list(range(CALLERS))
    assert max(Counter(turn for _, turn in told).values()) <= IN_ONE_TURN


async def test_what_a_thread_calls_is_made_a_few_in_a_turn_and_in_order(place: Place, reactor: Any) -> None:
    store = store_in(place, reactor)
    await store.open()
    made: list[tuple[int, int]] = []
    with Turns(reactor) as turns:
        for number in range(CALLERS):
            store.call_back(lambda value: made.append((value, turns.now)), number)
        await store.close()
    assert [value for value, _ in made] == list(range(CALLERS))
    assert max(Counter(turn for _, turn in made).values()) <= IN_ONE_TURN


async def test_what_raises_keeps_no_other_from_going_on(
    place: Place, reactor: Any, flush_failures: FlushFailures
) -> None:
    store = store_in(place, reactor)
    await store.open()
    store.call_back(_raise, "a fault of ours")
    assert await store.write(partial(_same, 7)) == 7
    await store.close()
    assert len(flush_failures(RuntimeError)) == 1


def _same(number: int, _: object) -> int:
    return number


def _raise(words: str) -> None:
    raise RuntimeError(words)
