"""One server as all callers of the process share it: its breaker, its cap, its queue, its budget of retries.

A call waits in the queue until the server's circuit lets it through, the cap has room, and its credential's limits
allow it. Where a connection must be opened for it, it also waits a little after the last start (many connections opened
in one moment stall the reactor). A call that need not wait is not held back.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Callable
from math import inf

from msgspec import Struct, field
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.resilience.admission.attempt import AdmissionRequest, Attempt, QueueEntry, Ready
from mud_assistant.resilience.admission.breaker import BreakerConfig, Change, CircuitBreaker, CircuitState
from mud_assistant.resilience.admission.capacity import (
    FairQueue,
    InFlight,
    InFlightConfig,
    RetryBudget,
    RetryBudgetConfig,
)
from mud_assistant.resilience.admission.quota import Quota
from mud_assistant.resilience.errors import CircuitOpen, NotAdmitted, QueueFull

_log = Logger()


class UpstreamConfig(Struct, frozen=True):
    """The settings of one server. `queue` is how many calls may wait.

    Starts are spaced by `start_seconds` while more than `start_burst` requests are in flight, and as many as there were
    lately, so that another request needs another connection.
    """

    breaker: BreakerConfig = field(default_factory=BreakerConfig)
    in_flight: InFlightConfig = field(default_factory=InFlightConfig)
    retries: RetryBudgetConfig = field(default_factory=RetryBudgetConfig)
    queue: int = 1000
    start_seconds: float = 0.0025
    start_burst: int = 4


#: How long an idle connection is assumed to be open still, in seconds: less than servers and pools keep it.
CONNECTED_SECONDS = 4.0


class Upstream:
    """One server. `name` is its origin."""

    def __init__(
        self, name: str, clock: IReactorTime, random: random_module.Random, config: UpstreamConfig | None = None
    ) -> None:
        self.name = name
        self.config = config or UpstreamConfig()
        #: Called with the seconds for which the circuit opened because of what happened in this process.
        self.on_open: Callable[[float], None] | None = None
        self._is_heeding = False
        self.breaker = CircuitBreaker(name, clock.seconds, random, self.config.breaker, self._changed)
        self.in_flight = InFlight(self.config.in_flight)
        self.retries = RetryBudget(clock.seconds, self.config.retries)
        self.queue: FairQueue[QueueEntry] = FairQueue()
        self._clock = clock
        self._next_start = float("-inf")
        #: The most requests in flight lately, which is how many connections there are, and when there were so many.
        self._connected, self._connected_at = 0, float("-inf")
        self._timer: IDelayedCall | None = None
        self._is_letting_in = False
        self._must_look_again = False

    def enter_at_once(
        self, quota: Quota, tokens: int, deadline_at: float = inf, *, asker: str = "", is_repeat: bool = False
    ) -> Attempt | None:
        """Return an attempt that need not wait: no other does. None when `enter` must wait or refuse it."""
        now = self._clock.seconds()
        if self.queue or self._is_letting_in or self.in_flight.is_full or deadline_at <= now:
            return None
        if quota.is_revoked(now, asker):
            return None
        if self._start_at(now) > now or quota.ready_at(tokens, now) > now:
            return None
        try:
            return self._admit(quota, tokens, now, asker, is_repeat=is_repeat)
        except CircuitOpen:
            return None

    def enter(self, request: AdmissionRequest) -> Deferred[Attempt]:
        """Wait until the attempt may be made. Fails with NotAdmitted. Cancelling leaves the queue."""
        attempt = self.enter_at_once(
            request.quota, request.tokens, request.deadline_at, asker=request.group, is_repeat=request.is_repeat
        )
        if attempt is not None:
            return succeed(attempt)
        entry = QueueEntry(request, self._leave_queue)
        entered = entry.entered
        refusal = self._open_error() if self._is_open() else entry.refusal() or self._no_room(entry)
        if refusal is not None:
            entered.errback(refusal)
            return entered
        self.queue.add(entry)
        self.let_in()
        return entered

    def left(self) -> None:
        """Note that a request is over: the next may go."""
        self.in_flight.leave()
        self.let_in()

    def heed(self, cause: str) -> None:
        """Open a closed circuit, because it opened in another process."""
        self._is_heeding = True
        try:
            self.breaker.trip(cause)
        finally:
            self._is_heeding = False

    def limits_changed(self) -> None:
        """Refuse the waiting calls that would now wait too long.

        Called when a credential was refused, or the server asked for a wait.
        """
        self._refuse_waiting(QueueEntry.refusal)
        self.let_in()

    def let_in(self) -> None:
        """Admit every waiting call that may go now, and look again when the next one may."""
        if self._is_letting_in:
            self._must_look_again = True
            return
        if not self.queue and self._timer is None:
            return
        self._is_letting_in = True
        again_at: float | None = None
        try:
            self._must_look_again = True
            while self._must_look_again:
                self._must_look_again = False
                again_at = self._let_in_some()
        finally:
            self._is_letting_in = False
        self._come_back(again_at)

    def _let_in_some(self) -> float | None:
        """Admit calls. Return when to look again, in clock seconds; None when another event will trigger it."""
        while len(self.queue):
            now = self._clock.seconds()
            if self.in_flight.is_full and self.breaker.hanging >= self.in_flight.limit:
                self.breaker.trip(f"all {self.in_flight.used} requests on their way hang")
            if self._is_open():
                self._refuse_waiting(lambda _: self._open_error())
                return None
            if self.breaker.room() == 0 or self.in_flight.is_full:
                return None
            if (start_at := self._start_at(now)) > now:
                return start_at
            ready = Ready(now)
            entry = self.queue.take(ready)
            if entry is None:
                return ready.first_at
            try:
                request = entry.request
                attempt = self._admit(request.quota, request.tokens, now, request.group, is_repeat=request.is_repeat)
            except CircuitOpen as refusal:  # the circuit opened after the check for room: real time passes in between
                entry.entered.errback(refusal)
            else:
                entry.entered.callback(attempt)
        return None

    def _start_at(self, now: float) -> float:
        """Return when the next request may begin, as far as its connection goes; not after `now` if it may at once."""
        if not self._needs_connection(now) or self.in_flight.used < self.config.start_burst:
            return now
        return self._next_start - self.config.start_seconds * (self.config.start_burst - 1)

    def _needs_connection(self, now: float) -> bool:
        """Tell whether another request needs a new connection: all that were open lately are in use."""
        return self.in_flight.used >= self._connected or now - self._connected_at > CONNECTED_SECONDS

    def _admit(self, quota: Quota, tokens: int, now: float, asker: str, *, is_repeat: bool) -> Attempt:
        """Admit an attempt. Raises CircuitOpen."""
        permit = self.breaker.acquire(is_repeat=is_repeat)
        is_new = self._needs_connection(now)
        attempt = Attempt(permit, quota, quota.send(tokens, asker), self.in_flight, self.left)
        if is_new:
            self._next_start = max(now, self._next_start) + self.config.start_seconds
        if is_new or self.in_flight.used == self._connected:
            self._connected, self._connected_at = self.in_flight.used, now
        return attempt

    def _no_room(self, entry: QueueEntry) -> QueueFull | None:
        """Return the refusal when the queue is full. For an urgent call, refuse one that is not urgent instead."""
        if len(self.queue) < self.config.queue:
            return None
        refusal = QueueFull(f"{len(self.queue)} calls are waiting for {self.name} already")
        last = self.queue.last_that_can_wait() if entry.is_urgent else None
        if last is None:
            return refusal
        self.queue.remove(last)
        last.entered.errback(refusal)
        return None

    def _refuse_waiting(self, refusal_of: Callable[[QueueEntry], NotAdmitted | None]) -> None:
        """Remove the refused calls from the queue, and fail each with its refusal."""
        for entry in self.queue:
            refusal = refusal_of(entry)
            if refusal is not None and not entry.entered.called:
                self.queue.remove(entry)
                entry.entered.errback(refusal)

    def _leave_queue(self, entry: QueueEntry) -> None:
        self.queue.remove(entry)
        self.let_in()  # the one behind it may be ready, and waiting calls still need the timer

    def _is_open(self) -> bool:
        """Tell whether calls are refused. While the circuit probes, they wait for the outcome."""
        return self.breaker.state is CircuitState.OPEN

    def _open_error(self) -> CircuitOpen:
        seconds = self.breaker.retry_after()
        return CircuitOpen(f"{self.name} failed lately and is asked again in {seconds:.0f} s", self.name, seconds)

    def _changed(self, change: Change) -> None:
        """Log a change of the circuit, and refuse waiting calls when the server is given up."""
        _log.warn(
            "circuit {name}: {before} -> {after}, {cause}",
            log_event="circuit",
            name=change.name,
            before=str(change.before),
            after=str(change.after),
            cause=change.cause,
            for_seconds=change.for_seconds,
        )
        if change.after is CircuitState.OPEN and self.on_open is not None and not self._is_heeding:
            self.on_open(change.for_seconds)
        self.let_in()

    def _come_back(self, at: float | None) -> None:
        """Look again at that time, or when the circuit may change by itself, as long as calls wait."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if not len(self.queue):
            return
        times = [time for time in (at, self.breaker.next_change()) if time is not None]
        if times:
            self._timer = self._clock.callLater(max(0.0, min(times) - self._clock.seconds()), self.let_in)
