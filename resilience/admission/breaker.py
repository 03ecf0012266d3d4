"""A circuit breaker: a pure state machine over an injected clock. It decides and never waits.

    state       a call           success              failure or hang             time
    closed      gets a permit    ends the row         too many in a row -> open
    open        CircuitOpen      late: ignored        late: ignored               reset time over -> half-open
    half-open   as many permits  enough -> closed     -> open, for longer
                as configured

Every permit ends exactly once: with success, with failure, or given back, which counts as neither (a cancelled call, a
request that was wrong). A permit from before the last change of state changes nothing when it ends. A call that hears
nothing for `hang_seconds` counts as failed at that moment, while it still hangs, and not once more when it ends.
"""

from __future__ import annotations

import random as random_module
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from math import inf

from msgspec import Struct

from mud_assistant.resilience.errors import CircuitOpen


class CircuitState(StrEnum):
    """Whether calls get through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class BreakerConfig(Struct, frozen=True):
    """When a circuit opens and closes. Times in seconds.

    It opens at `failure_threshold` failures without a success between them; a call that hears nothing for
    `hang_seconds` is one of them (None: calls do not hang). It stays open for `reset_timeout`, and each time that a
    probe fails `reset_growth` times longer, up to `max_reset_timeout`, plus a share of up to `reset_jitter`. Then
    `half_open_permits` calls at a time probe, never more than successes are still needed, and `success_threshold`
    successes close it.
    """

    failure_threshold: int = 5
    reset_timeout: float = 30.0
    success_threshold: int = 2
    half_open_permits: int = 1
    hang_seconds: float | None = 30.0
    reset_growth: float = 2.0
    max_reset_timeout: float = 120.0
    reset_jitter: float = 0.2


class PermitEnd(Struct, frozen=True):
    """How one permit ended ("success", "failure" or "given back"), when in clock seconds, and why."""

    at: float
    how: str
    cause: str = ""


class Change(Struct, frozen=True):
    """A change of state of the circuit `name`. `for_seconds` is how long it stays open."""

    name: str
    at: float
    before: CircuitState
    after: CircuitState
    cause: str
    for_seconds: float = 0.0


#: How many outcomes are kept for an operator to read.
RECENT = 20
#: Seconds a caller is told to wait when all probes are out.
PROBE_WAIT = 1.0


class PermitEndedError(RuntimeError):
    """A permit was ended twice: a bug of its holder."""


class Permit:
    """The right to make one attempt. End it exactly once, and call `heard` whenever the server sends something."""

    __slots__ = ("_breaker", "ended", "epoch", "heard_at", "is_repeat")

    def __init__(self, breaker: CircuitBreaker, epoch: int, now: float, *, is_repeat: bool) -> None:
        self._breaker = breaker
        self.epoch = epoch
        self.heard_at = now
        self.is_repeat = is_repeat
        self.ended = False

    def heard(self) -> float:
        """Note that the server sent something: this call does not hang. Return the time, in clock seconds."""
        breaker = self._breaker
        now = breaker.now()
        if self.heard_at + breaker.hang_seconds <= now:
            breaker.advance()
        self.heard_at = now
        breaker.hung.discard(self)
        return now

    def success(self) -> None:
        """End the permit: the attempt came back with a good answer."""
        self._breaker.end(self, "success")

    def failure(self, cause: str) -> None:
        """End the permit: the server failed the attempt."""
        self._breaker.end(self, "failure", cause)

    def give_back(self, cause: str = "") -> None:
        """End the permit: the attempt says nothing about the server."""
        self._breaker.end(self, "given back", cause)


class CircuitBreaker:
    """The health of one server, shared by all its callers. `now` gives clock seconds."""

    def __init__(
        self,
        name: str,
        now: Callable[[], float],
        random: random_module.Random,
        config: BreakerConfig | None = None,
        on_change: Callable[[Change], None] | None = None,
    ) -> None:
        self.name = name
        self.config = config or BreakerConfig()
        self.on_change = on_change
        self.recent: deque[PermitEnd] = deque(maxlen=RECENT)
        #: Permits that have not ended, regardless of the state in which they were given.
        self.permits_out = 0
        self.now = now
        self._random = random
        self._state = CircuitState.CLOSED
        self._epoch = 0
        self._failures_in_a_row = self._trips = 0
        self._open_until = 0.0
        self._probes = self._probe_successes = 0
        #: After how long a silence a call hangs.
        self.hang_seconds = inf if self.config.hang_seconds is None else self.config.hang_seconds
        #: Permits of this epoch that hang.
        self.hung: set[Permit] = set()
        #: Permits of this epoch that may still begin to hang, in the order in which they were given.
        self._listening: dict[Permit, None] = {}
        #: None of them hangs before that.
        self._next_hang = inf

    @property
    def state(self) -> CircuitState:
        """The state now."""
        self.advance()
        return self._state

    @property
    def failures_in_a_row(self) -> int:
        """How many failures were counted since the last success, or since the state changed."""
        self.advance()
        return self._failures_in_a_row

    def acquire(self, *, is_repeat: bool = False) -> Permit:
        """Return a permit for one attempt. Raises CircuitOpen.

        `is_repeat`: an attempt of the same call has failed before; a call that fails counts once.
        """
        if self.room() == 0:
            raise CircuitOpen(f"{self.name} is not asked for now: it failed lately", self.name, self.retry_after())
        permit = Permit(self, self._epoch, self.now(), is_repeat=is_repeat)
        self.permits_out += 1
        if self._state is CircuitState.HALF_OPEN:
            self._probes += 1
        self._listening[permit] = None
        self._next_hang = min(self._next_hang, permit.heard_at + self.hang_seconds)
        return permit

    def room(self) -> int | None:
        """Return how many more permits there are now; None for no limit."""
        self.advance()
        if self._state is CircuitState.OPEN:
            return 0
        if self._state is CircuitState.CLOSED:
            return None
        wanted = self.config.success_threshold - self._probe_successes
        return max(0, min(self.config.half_open_permits, wanted) - self._probes)

    def retry_after(self) -> float:
        """Return the seconds until it may be worth asking; 0 when it is worth it now."""
        self.advance()
        if self._state is CircuitState.OPEN:
            return self._open_until - self.now()
        return PROBE_WAIT if self.room() == 0 else 0.0

    def next_change(self) -> float | None:
        """Return when the state may change by itself, in clock seconds; None when nothing is due."""
        self.advance()
        if self._state is CircuitState.OPEN:
            return self._open_until
        return self._find_next_hang() if self._listening and self.hang_seconds < inf else None

    @property
    def hanging(self) -> int:
        """How many of the calls in flight hang."""
        self.advance()
        return len(self.hung)

    def trip(self, cause: str) -> None:
        """Open a closed circuit for a reason outside its own rules."""
        self.advance()
        if self._state is CircuitState.CLOSED:
            self._go(CircuitState.OPEN, self.now(), cause)

    def end(self, permit: Permit, how: str, cause: str = "") -> None:
        """End a permit. Raises PermitEndedError when it has ended before."""
        self.advance()
        if permit.ended:
            raise PermitEndedError(f"a permit of {self.name} was ended twice")
        permit.ended = True
        self.permits_out -= 1
        now = self.now()
        self.recent.append(PermitEnd(now, how, cause))
        is_hung = permit not in self._listening
        self._listening.pop(permit, None)
        self.hung.discard(permit)
        if permit.epoch != self._epoch or self._state is CircuitState.OPEN:
            return
        if self._state is CircuitState.HALF_OPEN:
            self._probes -= 1
        if how == "success" and is_hung:
            self._failures_in_a_row = 0  # it counted as a failure when it began to hang, but its success ends the row
        elif how == "success":
            self._succeeded(now)
        elif how == "failure" and not is_hung:
            self._failed(permit, now, cause)

    def advance(self) -> None:
        """Apply what is due by now: calls that began to hang, an open time that is over."""
        now = self.now()
        if now >= self._next_hang:
            self._find_hung(now)
        if self._state is CircuitState.OPEN and now >= self._open_until:
            self._go(CircuitState.HALF_OPEN, self._open_until, "the reset time is over")

    def _find_hung(self, now: float) -> None:
        """Count the calls that began to hang by now, the longest silent first, until one of them opens the circuit."""
        hang = self.hang_seconds
        for permit in sorted(self._listening, key=lambda each: each.heard_at):
            if permit.heard_at + hang <= now and permit in self._listening:
                del self._listening[permit]
                self.hung.add(permit)
                self._failed(permit, permit.heard_at + hang, f"nothing heard for {hang:g} s")
        self._next_hang = self._find_next_hang()

    def _find_next_hang(self) -> float:
        return min((permit.heard_at for permit in self._listening), default=inf) + self.hang_seconds

    def _succeeded(self, now: float) -> None:
        self._failures_in_a_row = 0
        if self._state is CircuitState.HALF_OPEN:
            self._probe_successes += 1
            if self._probe_successes >= self.config.success_threshold:
                self._go(CircuitState.CLOSED, now, f"{self._probe_successes} probes succeeded")

    def _failed(self, permit: Permit, now: float, cause: str) -> None:
        if self._state is CircuitState.HALF_OPEN:
            self._go(CircuitState.OPEN, now, cause)
        elif not permit.is_repeat:
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self.config.failure_threshold:
                self._go(CircuitState.OPEN, now, f"{self._failures_in_a_row} failures in a row, the last: {cause}")

    def _go(self, after: CircuitState, now: float, cause: str) -> None:
        """Change the state. Permits given before no longer count."""
        before, self._state = self._state, after
        self._epoch += 1
        self._listening.clear()
        self.hung.clear()
        self._failures_in_a_row = self._probes = self._probe_successes = 0
        seconds = 0.0
        if after is CircuitState.OPEN:
            seconds = self._reset_seconds()
            self._open_until = now + seconds
            self._trips += 1
        elif after is CircuitState.CLOSED:
            self._trips = 0
        if self.on_change is not None:
            self.on_change(Change(self.name, now, before, after, cause, seconds))

    def _reset_seconds(self) -> float:
        """Return how long to stay open: exactly `reset_timeout` at first, longer and jittered when a probe fails."""
        config = self.config
        if not self._trips:
            return config.reset_timeout
        longest = max(config.reset_timeout, config.max_reset_timeout)
        grown = min(longest, config.reset_timeout * config.reset_growth ** min(self._trips, 60))
        return grown * (1.0 + self._random.uniform(0.0, config.reset_jitter))
