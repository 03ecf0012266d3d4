"""A cache that makes each value once, however many callers ask for it meanwhile, and keeps it until it expires.

Its parts: work that several callers wait for (`SharedWork`), and a bounded store of values that expire, in which the
least recently used is dropped first (`TtlStore`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

from msgspec import Struct
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

K = TypeVar("K")
V = TypeVar("V")
_log = Logger()
#: How many entries of the expiry order may be left over from values that were dropped before they expired.
_SPARE = 64


class CacheStats(Struct, frozen=True):
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


class SharedWork(Generic[V]):
    """Work and the callers that wait for it, each on a Deferred of its own. The last one to leave cancels it.

    `on_end` is called once, before any caller hears of the end. After it no caller may join.
    """

    def __init__(self, on_end: Callable[[SharedWork[V]], None]) -> None:
        self._on_end = on_end
        self._waiting: list[Deferred[V]] = []
        self._running: Deferred[V] | None = None
        self._ended = False

    def join(self) -> Deferred[V]:
        """Wait for the result of the work or its error. Cancelling removes this caller only, unless no other waits."""
        waiter: Deferred[V] = Deferred(self._leave)
        self._waiting.append(waiter)
        return waiter

    def start(self, work: Coroutine[Deferred[Any], Any, V]) -> None:
        """Start the work. At least one caller should have joined."""
        self._running = Deferred.fromCoroutine(work)
        self._running.addBoth(self._land)
        if self._ended:  # the work stopped itself before it first waited, when there was nothing to cancel yet
            self._running.cancel()

    def stop(self) -> None:
        """Cancel the work; waiting callers get CancelledError. If it goes on regardless, its result is dropped."""
        if self._ended:
            return
        self._end()
        if self._running is not None:
            self._running.cancel()
        while self._waiting:
            self._waiting.pop(0).errback(CancelledError())

    def _leave(self, waiter: Deferred[V]) -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)
            if not self._waiting:
                self.stop()

    def _end(self) -> None:
        self._ended = True
        self._on_end(self)

    def _land(self, result: V | Failure) -> None:
        """Tell all callers, one by one: telling one may make others leave."""
        if self._ended:
            _note_late(result)
            return
        self._end()
        while self._waiting:
            self._waiting.pop(0).callback(_own(result))


def _own(result: V | Failure) -> V | Failure:
    """Return the result for one caller: for an error, a Failure of its own around the same exception."""
    if isinstance(result, Failure):
        return Failure(result.value, result.type, result.getTracebackObject())
    return result


def _note_late(result: object) -> None:
    """Log how abandoned work failed, unless it was cancelled, as intended."""
    if isinstance(result, Failure) and not result.check(CancelledError):
        _log.debug("late failure of abandoned work: {kind}", kind=type(result.value).__name__)


class StoredValue(Struct, Generic[V], frozen=True):
    """A stored value. `size` in bytes, `expires_at` in seconds of the clock; `serial` is unique to this value."""

    value: V
    size: int
    expires_at: float
    serial: int


class TtlStore(Generic[K, V]):
    """Values by key, at most `max_bytes` of them; `now` gives seconds.

    Expired values are dropped when they are asked for and whenever a value comes, before any fresh one is. `evicted`
    counts the fresh values that were dropped for want of room.
    """

    def __init__(self, now: Callable[[], float], max_bytes: int) -> None:
        self._now = now
        self._max_bytes = max_bytes
        self._kept: OrderedDict[K, StoredValue[V]] = OrderedDict()
        self._expiries: list[tuple[float, int, K]] = []
        self._serials = count()
        self.bytes = 0
        self.evicted = 0

    def __len__(self) -> int:
        """Return how many values are held, including expired ones not noticed yet."""
        return len(self._kept)

    def find(self, key: K) -> StoredValue[V] | None:
        """Return the fresh value, which now counts as used; None when there is none."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.expires_at <= self._now():
            self.drop(key)
            return None
        self._kept.move_to_end(key)
        return kept

    def put(self, key: K, value: V, size: int, ttl_seconds: float) -> None:
        """Store a value of `size` bytes for `ttl_seconds`, unless it is larger than the whole store."""
        self.drop(key)
        self._drop_expired()
        if size > self._max_bytes or ttl_seconds <= 0:
            return
        while self.bytes + size > self._max_bytes:
            self.drop(next(iter(self._kept)))
            self.evicted += 1
        kept = StoredValue(value, size, self._now() + ttl_seconds, next(self._serials))
        self._kept[key] = kept
        self.bytes += size
        heappush(self._expiries, (kept.expires_at, kept.serial, key))
        self._tidy()

    def drop(self, key: K) -> None:
        """Forget one value, if it is there."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.bytes -= kept.size

    def clear(self) -> None:
        """Forget all values."""
        self._kept.clear()
        self._expiries.clear()
        self.bytes = 0

    def _drop_expired(self) -> None:
        now = self._now()
        while self._expiries and self._expiries[0][0] <= now:
            _, serial, key = heappop(self._expiries)
            kept = self._kept.get(key)
            if kept is not None and kept.serial == serial:
                self.drop(key)

    def _tidy(self) -> None:
        """Rebuild the order of expiry when most of its entries are of values that are gone."""
        if len(self._expiries) > 2 * len(self._kept) + _SPARE:
            self._expiries = [(kept.expires_at, kept.serial, key) for key, kept in self._kept.items()]
            heapify(self._expiries)
