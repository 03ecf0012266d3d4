"""A budget that several processes spend: exact, whatever is lost on the way to where the sums are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from mud_assistant.resilience import Account, Allowance, Amount, BudgetSpent, BudgetUnkept, Ledger
from mud_assistant.resilience.amounts import NOTHING
from tests.effort import times
from tests.resilience.budget.together import DAY, ONE, Books, Office, limited

FREE = Account("free", Allowance())


@pytest.fixture
def books() -> Books:
    return Books()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def offices(books: Books, clock: Clock) -> tuple[Office, Office]:
    return Office(books, clock, "a"), Office(books, clock, "b")


def refusal(office: Office) -> BudgetSpent:
    error = office.ends[-1]
    assert isinstance(error, BudgetSpent)
    return error


@pytest.mark.parametrize("limits", [{"calls": 3}, {"tokens": 30}, {"money": 0.3}])
def test_processes_together_make_as_many_calls_as_are_allowed(
    offices: tuple[Office, Office], books: Books, limits: dict[str, Any]
) -> None:
    one, other = offices
    for office in (one, other, one, other, one):
        office.call(limited(**limits))
        if office.attempts:
            office.answer()
    assert [*one.ends[:2], *other.ends[:1]] == ["done"] * 3
    assert isinstance(one.ends[2], BudgetSpent)
    assert isinstance(other.ends[1], BudgetSpent)
    assert books.most() == Amount(3, 30, 0.3)


def test_a_refusal_reads_as_if_one_process_had_spent_it_all(offices: tuple[Office, Office], clock: Clock) -> None:
    one, other = offices
    clock.advance(1000.0)
    account = limited(calls=1)
    one.call(account)
    other.call(account)
    alone = Ledger(clock.seconds, clock.seconds)
    alone.reserve([account], ONE)
    expected = alone.check([account])
    assert expected is not None
    assert vars(refusal(other)) == vars(expected)
    assert other.ledger.reserved("all") == ONE, "only the other's call is in flight"
    assert other.attempts == []


def test_what_others_use_is_seen_once_something_is_asked(offices: tuple[Office, Office]) -> None:
    one, other = offices
    for _ in range(2):
        one.call(limited(calls=9))
    one.answer()
    assert other.ledger.spent("all") == NOTHING
    other.call(limited(calls=9))
    assert other.ledger.spent("all") == ONE
    assert other.ledger.reserved("all") == ONE + ONE
    (state,) = other.ledger.snapshot()
    assert (state.spent, state.reserved) == (ONE, ONE + ONE)
    other.answer()
    assert other.ledger.spent("all") == ONE + ONE


def test_a_process_that_starts_knows_what_the_others_spent(offices: tuple[Office, Office]) -> None:
    one, other = offices
    one.call(limited(calls=1))
    one.answer()
    Deferred.fromCoroutine(other.pipeline.read_ledger())
    assert other.ledger.check([limited(calls=1)]) is not None
    assert other.ledger.spent("all") == ONE


def test_a_refusal_ends_when_the_other_calls_turn_out_cheaper(offices: tuple[Office, Office]) -> None:
    one, other = offices
    account = limited(tokens=10)
    one.call(account)
    other.call(account)
    assert refusal(other).what == "tokens"
    one.fail()
    other.call(account)
    other.answer()
    assert other.ends[-1] == "done"


def test_what_is_used_up_elsewhere_for_good_is_refused_without_asking_again(
    offices: tuple[Office, Office], books: Books
) -> None:
    one, other = offices
    one.call(limited(calls=1))
    one.answer()
    other.call(limited(calls=1))
    asked = books.writes
    for _ in range(3):
        other.call(limited(calls=1))
    assert isinstance(refusal(other), BudgetSpent)
    assert books.writes == asked


def test_of_many_at_once_as_many_are_admitted_as_have_room_in_few_writes(
    offices: tuple[Office, Office], books: Books
) -> None:
    one, other = offices
    one.part.gates = []
    for _ in range(20):
        one.call(limited(calls=10), FREE)
    for _ in range(4):
        other.call(limited(calls=10))
    while one.part.gates:
        one.part.open()
    assert (len(one.attempts), len(other.attempts)) == (6, 4)
    assert (books.most().calls, books.most("free").calls) == (10, 6)
    assert books.writes <= 4 + 4


def test_an_account_that_is_named_twice_pays_once(offices: tuple[Office, Office], books: Books) -> None:
    offices[0].call(limited(calls=1), limited(calls=1))
    offices[0].answer()
    assert books.most() == ONE


def test_an_outage_refuses_calls_with_a_limit_and_counts_the_others_later(
    offices: tuple[Office, Office], books: Books
) -> None:
    one, _ = offices
    books.away = True
    with capturedLogs() as logged:
        for _ in range(2):
            one.call(limited(calls=9))
            assert isinstance(one.ends[-1], BudgetUnkept)
            one.call(FREE)
            one.answer()
    assert [event["log_event"] for event in logged] == ["budget"], "it is told once"
    assert one.ledger.reserved("all") == NOTHING
    books.away = False
    Deferred.fromCoroutine(one.pipeline.write_ledger())
    assert books.most("free") == ONE + ONE
    assert books.most() == NOTHING


def test_what_a_call_used_in_an_outage_is_written_at_the_end(offices: tuple[Office, Office], books: Books) -> None:
    one, other = offices
    one.call(limited(calls=2, tokens=100))
    books.away = True
    one.answer(Amount(1, 3, 0.01))
    assert books.most() == ONE, "it counts as spent at its estimate"
    books.away = False
    Deferred.fromCoroutine(one.pipeline.write_ledger())
    assert books.most() == Amount(1, 3, 0.01)
    other.call(limited(calls=2, tokens=100))
    assert other.ledger.spent("all") == Amount(1, 3, 0.01)


def test_a_write_whose_answer_was_lost_counts_once(offices: tuple[Office, Office], books: Books) -> None:
    one, _ = offices
    one.call(limited(calls=9))
    books.mute = True
    one.answer()
    one.call(limited(calls=9))
    assert isinstance(one.ends[-1], BudgetUnkept)
    books.mute = False
    Deferred.fromCoroutine(one.pipeline.write_ledger())
    assert books.most() == ONE
    books.writes = 0
    Deferred.fromCoroutine(one.pipeline.write_ledger())
    assert books.writes == 0, "nothing is left to write"


def test_a_call_that_leaves_while_it_asks_gives_back_what_it_gets(offices: tuple[Office, Office], books: Books) -> None:
    one, _ = offices
    one.part.gates = []
    for when in ("in the write", "before it"):
        leaving = one.call(limited(calls=9))
        leaving.cancel()
        assert isinstance(one.ends[-1], CancelledError), when
    while one.part.gates:
        one.part.open()
    assert (books.most(), one.attempts) == (NOTHING, [])


def test_an_answer_and_a_call_that_leaves_during_one_write_are_both_written(
    offices: tuple[Office, Office], books: Books
) -> None:
    one, _ = offices
    one.call(limited(calls=9))
    one.part.gates = []
    one.call(limited(calls=9)).cancel()
    one.answer(Amount(1, 3, 0.01))
    while one.part.gates:
        one.part.open()
    assert books.most() == Amount(1, 3, 0.01)


def test_a_call_over_midnight_is_charged_to_the_day_on_which_it_began(
    offices: tuple[Office, Office], books: Books, clock: Clock
) -> None:
    one, other = offices
    clock.advance(DAY - 1.0)
    other.call(limited(calls=2))
    other.answer()
    one.call(limited(calls=2))
    clock.advance(2.0)
    for office in offices:
        office.call(limited(calls=2))
    one.answer(Amount(1, 2, 0.02))
    assert (books.most(day=0), books.most(day=1)) == (Amount(2, 12, 0.12), ONE + ONE)
    assert one.ledger.spent("all") == NOTHING
    for office in offices:
        office.answer()
    assert (books.most(day=0), books.most(day=1)) == (Amount(2, 12, 0.12), ONE + ONE)


def test_a_call_that_asks_before_midnight_and_is_refused_after_it_may_ask_again_at_once(
    offices: tuple[Office, Office], clock: Clock
) -> None:
    one, other = offices
    clock.advance(DAY - 1.0)
    one.call(limited(calls=1))
    other.part.gates = []
    other.call(limited(calls=1))
    clock.advance(2.0)
    other.part.open()
    assert refusal(other).resets_at <= clock.seconds()
    other.call(limited(calls=1))
    while other.part.gates:
        other.part.open()
    assert len(other.attempts) == 1


def test_what_a_dearer_answer_teaches_is_reserved_among_all(offices: tuple[Office, Office], books: Books) -> None:
    one, _ = offices
    for _ in range(2):
        one.call(limited(tokens=10_000))
    one.answer(Amount(1, 40))
    assert books.most().tokens == 40 + 40


def test_the_sums_of_a_day_long_over_are_dropped_but_for_calls_in_flight(
    offices: tuple[Office, Office], books: Books, clock: Clock
) -> None:
    one, _ = offices
    one.call(limited(calls=9), seconds=5 * DAY)
    for _ in range(3):
        clock.advance(DAY)
        for _ in range(2):
            one.call(limited(calls=9))
            one.attempts.append(one.attempts.pop(0))
            one.answer()
    one.answer(Amount(1, 2))
    assert books.most(day=0) == Amount(1, 2)
    assert [books.most(day=day).calls for day in (1, 2, 3)] == [2, 2, 2]


def test_a_shared_ledger_that_cannot_be_read_at_the_start_is_told(offices: tuple[Office, Office], books: Books) -> None:
    books.away = True
    with capturedLogs() as logged:
        Deferred.fromCoroutine(offices[0].pipeline.read_ledger())
    assert [event["log_event"] for event in logged] == ["budget"]


class Course:
    """Three processes to which anything may happen. `used` is what the answers used."""

    ACCOUNT, USED = limited(calls=5), Amount(1, 4, 0.01)

    def __init__(self) -> None:
        self.books, self.used = Books(), NOTHING
        clock = Clock()
        self.offices = [Office(self.books, clock, name) for name in "abc"]
        self.calls: dict[Office, list[Deferred[str]]] = {office: [] for office in self.offices}
        for office in self.offices:
            office.part.gates = []

    def call(self, office: Office) -> None:
        self.calls[office].append(office.call(self.ACCOUNT))

    def answer(self, office: Office) -> None:
        if office.attempts:
            office.answer(self.USED)
            self.used += self.USED

    def fail(self, office: Office) -> None:
        if office.attempts:
            office.fail()

    def leave(self, office: Office) -> None:
        if self.calls[office] and not office.attempts:
            self.calls[office].pop().cancel()

    def open(self, office: Office) -> None:
        if office.part.gates:
            office.part.open()

    def away(self, _: Office) -> None:
        self.books.away = not self.books.away

    def mute(self, _: Office) -> None:
        self.books.mute = not self.books.mute

    def end(self) -> None:
        self.books.away = self.books.mute = False
        for office in self.offices:
            for _ in range(40):
                self.open(office)
                self.answer(office)
            Deferred.fromCoroutine(office.pipeline.write_ledger())
            self.open(office)
            self.open(office)


_WHAT = st.sampled_from([Course.call, Course.answer, Course.fail, Course.leave, Course.open, Course.away, Course.mute])


@settings(max_examples=times(80), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), _WHAT)))
def test_no_order_of_events_spends_more_than_is_allowed_or_forgets_any(
    steps: list[tuple[int, Callable[[Course, Office], None]]],
) -> None:
    course = Course()
    for number, step in steps:
        step(course, course.offices[number])
        assert course.books.most().calls <= 5
        assert course.used.calls + sum(len(office.attempts) for office in course.offices) <= 5
    course.end()
    assert course.books.most() == course.used
