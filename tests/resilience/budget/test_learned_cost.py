"""Budgets before a server that reports more than was estimated: how far over a limit calls made at once can get."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.llm import BudgetReached
from mud_assistant.llm.testing import Reply
from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
    BudgetSpent,
    Call,
    Caller,
    CallTarget,
    Deadline,
    InFlightConfig,
    Ledger,
    Pipeline,
    UpstreamConfig,
    Verdict,
)
from mud_assistant.resilience.budget.reservation import CAUTION, LearnedCost
from tests.effort import times
from tests.llm.calling import ASKED, desk

ORIGIN = "http://server.test:1"
ESTIMATE = 400


@dataclass
class Asked:
    """An attempt that the server has before it."""

    gate: Deferred[Amount]
    attempt: Attempt


@dataclass
class Desk:
    """Calls to one model, answered when and as dear as the test says."""

    limits: Allowance
    clock: Clock = field(default_factory=Clock)
    under_way: list[Asked] = field(default_factory=list)
    ends: list[object] = field(default_factory=list)
    sent: int = 0
    stopped: int = 0

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.clock.seconds, lambda: 0.0)
        self.pipeline = Pipeline(self.clock, Random(1), self.ledger)  # noqa: S311  (jitter)
        self.account = Account("all", self.limits)
        self.wide = UpstreamConfig(in_flight=InFlightConfig(1000, 1000), start_seconds=0.0)

    def call(self, *, estimate: Amount | None = None, urgent: bool = False) -> None:
        call = Call(
            CallTarget(ORIGIN, "k", "sage"),
            judge=lambda error: Verdict(str(error)),
            caller=Caller("sage", is_urgent=urgent, accounts=(self.account,)),
            estimate=estimate or Amount(1, ESTIMATE),
            upstream=self.wide,
        )

        async def attempt(attempt: Attempt) -> str:
            self.sent += 1
            asked = Asked(Deferred(), attempt)
            self.under_way.append(asked)
            try:
                attempt.used = await asked.gate
            finally:
                self.under_way.remove(asked)
            return "answer"

        calling = Deferred.fromCoroutine(self.pipeline.call(attempt, call, Deadline.after(self.clock, 600)))
        calling.addCallbacks(self.ends.append, lambda failure: self.ends.append(failure.value))

    def answer(self, tokens: int, money: float = 0.0, which: int = 0) -> None:
        self.under_way[which].gate.callback(Amount(1, tokens, money))

    @property
    def refused(self) -> int:
        return sum(isinstance(end, BudgetSpent) for end in self.ends)

    @property
    def spent(self) -> Amount:
        return self.ledger.spent("all")


@pytest.mark.parametrize("calls", [1, 2, 50, 400])
@pytest.mark.parametrize("cost", [401, 7_326, 19_999, 60_000])
def test_calls_at_once_go_over_a_limit_by_one_answer_at_most(calls: int, cost: int) -> None:
    here = Desk(Allowance(tokens=20_000))
    for _ in range(calls):
        here.call()
    while here.under_way:
        here.answer(cost)
    assert len(here.ends) == calls
    assert here.spent.tokens <= max(20_000, cost)
    assert here.ledger.reserved("all") == Amount()
    assert here.clock.getDelayedCalls() == []


def test_all_are_made_when_the_estimate_was_right() -> None:
    here = Desk(Allowance(tokens=20_000))
    for _ in range(51):
        here.call()
    while here.under_way:
        here.answer(ESTIMATE)
    assert (here.ends.count("answer"), here.refused, here.spent.tokens) == (50, 1, 20_000)


def test_the_price_that_only_answers_tell_is_learned() -> None:
    here = Desk(Allowance(money=1.0))
    for _ in range(50):
        here.call()
    assert here.sent == 1
    while here.under_way:
        here.answer(100, 0.3)
    assert here.spent.money <= 1.0


def test_nobody_waits_where_no_limit_is_near_or_there_is_none() -> None:
    for limits in (Allowance(), Allowance(calls=50), Allowance(tokens=CAUTION * ESTIMATE * 52)):
        here = Desk(limits)
        for _ in range(50):
            here.call()
        assert here.sent == 50
        while here.under_way:
            here.answer(1)


def test_near_a_limit_calls_double_with_the_answers_and_those_who_wait_come_first_when_urgent() -> None:
    here = Desk(Allowance(tokens=20_000))
    for _ in range(20):
        here.call()
    seen = []
    while here.under_way:
        seen.append(len(here.under_way))
        here.answer(ESTIMATE)
    assert seen[:4] == [1, 2, 4, 6]


def test_what_is_under_way_is_stopped_when_a_dearer_answer_has_used_all_up() -> None:
    here = Desk(Allowance(tokens=CAUTION * ESTIMATE * 12))
    for _ in range(10):
        here.call()
    here.answer(ESTIMATE)
    assert len(here.under_way) == 9
    here.answer(CAUTION * ESTIMATE * 8)
    assert (len(here.under_way), here.refused) == (1, 7)  # the oldest has room for a part at least
    here.answer(100)
    assert here.spent.tokens == ESTIMATE + CAUTION * ESTIMATE * 8 + 100
    here.call()
    assert here.refused == 8


def test_a_call_that_was_let_in_for_money_that_is_gone_by_its_turn_is_not_made() -> None:
    here = Desk(Allowance(tokens=CAUTION * ESTIMATE * 11))
    here.wide = UpstreamConfig(in_flight=InFlightConfig(1, 1))
    for _ in range(9):
        here.call()
    assert here.sent == 1
    here.answer(CAUTION * ESTIMATE * 11)
    assert (here.sent, here.refused) == (1, 8)


def test_a_stopped_or_cancelled_probe_lets_the_next_one_find_out() -> None:
    here = Desk(Allowance(tokens=20_000))
    for _ in range(3):
        here.call()
    here.under_way[0].gate.errback(ValueError("broken"))
    assert here.sent == 2
    here.under_way[0].gate.cancel()
    assert here.sent == 3
    here.answer(1)


@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=60))
def test_the_correction_never_goes_below_the_estimate_nor_below_the_last_dear_answer(costs: list[int]) -> None:
    learned, estimate = LearnedCost(), Amount(1, ESTIMATE)
    for cost in costs:
        learned.learn(estimate, Amount(1, cost), is_whole=True)
        assert learned.expected(estimate).tokens >= max(ESTIMATE, min(cost, 100_000) - 1)
    assert learned.answers == len(costs)


def test_a_correction_goes_down_again_with_cheaper_answers() -> None:
    learned, estimate = LearnedCost(), Amount(1, ESTIMATE)
    learned.learn(estimate, Amount(1, 10 * ESTIMATE), is_whole=True)
    for _ in range(100):
        learned.learn(estimate, Amount(1, ESTIMATE), is_whole=True)
    assert learned.expected(estimate).tokens == ESTIMATE


class BudgetedCalls(RuleBasedStateMachine):
    """Any number of calls, answered in any order and at any price, against what `docs/resilience.md` promises."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = 20_000
        self.desk = Desk(Allowance(tokens=self.limit))
        self.dearest = ESTIMATE
        #: How much answers cost more than any before them.
        self.surprises = 0
        self.calls = 0

    @rule(count=st.integers(1, 30))
    def call(self, count: int) -> None:
        for _ in range(count):
            self.desk.call()
        self.calls += count

    @precondition(lambda self: self.desk.under_way)
    @rule(which=st.integers(0, 100), tokens=st.sampled_from([1, 200, 400, 401, 1_000, 7_000, 30_000]))
    def answer(self, which: int, tokens: int) -> None:
        self.surprises += max(0, tokens - self.dearest)
        self.dearest = max(self.dearest, tokens)
        self.desk.answer(tokens, which=which % len(self.desk.under_way))

    @precondition(lambda self: self.desk.under_way)
    @rule(which=st.integers(0, 100))
    def fail(self, which: int) -> None:
        self.desk.under_way[which % len(self.desk.under_way)].gate.errback(ValueError("broken"))

    @invariant()
    def the_limit_is_passed_by_no_more_than_answers_were_dearer_than_all_before(self) -> None:
        assert self.desk.spent.tokens <= self.limit + self.surprises + self.dearest

    @invariant()
    def few_are_made_at_once_while_a_limit_is_near(self) -> None:
        learned = self.desk.pipeline._learned_cost(CallTarget(ORIGIN, "k", "sage"))
        assert len(self.desk.under_way) <= max(1, 2 * learned.answers)

    @invariant()
    def nobody_is_forgotten(self) -> None:
        learned = self.desk.pipeline._learned_cost(CallTarget(ORIGIN, "k", "sage"))
        waiting = self.calls - len(self.desk.ends) - len(self.desk.under_way)
        assert waiting == len(learned._waiting)
        assert not waiting or self.desk.under_way

    def teardown(self) -> None:
        while self.desk.under_way:
            self.desk.answer(1)
        assert len(self.desk.ends) == self.calls
        assert self.desk.ledger.reserved("all") == Amount()


TestBudgetedCalls = BudgetedCalls.TestCase
TestBudgetedCalls.settings = settings(max_examples=times(24), stateful_step_count=30, deadline=None)


@pytest.mark.usefixtures("reactor_baseline")
async def test_fifty_calls_at_once_to_a_server_that_reports_more_than_was_thought() -> None:
    payer = Caller("sage", accounts=(Account("all assistants", Allowance(tokens=20_000)),))
    async with desk(lambda _: Reply("Hello.", usage=(7_000, 326))) as here:
        calls = [here.client().chat_completion(ASKED, caller=payer) for _ in range(50)]
        refused = 0
        for call in calls:
            try:
                await call
            except BudgetReached:
                refused += 1
        ledger = here.pipeline.ledger
        assert ledger is not None
        assert ledger.spent("all assistants").tokens <= 20_000
        assert refused == 50 - len(here.fake.chats)
        assert 1 <= len(here.fake.chats) <= 2
