"""How fast keys ask, and who tries keys that are not known. `now` gives seconds of the clock."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from twisted.logger import Logger

#: Wrong keys of one address in a minute, and how many addresses are known.
TRIES_A_MINUTE, _MAX_ADDRESSES = 10, 1_000
_MINUTE = 60.0
#: What counts as a whole request: whoever waited as long as they were told must not lack a billionth of one.
_ONE = 1.0 - 1e-5

_log = Logger()


class TokenBucket:
    """Lets through `rate` requests a second on average, and `burst` at once."""

    def __init__(self, now: Callable[[], float], rate: float, burst: int) -> None:
        self._now = now
        self.rate = rate
        self.burst = burst
        self._left = float(burst)
        self._since = now()

    def take(self) -> float:
        """Take one request and return 0, or return the seconds until there is one."""
        left = self.left()
        if left < _ONE:
            return (1.0 - left) / self.rate
        self._left, self._since = max(0.0, left - 1.0), self._now()
        return 0.0

    def left(self) -> float:
        """Return how many requests would be let through now."""
        return min(float(self.burst), self._left + max(0.0, self._now() - self._since) * self.rate)


class WrongTries:
    """Counts wrong keys by the address that sent them, for the 1,000 addresses that did so last."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._by_address: OrderedDict[str, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        """Return how many addresses are known."""
        return len(self._by_address)

    def count(self, address: str) -> float:
        """Count a wrong key. Return 0, or the seconds to wait when there were too many."""
        bucket = self._by_address.get(address)
        if bucket is None:
            bucket = self._by_address[address] = TokenBucket(self._now, TRIES_A_MINUTE / _MINUTE, TRIES_A_MINUTE)
            if len(self._by_address) > _MAX_ADDRESSES:
                self._by_address.popitem(last=False)
        self._by_address.move_to_end(address)
        wait = bucket.take()
        if not wait and bucket.left() < _ONE:
            _log.warn("{address} tries keys of the gateway that are not known", log_event="gateway", address=address)
        return wait


class KeyUse:
    """What one key does now: its requests in flight, and how fast it asks."""

    def __init__(self, now: Callable[[], float], per_second: int) -> None:
        self.in_flight = 0
        self._now = now
        self.bucket = TokenBucket(now, per_second, per_second)

    def adjust(self, per_second: int) -> None:
        """Use this rate from now on."""
        if self.bucket.burst != per_second:
            self.bucket = TokenBucket(self._now, per_second, per_second)
