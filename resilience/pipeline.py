"""The one place that composes what stands between "make this call" and the socket.

Outermost first:

    total deadline                 Deadline.bound: everything below is cancelled when it is over
    admission: budget              Ledger.reserve: settled by what was used, released when nothing was
    retry                          RetriedCall: attempts, backoff, the server's shared budget of retries
    for each attempt
        admission: limits, queue   Upstream.enter: circuit, cool-down, pace, cap, turn
        permit                     ended once: success, failure, or given back
        the attempt itself         one bounded HTTP exchange with its own time limits

A call that waits to try again holds no place among those on their way (docs/decisions/0006-a-place-per-attempt.md).
"""

from __future__ import annotations

import random as random_module
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from resilience.amounts import Amount
from resilience.budget import Ledger
from resilience.deadline import Deadline
from resilience.order import Attempt, Order, Target
from resilience.quota import Credential, Quota
from resilience.retry import RetriedCall
from resilience.snapshot import Snapshot, quota_state, upstream_state
from resilience.upstream import Upstream, UpstreamConfig

T = TypeVar("T")


class Pipeline:
    """What all calls of a process share. Cheap to make; opens nothing, and holds no timer while nobody waits."""

    def __init__(self, clock: IReactorTime, random: random_module.Random, ledger: Ledger | None = None) -> None:
        self.clock = clock
        self.ledger = ledger
        self.random = random
        self._upstreams: dict[str, Upstream] = {}
        self._credentials: dict[tuple[str, str], Credential] = {}
        self._quotas: dict[Target, Quota] = {}

    async def call(self, attempt: Attempt[T], order: Order, deadline: Deadline) -> T:
        """The result of `attempt`, made as often as it is worth it within `deadline`.

        Raises DeadlineExceeded when time is up, NotAdmitted when the call is not made, else what the last attempt
        raised. Cancelling cancels whatever goes on and blames nobody.
        """
        upstream = self.upstream(order.target.origin, order.upstream)
        made = RetriedCall(order, deadline, upstream, self.quota(order.target), self.random)
        return await deadline.bound(Deferred.fromCoroutine(self._paid(attempt, made)), made.end)

    async def _paid(self, attempt: Attempt[T], call: RetriedCall) -> T:
        """The call, with its estimate set aside before it and what it used booked after it."""
        order = call.order
        reservation = self.ledger.reserve(order.caller.accounts, order.estimate) if self.ledger else None
        try:
            return await call.result(attempt)
        finally:
            if reservation is not None and call.used != Amount():
                reservation.settle(call.used)
            elif reservation is not None:
                reservation.release()

    def upstream(self, origin: str, config: UpstreamConfig | None = None) -> Upstream:
        """The shared state of one server, made at its first use."""
        if origin not in self._upstreams:
            self._upstreams[origin] = Upstream(origin, self.clock, self.random, config)
        return self._upstreams[origin]

    def quota(self, target: Target) -> Quota:
        """The shared limits of one credential and lane at one server."""
        if target not in self._quotas:
            key = (target.origin, target.credential)
            credential = self._credentials.setdefault(key, Credential(target.credential))
            self._quotas[target] = Quota(target.lane, self.clock.seconds, credential)
        return self._quotas[target]

    def configuration_changed(self, origin: str) -> None:
        """Forget what was held against the credentials and limits of this server: its settings are new."""
        for target, quota in self._quotas.items():
            if target.origin == origin:
                quota.forgive()
        if origin in self._upstreams:
            self._upstreams[origin].let_in()

    def snapshot(self) -> Snapshot:
        """Everything at this moment, for an operator."""
        return Snapshot(
            self.clock.seconds(),
            tuple(upstream_state(upstream) for _, upstream in sorted(self._upstreams.items())),
            tuple(quota_state(target.origin, quota) for target, quota in self._quotas.items()),
            self.ledger.snapshot() if self.ledger else (),
        )
