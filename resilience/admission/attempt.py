"""One attempt at a call, from its admission to its end."""

from __future__ import annotations

from collections.abc import Callable

from resilience.admission.breaker import Permit
from resilience.admission.in_flight import InFlight
from resilience.admission.quota import Quota
from resilience.admission.rate_limit_window import RateLimitSnapshot
from resilience.amounts import Amount
from resilience.retry_policy import Verdict


class Attempt:
    """One attempt that is being made. It ends exactly once: succeeded, failed, or given back.

    `used` is what it has cost so far, kept up to date by the code that makes the attempt. Call `heard` whenever the
    server sent something. `on_end` is called when it has ended.
    """

    __slots__ = ("_in_flight", "_number", "_on_end", "_permit", "_reserved", "heard", "quota", "used")

    def __init__(
        self, permit: Permit, quota: Quota, tokens: int, in_flight: InFlight, on_end: Callable[[], None]
    ) -> None:
        """Begin an attempt of so many tokens: it counts against the quota and the cap from now on."""
        self._permit = permit
        self._reserved = quota.send(tokens)
        self._in_flight = in_flight
        self._number = in_flight.enter()
        self._on_end = on_end
        self.quota = quota
        self.used = Amount()
        self.heard = permit.heard

    def note_limits(self, requests: RateLimitSnapshot | None, tokens: RateLimitSnapshot | None) -> None:
        """Note what the response says of the limits."""
        self.quota.apply(self._reserved, requests, tokens)

    def succeeded(self) -> None:
        """End the attempt: the answer is whole and good."""
        self._permit.success()
        self._in_flight.succeeded()
        self.quota.accepted()
        self.quota.ended(self._reserved, well=True)
        self._on_end()

    def failed(self, verdict: Verdict) -> None:
        """End the attempt: it failed, with this verdict."""
        self.quota.ended(self._reserved, well=False)
        if verdict.is_failure:
            self._permit.failure(verdict.cause)
        else:
            self._permit.give_back(verdict.cause)
        if verdict.throttled:
            self._in_flight.throttled(self._number)
            self.quota.refused()
        self._on_end()

    def give_back(self) -> None:
        """End the attempt: the caller does not want it any more."""
        self.quota.ended(self._reserved, well=False)
        self._permit.give_back("cancelled")
        self._on_end()
