"""A cache that makes each value once, however many callers ask for it meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from resilience.cache.shared_work import SharedWork
from resilience.cache.ttl_store import TtlStore

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache holds and did. `entries` and `bytes` include what expired and was not noticed yet.

    Each `get` is one of `hits` (a stored value), `misses` (it started work) and `shared` (it joined work). `evicted`
    counts fresh values dropped for want of room, `in_flight` work that callers wait for.
    """

    entries: int
    bytes: int
    hits: int
    misses: int
    shared: int
    evicted: int
    in_flight: int


class Cache(Generic[K, V]):
    """Values by key, `max_bytes` of them as `size_of` counts, each fresh for `ttl_seconds` since it arrived.

    All callers get the same object, so they must not change it. There are no timers: an expired value goes when it is
    asked for or when another value comes.
    """

    def __init__(self, clock: IReactorTime, max_bytes: int, ttl_seconds: float, size_of: Callable[[V], int]) -> None:
        self._ttl_seconds = ttl_seconds
        self._size_of = size_of
        self._store: TtlStore[K, V] = TtlStore(clock.seconds, max_bytes)
        self._works: dict[K, SharedWork[V]] = {}
        self._hits = self._misses = self._shared = 0

    def get(
        self, key: K, make: Callable[[], Coroutine[Deferred[Any], Any, V]], ttl_seconds: float | None = None
    ) -> Deferred[V]:
        """Return the fresh value of `key`, or the result of one `make()` shared by all who ask before it is done.

        `ttl_seconds` is for the value this call starts to make; one found or under way keeps its own. Fails with the
        error that `make` raised (which is not stored), or with CancelledError after `clear`. Cancelling removes this
        caller; when none is left the work is cancelled, and the next caller starts anew. `make` must not await its own
        key.
        """
        kept = self._store.find(key)
        if kept is not None:
            self._hits += 1
            return succeed(kept.value)
        work = self._works.get(key)
        if work is not None:
            self._shared += 1
            return work.join()
        self._misses += 1
        return self._start(key, make, self._ttl_seconds if ttl_seconds is None else ttl_seconds)

    def clear(self) -> None:
        """Forget all values and cancel all work; waiting callers get CancelledError."""
        self._store.clear()
        works = list(self._works.values())
        self._works.clear()
        for work in works:
            work.stop()

    @property
    def stats(self) -> CacheStats:
        """The present contents of the cache and its counts so far."""
        return CacheStats(
            entries=len(self._store),
            bytes=self._store.bytes,
            hits=self._hits,
            misses=self._misses,
            shared=self._shared,
            evicted=self._store.evicted,
            in_flight=len(self._works),
        )

    def _start(self, key: K, make: Callable[[], Coroutine[Deferred[Any], Any, V]], ttl_seconds: float) -> Deferred[V]:
        def forget(work: SharedWork[V]) -> None:
            if self._works.get(key) is work:
                del self._works[key]

        async def fill() -> V:
            value = await make()
            if self._works.get(key) is work:
                self._store.put(key, value, self._size_of(value), ttl_seconds)
            return value

        work = SharedWork(forget)
        self._works[key] = work
        waiter = work.join()  # before the start, so that work which ends at once has a waiter
        work.start(fill())
        return waiter
