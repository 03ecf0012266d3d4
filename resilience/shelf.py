"""A bounded shelf of values that age; the least recently used goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: How many entries of the expiry order may be left over from values that went before their time.
_SPARE = 64


@dataclass(frozen=True, slots=True)
class Kept(Generic[V]):
    """A value on the shelf. `size` in bytes, `expires_at` in seconds of the clock; `serial` is of this value alone."""

    value: V
    size: int
    expires_at: float
    serial: int


class Shelf(Generic[K, V]):
    """Values by key, `max_bytes` of them at most; `now` gives seconds.

    Expired values go when they are asked for and whenever a value comes, before any fresh one has to. `evicted` counts
    the fresh ones that went for want of room.
    """

    def __init__(self, now: Callable[[], float], max_bytes: int) -> None:
        self._now = now
        self._max_bytes = max_bytes
        self._kept: OrderedDict[K, Kept[V]] = OrderedDict()
        self._expiries: list[tuple[float, int, K]] = []
        self._serials = count()
        self.bytes = 0
        self.evicted = 0

    def __len__(self) -> int:
        """How many values are held, those that expired unnoticed among them."""
        return len(self._kept)

    def find(self, key: K) -> Kept[V] | None:
        """The value when there is a fresh one, which now counts as used."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.expires_at <= self._now():
            self.drop(key)
            return None
        self._kept.move_to_end(key)
        return kept

    def put(self, key: K, value: V, size: int, ttl_seconds: float) -> None:
        """Keep a value of `size` bytes for `ttl_seconds`, unless it is larger than the whole shelf."""
        self.drop(key)
        self._drop_expired()
        if size > self._max_bytes or ttl_seconds <= 0:
            return
        while self.bytes + size > self._max_bytes:
            self.drop(next(iter(self._kept)))
            self.evicted += 1
        kept = Kept(value, size, self._now() + ttl_seconds, next(self._serials))
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
        """Rebuild the order of expiry when most of it tells of values that are gone."""
        if len(self._expiries) > 2 * len(self._kept) + _SPARE:
            self._expiries = [(kept.expires_at, kept.serial, key) for key, kept in self._kept.items()]
            heapify(self._expiries)
