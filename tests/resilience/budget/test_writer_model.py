"""The ledger and what is written of it, killed at any point: no request is forgotten, and none is one too many.

Calls go through the real pipeline, to a server and a disk that answer in any order; a kill may come while a write is on
its way, and the disk may then have it or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
    BudgetSpent,
    BudgetUnkept,
    Call,
    Caller,
    CallTarget,
    Deadline,
    Ledger,
    Pipeline,
    RetryConfig,
    UpstreamConfig,
    Verdict,
)
from mud_assistant.resilience.admission.capacity import InFlightConfig
from tests.effort import times

LIMIT = 12
ALL = Account("all", Allowance(calls=LIMIT))
#: Some calls are paid from this one too, which has no limit.
SOME = Account("some", Allowance())
MANY = UpstreamConfig(in_flight=InFlightConfig(most=100, first=100), start_seconds=0.0)
ESTIMATE = Amount(calls=1, tokens=10)
picks = st.integers(0, 1000)


class Refused(Exception):
    """The server failed."""


@dataclass
class Request:
    """One that reached the server. `paid` is what it came to, None while nobody knows."""

    gate: Deferred[str]
    attempt: Attempt
    paid: Amount | None = None


def judge(error: Exception) -> Verdict:
    assert isinstance(error, Refused)
    return Verdict("refused", may_retry=True)


class KilledAtAnyPoint(RuleBasedStateMachine):
    """`requests` are those of all lives; a process has at most one write on its way, whose gate is `writing`."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.disk: Mapping[str, Any] | None = None
        self.writing: tuple[Mapping[str, Any], Deferred[None]] | None = None
        self.requests: list[Request] = []
        self.calls: list[Deferred[str]] = []
        #: Each kill begins another one.
        self.life = 0
        self._begin()

    def _begin(self) -> None:
        self.life += 1
        self.ledger = Ledger(self.clock.seconds, lambda: 0.0)
        if self.disk is not None:
            self.ledger.restore(self.disk)
        life = self.life

        async def keep(exported: Mapping[str, Any]) -> None:
            if life != self.life:
                return  # of a dead process
            assert self.writing is None, "two writes on their way"
            gate: Deferred[None] = Deferred()
            self.writing = (exported, gate)
            await gate

        self.pipeline = Pipeline(self.clock, Random(1), self.ledger, keep)  # noqa: S311  (jitter)

    @rule(is_shared=st.booleans())
    def call(self, is_shared: bool) -> None:
        life = self.life

        async def attempt(attempt: Attempt) -> str:
            if life != self.life:
                return "of a dead process"
            request = Request(Deferred(), attempt)
            self.requests.append(request)
            return await request.gate

        accounts = (ALL, SOME) if is_shared else (ALL,)
        call = Call(
            CallTarget("http://a"), judge, Caller("x", True, accounts), ESTIMATE, RetryConfig(base_delay=1), MANY
        )
        deadline = Deadline.after(self.clock, 1000.0)
        made = Deferred.fromCoroutine(self.pipeline.call(attempt, call, deadline))
        made.addErrback(self._ended)
        self.calls.append(made)

    def _ended(self, failure: Failure) -> str:
        assert failure.check(Refused, BudgetSpent, BudgetUnkept, CancelledError), failure
        return type(failure.value).__name__

    @precondition(lambda self: self._open())
    @rule(pick=picks, tokens=st.integers(1, 10), is_answered=st.booleans())
    def end(self, pick: int, tokens: int, is_answered: bool) -> None:
        """An answer, or a failure after something was said: both cost."""
        request = self._open()[pick % len(self._open())]
        request.paid = request.attempt.used = Amount(1, tokens)
        if is_answered:
            request.gate.callback("fine")
        else:
            request.gate.errback(Refused())

    @precondition(lambda self: self._open())
    @rule(pick=picks)
    def refuse(self, pick: int) -> None:
        """A failure that costs nothing."""
        request = self._open()[pick % len(self._open())]
        request.paid = Amount()
        request.gate.errback(Refused())

    @precondition(lambda self: self.calls)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """A request that is cut off before an answer began costs nothing."""
        open_before = self._open()
        self.calls[pick % len(self.calls)].cancel()
        for request in open_before:
            if request.gate.called and request.paid is None:
                request.paid = Amount()

    @rule(seconds=st.integers(1, 5))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @precondition(lambda self: self.writing)
    @rule(is_kept=st.booleans())
    def write(self, is_kept: bool) -> None:
        assert self.writing is not None
        (exported, gate), self.writing = self.writing, None
        if is_kept:
            self.disk = exported
            gate.callback(None)
        else:
            gate.errback(OSError("the disk is full"))

    @rule(is_landed=st.booleans())
    def kill(self, is_landed: bool) -> None:
        """Nothing of the process goes on; its requests have reached the server and are paid for in full."""
        writing, self.writing = self.writing, None
        if writing is not None and is_landed:
            self.disk = writing[0]
        for request in self._open():
            request.paid = ESTIMATE
        dead, self.calls, self.clock = self.calls, [], Clock()
        self._begin()
        for call in dead:  # nobody sees what it does; left to the garbage collector it would end in any order
            call.cancel()
        if writing is not None:
            writing[1].callback(None)
        self.see_that_nothing_was_forgotten()

    @invariant()
    def see_that_nothing_was_forgotten(self) -> None:
        """What a restart at this moment would count is what was requested, at least."""
        restored = Ledger(self.clock.seconds, lambda: 0.0)
        if self.disk is not None:
            restored.restore(self.disk)
        requested = sum((request.paid or ESTIMATE for request in self.requests), Amount())
        assert restored.spent("all").calls >= requested.calls
        assert restored.spent("all").tokens >= requested.tokens
        assert requested.calls <= LIMIT

    def teardown(self) -> None:
        """A clean stop leaves on disk what the ledger says, and nothing set aside."""
        for call in self.calls:
            call.cancel()
        for request in self._open():
            request.paid = Amount()
        stopped = Deferred.fromCoroutine(self.pipeline.write_ledger())
        while self.writing is not None:
            self.write(is_kept=True)
        assert stopped.called
        assert (self.ledger.reserved("all"), self.ledger.reserved("some")) == (Amount(), Amount())
        assert self.disk == self.ledger.export()
        assert self.clock.getDelayedCalls() == []

    def _open(self) -> list[Request]:
        """The requests nobody knows the end of."""
        return [request for request in self.requests if request.paid is None and not request.gate.called]


TestKilledAtAnyPoint = KilledAtAnyPoint.TestCase
TestKilledAtAnyPoint.settings = settings(max_examples=times(48), stateful_step_count=40, deadline=None)
