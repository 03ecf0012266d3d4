"""Decides whether and when a failed attempt is tried again: what its failure means, how often, how long to wait."""

from __future__ import annotations

import random as random_module
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one failure means.

    `is_failure`: it counts against the server's health. `may_retry`: the same request may succeed later; at most
    `most_attempts` times in all. `throttled`: the server has too much to do from us. `not_before`: the wait that the
    server asked for, in clock seconds, which holds for every call with the same credential and model. `revokes`: the
    credential is no good. `is_missing`: the server does not have what was asked for. `in_vain_seconds`: how long the
    server is left alone when this was the last attempt. `cause` is shown to the operator.
    """

    cause: str
    is_failure: bool = False
    may_retry: bool = False
    most_attempts: int | None = None
    throttled: bool = False
    not_before: float | None = None
    revokes: bool = False
    is_missing: bool = False
    in_vain_seconds: float = 0.0

    def with_retry(self, may_retry: bool) -> Verdict:
        """Return the same verdict with the server's own word on trying again."""
        return replace(self, may_retry=may_retry)


#: Judges the error of an attempt; never given a cancellation.
Judge = Callable[[Exception], Verdict]

#: Statuses that may be better the next time: those that OpenAI's and Anthropic's own clients retry.
RETRYABLE = frozenset({408, 409, 429, *range(500, 600)})


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """How one call is tried again. Delays in seconds.

    The delay after attempt n is random, between 0 and `base_delay * exponential_base ** (n - 1)`, at most `max_delay`
    (full jitter). The judge of the call retries failures whose HTTP status is in `retryable_status_codes`. A wait that
    the server asked for is the least that is waited. When it asks for more than `max_retry_after`, no retry is made.
    """

    max_attempts: int = 3
    base_delay: float = 1.0
    max_delay: float = 30.0
    exponential_base: float = 2.0
    retryable_status_codes: frozenset[int] = RETRYABLE
    max_retry_after: float = 60.0


def ceiling(attempt: int, config: RetryConfig) -> float:
    """Return the longest delay in seconds after attempt number `attempt`, which counts from 1."""
    exponent = min(attempt - 1, 64)
    return float(min(config.max_delay, config.base_delay * config.exponential_base**exponent))


def delay(attempt: int, config: RetryConfig, random: random_module.Random, retry_after: float = 0.0) -> float:
    """Return the seconds to wait after attempt number `attempt`.

    `retry_after` is the wait in seconds that the server asked for. The random delay is added to it: callers that were
    refused together do not come back together, and none comes back before it was asked to. When a server throttles
    without naming a wait, the caller must pass a `retry_after` of its own: full jitter alone would often come back at
    once.
    """
    return retry_after + random.uniform(0.0, ceiling(attempt, config))
