"""The one place that composes what stands between "make this call" and the socket.

Outermost first:

    total deadline                 Deadline.run: everything below is cancelled when it is over
    admission: budget              CallReservation: Ledger.reserve; with a limit, written down before anything leaves,
                                   where other processes' calls may leave no room for it (shared_writer.py);
                                   while one is near, few at once find out what a model costs (reservation.py)
    retry                          RetriedCall: attempts, backoff, the server's shared budget of retries; what a failure
                                   means is the call's Verdict (for models the table is in llm/verdicts.py)
    for each attempt
        admission: budget          once more, when an earlier attempt used what was reserved
        admission: limits, queue   Upstream.enter: circuit, cool-down, pace, cap, turn
        permit                     ended once: success, failure, or given back
        the attempt itself         one bounded HTTP exchange with its own time limits

At the end the reservation is settled by the real use, or released when nothing was used. That is written down, but no
caller waits for it. A call that waits to try again holds no place among those in flight
(docs/decisions/0006-a-place-per-attempt.md).
"""

from __future__ import annotations

import random as random_module
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeVar

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime

from mud_assistant.resilience.admission.quota import Credential, Quota
from mud_assistant.resilience.admission.upstream import Upstream, UpstreamConfig
from mud_assistant.resilience.budget.ledger import Ledger
from mud_assistant.resilience.budget.reservation import CallReservation, LearnedCost
from mud_assistant.resilience.budget.shared import SharedLedger
from mud_assistant.resilience.budget.shared_writer import SharedWriter
from mud_assistant.resilience.budget.writer import Keep, LedgerWriter, SpendingWriter
from mud_assistant.resilience.call import AttemptFunction, Call, CallTarget, RetriedCall
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import BudgetUnkept, GaveWay
from mud_assistant.resilience.snapshot import Snapshot, UpstreamState, quota_state, upstream_state

T = TypeVar("T")

#: Why a server is left alone that this process was not asked to leave alone, and for how many seconds at most.
OF_ANOTHER, LONGEST_HEEDED = "another process was asked to wait", 3600.0


class Standstill(NamedTuple):
    """A server that is to be left alone for so many seconds. `credential` names a key, and never is one.

    Without a `lane` and a `credential` the whole server: its circuit opened.
    """

    origin: str
    credential: str
    lane: str
    seconds: float
    is_circuit: bool = False


