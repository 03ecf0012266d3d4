"""Nothing is lost: whatever becomes of calls through a pipeline, in any order, each ends once and holds nothing after.

Thousands of small worlds, each with chance of its own. A world has one server, two credentials and some calls, whose
attempts are answered, fail, hang, or are given up, while the operator meddles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience.admission.attempt import Attempt, Verdict
from mud_assistant.resilience.admission.breaker import PROBE_WAIT, BreakerConfig
from mud_assistant.resilience.admission.capacity import InFlightConfig
from mud_assistant.resilience.admission.pace import RateLimitSnapshot
from mud_assistant.resilience.admission.upstream import UpstreamConfig
from mud_assistant.resilience.amounts import Account, Allowance, Amount
from mud_assistant.resilience.budget.ledger import Ledger
from mud_assistant.resilience.call import Call, Caller, CallTarget, RetryConfig
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import DeadlineExceeded, NotAdmitted
from mud_assistant.resilience.pipeline import Pipeline
from tests.effort import times

WORLDS = times(2_000)
BLOCKS = 5
MOVES = 24
NEVER = float("inf")
ORIGIN = "https://model.test:443"
TARGETS = [CallTarget(ORIGIN, "key 1", "a"), CallTarget(ORIGIN, "key 1", "b"), CallTarget(ORIGIN, "key 2", "a")]


class Refused(Exception):
    """What an attempt fails with. It brings its verdict along."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.cause)
        self.verdict = verdict


def judge(error: Exception) -> Verdict:
    assert isinstance(error, Refused)
    return error.verdict


