"""How long to wait before an attempt is made again, and how often one is made at all."""

from __future__ import annotations

import random as random_module
from dataclasses import dataclass

#: Statuses that may be better the next time (OpenAI's and Anthropic's own clients; reference/llm-wire.md 4).
RETRYABLE = frozenset({408, 409, 429, *range(500, 600)})


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """How one call is tried again. Delays in seconds.

    The delay after attempt n is chance between 0 and `base_delay * exponential_base ** (n - 1)`, at most `max_delay`
    (full jitter). Of the failures with an HTTP status those in `retryable_status_codes` are tried again, by the judge
    of the call. A server's own wish is a floor under it; a wish for more than `max_wish` is not waited for at all.
    """

    max_attempts: int = 3
    base_delay: float = 1.0
    max_delay: float = 30.0
    exponential_base: float = 2.0
    retryable_status_codes: frozenset[int] = RETRYABLE
    max_wish: float = 60.0


def ceiling(attempt: int, config: RetryConfig) -> float:
    """The longest delay in seconds after attempt number `attempt`, which counts from 1."""
    exponent = min(attempt - 1, 64)
    return float(min(config.max_delay, config.base_delay * config.exponential_base**exponent))


def delay(attempt: int, config: RetryConfig, random: random_module.Random, wish: float = 0.0) -> float:
    """Seconds to wait after attempt number `attempt`.

    With a `wish`, in seconds, chance comes on top of it: those who were sent away together do not come back together,
    and none before it was asked to. Throttling without a wish is given one by its caller (full jitter would often
    come back at once).
    """
    return wish + random.uniform(0.0, ceiling(attempt, config))
