"""How fast keys ask, and who tries keys that are not known. `now` gives seconds of the clock."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from mud_assistant.assistant.http_server.token_bucket import WHOLE, TokenBucket, TokenBuckets

#: Wrong keys of one address in a minute.
TRIES_A_MINUTE = 10

_log = Logger()


class WrongTries(TokenBuckets):
    """Counts wrong keys by the address that sent them, for the 1,000 addresses that did so last."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(now, TRIES_A_MINUTE / 60, TRIES_A_MINUTE)

    def count(self, address: str) -> float:
        """Count a wrong key. Return 0, or the seconds to wait when there were too many."""
        wait = self.take(address)
        if not wait and self.left(address) < WHOLE:
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
