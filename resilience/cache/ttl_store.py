"""A bounded store of values that expire; the least recently used is dropped first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: How many entries of the expiry order may be left over from values that were dropped before they expired.
_SPARE = 64


@dataclass(frozen=True, slots=True)
class StoredValue(Generic[V]):
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
