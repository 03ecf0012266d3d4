"""Limits how often somebody may ask: some at once, and then as many a second as are earned again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

#: What counts as a whole request: whoever waited as long as they were told must not lack a billionth of one.
WHOLE = 1.0 - 1e-5


class TokenBucket:
    """Lets through `rate` requests a second on average, and `burst` at once. `now` gives seconds of the clock."""

    def __init__(self, now: Callable[[], float], rate: float, burst: int) -> None:
        self._now = now
        self.rate = rate
        self.burst = burst
        self._left = float(burst)
        self._since = now()

    def take(self) -> float:
        """Take one request and return 0, or return the seconds until there is one."""
        left = self.left()
        if left < WHOLE:
            return (1.0 - left) / self.rate
        self._left, self._since = max(0.0, left - 1.0), self._now()
        return 0.0

    def left(self) -> float:
        """Return how many requests would be let through now."""
        return min(float(self.burst), self._left + max(0.0, self._now() - self._since) * self.rate)


class TokenBuckets:
    """A token bucket for each key, such as an address.

    At most `max_keys` are known. The one that was used longest ago is forgotten first, which by then is mostly full.
    """

    def __init__(self, now: Callable[[], float], rate: float, burst: int, max_keys: int = 1_000) -> None:
        self._now = now
        self._rate = rate
        self._burst = burst
        self._max_keys = max_keys
        #: The bucket of each key. The last used is last.
        self._by_key: OrderedDict[str, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        """Return how many keys are known."""
        return len(self._by_key)

    def take(self, key: str) -> float:
        """Take one request of `key` and return 0, or return the seconds to wait when there is none left."""
        return self._bucket(key).take()

    def left(self, key: str) -> float:
        """Return how many requests of `key` would be let through now."""
        return self._bucket(key).left()

    def _bucket(self, key: str) -> TokenBucket:
        bucket = self._by_key.get(key)
        if bucket is None:
            bucket = self._by_key[key] = TokenBucket(self._now, self._rate, self._burst)
            if len(self._by_key) > self._max_keys:
                self._by_key.popitem(last=False)
        self._by_key.move_to_end(key)
        return bucket