class Pipeline:
    """State shared by all calls of a process. Cheap to make; opens nothing, and holds no timer while no call waits."""

    def __init__(
        self,
        clock: IReactorTime,
        random: random_module.Random,
        ledger: Ledger | None = None,
        keep: Keep | None = None,
        shared: SharedLedger | None = None,
    ) -> None:
        """Take `keep`, which writes the ledger down, or `shared`, in which several processes count together.

        With neither, spending is forgotten when the process ends.
        """
        self.clock = clock
        self.ledger = ledger
        self.random = random
        self._writer: SpendingWriter | None = None
        if ledger and shared:
            self._writer = SharedWriter(ledger, shared)
        elif ledger and keep:
            self._writer = LedgerWriter(ledger, keep)
        self._upstreams: dict[str, Upstream] = {}
        #: Calls under way that do not give way, by server; `_giving_way` has what ends the one that gives way to them.
        self._calls: Counter[str] = Counter()
        self._giving_way: dict[str, Callable[[], None]] = {}
        self._credentials: dict[tuple[str, str], Credential] = {}
        self._quotas: dict[CallTarget, Quota] = {}
        self._costs: dict[tuple[str, str], LearnedCost] = {}
        #: Called when a server asked this process to wait, or its circuit opened here. For other processes.
        self.on_standstill: Callable[[Standstill], None] = lambda _: None

    async def call(self, make: AttemptFunction[T], call: Call, deadline: Deadline) -> T:
        """Return the result of `make`, repeated as long as it is worth it within `deadline`.

        Raises DeadlineExceeded when time is up, NotAdmitted when the call is not made, else the last attempt's error.
        Cancelling cancels everything under way and is not counted as a failure of the server.
        """
        if call.caller.gives_way:
            return await self._call_that_gives_way(make, call, deadline)
        origin = call.target.origin
        self._calls[origin] += 1
        if (give_way := self._giving_way.pop(origin, None)) is not None:
            give_way()
        try:
            reservation = None if self.ledger is None else self._reservation(self.ledger, call)
            made = self._retried(call, deadline, reservation)
            return await deadline.run(made.result(make), made.end)
        finally:
            self._calls[origin] -= 1

    async def _call_that_gives_way(self, make: AttemptFunction[T], call: Call, deadline: Deadline) -> T:
        """Return the result of a call that gives way. Raises GaveWay as soon as another call wants the server."""
        origin = call.target.origin
        refusal = GaveWay(f"{origin} is wanted for something else")
        if self._calls[origin] or origin in self._giving_way:
            raise refusal
        made = self._retried(call, deadline)
        work = deadline.run(made.result(make), made.end)
        gave_way = False

        def give_way() -> None:
            nonlocal gave_way
            gave_way = True
            work.cancel()

        self._giving_way[origin] = give_way
        try:
            return await work
        except CancelledError:
            if gave_way:
                raise refusal from None
            raise
        finally:
            if self._giving_way.get(origin) is give_way:
                del self._giving_way[origin]

    def _retried(self, call: Call, deadline: Deadline, reservation: CallReservation | None = None) -> RetriedCall:
        """Return a call with the shared state of its server."""
        upstream, quota = self.upstream(call.target.origin, call.upstream), self.quota(call.target)
        return RetriedCall(call, deadline, upstream, quota, self.random, reservation=reservation)

    async def read_ledger(self) -> None:
        """Learn what was spent today before, and elsewhere, from the shared ledger. Does nothing without one."""
        if self._writer is not None:
            await self._writer.load()

    async def write_ledger(self) -> None:
        """Wait until all spent until now is written down, or cannot be, which is logged. For a clean stop.

        Cancelling does not stop the write.
        """
        if self._writer is not None:
            with suppress(BudgetUnkept):
                await self._writer.write()

    def upstream(self, origin: str, config: UpstreamConfig | None = None) -> Upstream:
        """Return the shared state of one server, made at its first use."""
        if origin not in self._upstreams:
            self._upstreams[origin] = upstream = Upstream(origin, self.clock, self.random, config)
            upstream.on_open = lambda seconds: self.on_standstill(Standstill(origin, "", "", seconds, is_circuit=True))
        return self._upstreams[origin]

    def quota(self, target: CallTarget) -> Quota:
        """Return the shared limits of one credential and lane at one server."""
        if target not in self._quotas:
            credential = self.credential(target.origin, target.credential)
            self._quotas[target] = quota = Quota(target.lane, self.clock.seconds, credential)
            quota.on_cool = lambda seconds: self.on_standstill(Standstill(*target, seconds))
        return self._quotas[target]

    def heed(self, told: Standstill) -> None:
        """Leave a server alone because of what it said to another process, as if it had been said to this one."""
        upstream = self._upstreams.get(told.origin)
        if told.is_circuit:
            if upstream is not None:
                upstream.heed(OF_ANOTHER)
            return
        quota = self.quota(CallTarget(told.origin, told.credential, told.lane))
        until = self.clock.seconds() + min(told.seconds, LONGEST_HEEDED)
        if quota.heed(until, OF_ANOTHER) and upstream is not None:
            upstream.limits_changed()

    def _reservation(self, ledger: Ledger, call: Call) -> CallReservation:
        """Return what pays for this call."""
        learned, caller, accounts = self._learned_cost(call.target), call.caller, call.caller.accounts
        if accounts and call.counted_by is not None:
            accounts = (*accounts, call.counted_by)
        return CallReservation(ledger, self._writer, learned, accounts, call.estimate, is_urgent=caller.is_urgent)

    def _learned_cost(self, target: CallTarget) -> LearnedCost:
        """Return the known cost of one model, shared by all who pay for it."""
        key = (target.origin, target.lane)
        if key not in self._costs:
            self._costs[key] = LearnedCost()
        return self._costs[key]

    def configuration_changed(self, origin: str | None = None) -> None:
        """Forget all refusals of the credentials, models and limits of this server: its settings are new.

        Without an origin, do so for every server.
        """
        for target, quota in self._quotas.items():
            if origin in {None, target.origin}:
                quota.forgive()
        for name, upstream in self._upstreams.items():
            if origin in {None, name}:
                upstream.let_in()

    def credential(self, origin: str, name: str) -> Credential:
        """Return the shared state of one key at one server."""
        return self._credentials.setdefault((origin, name), Credential(name))

    def servers(self) -> tuple[UpstreamState, ...]:
        """Return the state of each server that was asked, by its origin. Cheaper than a whole snapshot."""
        return tuple(upstream_state(upstream) for _, upstream in sorted(self._upstreams.items()))

    def snapshot(self) -> Snapshot:
        """Return the state of everything at this moment, for an operator."""
        return Snapshot(
            self.clock.seconds(),
            self.servers(),
            tuple(quota_state(target.origin, quota) for target, quota in self._quotas.items()),
            self.ledger.snapshot() if self.ledger else (),
        )