class World:
    """`ends` are what each call ended with, in the order of their beginning; more than one is one too many."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  (no secret)
        self.clock = Clock()
        self.ledger = Ledger(self.clock.seconds, self.clock.seconds)
        self.pipeline = Pipeline(self.clock, self.random, self.ledger)
        self.upstream = self.pipeline.upstream(ORIGIN, self.config())
        self.account = Account("all", Allowance(calls=self.random.choice([None, 3, 10])))
        self.calls: list[Deferred[str]] = []
        self.ends: list[list[str]] = []
        #: What the attempts wait for: the server, or their own tidying up after they were cancelled.
        self.gates: list[tuple[Deferred[str], Attempt]] = []
        self.tidying: list[Deferred[str]] = []
        self.attempts_begun = self.attempts_ended = self.used = 0
        #: Whether the server tells of limits, whose pace is another each time that it is worked out.
        self.is_paced = self.random.random() < 0.3
        self.is_over = False

    def config(self) -> UpstreamConfig:
        chance = self.random
        return UpstreamConfig(
            BreakerConfig(
                failure_threshold=chance.choice([1, 2, 5]),
                reset_timeout=4.0,
                success_threshold=chance.choice([1, 2]),
                half_open_permits=chance.choice([1, 2]),
                hang_seconds=chance.choice([None, 3.0]),
            ),
            InFlightConfig(most=chance.choice([1, 2, 8]), first=2),
            queue=chance.choice([1, 2, 10]),
            start_seconds=chance.choice([0.0, 0.5]),
            start_burst=chance.choice([1, 3]),
        )

    def live(self) -> None:
        moves: list[Callable[[], None]] = [self.begin, self.answer, self.refuse, self.cancel, self.hear, self.wait]
        weights = [8, 4, 4, 2, 1, 4]
        for _ in range(MOVES):
            move = self.meddle if self.random.random() < 0.08 else self.random.choices(moves, weights)[0]
            move()
            self.see_that_nobody_is_forgotten()
        self.is_over = True
        for _ in range(3):  # late answers, then time for every deadline
            self.answer()
        self.clock.advance(100.0)
        for gate in self.tidying:
            gate.callback("tidied up")
        self.clock.advance(100.0)

    async def attempt(self, attempt: Attempt) -> str:
        self.attempts_begun += 1
        attempt.used = Amount(calls=1, tokens=7)
        self.used += 1
        try:
            match self.random.randrange(10):
                case 0:
                    return "at once"
                case 1:
                    raise Refused(self.verdict())
            gate: Deferred[str] = Deferred()
            self.gates.append((gate, attempt))
            return await gate
        except CancelledError:
            if self.random.random() < 0.2:
                self.tidying.append(Deferred())
                await self.tidying[-1]
            raise
        finally:
            self.attempts_ended += 1

    def begin(self) -> None:
        chance = self.random
        name, is_urgent = chance.choice("xyz"), chance.random() < 0.7
        caller = Caller(name, is_urgent, (self.account,) if chance.random() < 0.8 else ())
        call = Call(chance.choice(TARGETS), judge, caller, Amount(calls=1, tokens=5), RetryConfig(base_delay=2.0))
        deadline = Deadline.after(self.clock, chance.choice([0.0, 1.0, 10.0, 90.0]))
        made = Deferred.fromCoroutine(self.pipeline.call(self.attempt, call, deadline))
        ends: list[str] = []
        self.calls.append(made)
        self.ends.append(ends)

        def failed(failure: Failure) -> None:
            assert failure.check(Refused, DeadlineExceeded, NotAdmitted, CancelledError), failure
            ends.append(type(failure.value).__name__)

        made.addCallbacks(lambda _: ends.append("answered"), failed)
        made.addCallback(self.follow)

    def follow(self, _: object) -> None:
        """Whoever learns how a call ended may do the next thing at once, with everything else in mid-air."""
        if self.random.random() < 0.2 and not self.is_over:
            self.random.choice([self.begin, self.cancel, self.answer])()

    def answer(self) -> None:
        if gate := self.gate():
            gate.callback("answer")

    def refuse(self) -> None:
        if gate := self.gate():
            gate.errback(Refused(self.verdict()))

    def gate(self) -> Deferred[str] | None:
        """One that an attempt still waits at."""
        self.gates = [(gate, attempt) for gate, attempt in self.gates if not gate.called]
        return self.random.choice(self.gates)[0] if self.gates else None

    def verdict(self) -> Verdict:
        now = self.clock.seconds()
        return self.random.choice(
            [
                Verdict("broken", is_failure=True),
                Verdict("broken", is_failure=True, may_retry=True),
                Verdict("not JSON", is_failure=True, may_retry=True, most_attempts=2),
                Verdict("busy", is_failure=True, may_retry=True, not_before=now + 1.0),
                Verdict("too many", throttled=True, may_retry=True),
                Verdict("too many", throttled=True, may_retry=True, not_before=now + 2.0),
                Verdict("far too many", throttled=True, may_retry=True, not_before=now + 500.0),
                Verdict("no such model"),
                Verdict("no such key", revokes=True),
            ]
        )

    def cancel(self) -> None:
        if self.calls:
            self.random.choice(self.calls).cancel()

    def hear(self) -> None:
        if self.gate() is not None:
            _, attempt = self.random.choice(self.gates)
            attempt.heard()
            if self.is_paced:
                attempt.note_limits(RateLimitSnapshot(self.random.randrange(4), 4, self.clock.seconds() + 3.0), None)

    def wait(self) -> None:
        self.clock.advance(self.random.choice([0.0, 0.5, 1.0, PROBE_WAIT, 3.0, 4.0, 12.0]))

    def meddle(self) -> None:
        """Open the circuit, or mend the credentials."""
        if self.random.randrange(7) == 0:
            self.upstream.breaker.trip("meddled with")
        else:
            self.pipeline.configuration_changed(ORIGIN)

    def see_that_nobody_is_forgotten(self) -> None:
        """Another look at the queue finds nobody who could go, and no earlier time to look again."""
        waiting, at = len(self.upstream.queue), self.next_look()
        if not self.is_paced:
            self.upstream.let_in()
            assert waiting == len(self.upstream.queue)
            assert at <= self.next_look()
        assert waiting or at == NEVER

    def next_look(self) -> float:
        timer = self.upstream._timer
        return timer.getTime() if timer is not None and timer.active() else NEVER

    def see_that_nothing_is_left(self) -> None:
        assert [len(ends) for ends in self.ends] == [1] * len(self.calls)
        assert self.attempts_begun == self.attempts_ended == self.upstream.in_flight._begun
        assert self.upstream.breaker.permits_out == 0
        assert self.upstream.in_flight.used == 0
        assert len(self.upstream.queue) == 0
        assert self.ledger.reserved("all") == Amount()
        assert self.clock.getDelayedCalls() == []


@pytest.mark.parametrize("block", range(BLOCKS))
def test_each_call_ends_once_and_nothing_is_left(block: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(block, WORLDS, BLOCKS):
        world = World(seed)
        try:
            world.live()
            world.see_that_nothing_is_left()
        except BaseException as error:
            error.add_note(f"in the world of seed {seed}")
            raise
        seen.update(end for ends in world.ends for end in ends)
    expected = {"answered", "Refused", "CancelledError", "DeadlineExceeded", "CircuitOpen", "CoolingDown", "Revoked"}
    assert all(seen[end] >= times(20) for end in expected | {"QueueFull", "BudgetSpent"}), seen
