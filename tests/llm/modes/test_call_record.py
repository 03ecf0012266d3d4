from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.modes.capabilities import (
    LONGEST_TRIAL,
    MISSES,
    TRIAL,
    WINDOW,
    CallOutcome,
    CallRecord,
    CallStyle,
    is_hopeless,
    outcome_of,
    record_answer,
)

VALID, REPAIRED, FAILED, NONE = CallOutcome.VALID, CallOutcome.REPAIRED, CallOutcome.FAILED, CallOutcome.NONE


def after(outcomes: Iterable[CallOutcome], record: CallRecord | None = None) -> CallRecord:
    """The record after answers that were each asked for the way it said."""
    record = record or CallRecord()
    for outcome in outcomes:
        record = record_answer(record, outcome, style=record.style)
    return record


def test_a_model_is_hopeless_when_neither_way_brings_calls() -> None:
    assert not is_hopeless(after([FAILED] * MISSES))
    assert is_hopeless(after([FAILED] * 2 * MISSES))
    assert is_hopeless(after([FAILED] * MISSES + [NONE] * MISSES))
    assert not is_hopeless(after([FAILED] * MISSES + [VALID] * MISSES))
    assert not is_hopeless(after([VALID] * 5 + [FAILED] * MISSES + [NONE] * MISSES))


@pytest.mark.parametrize(
    ("calls", "problems", "repaired", "required", "outcome"),
    [
        (1, 0, False, True, VALID),
        (1, 0, True, False, REPAIRED),
        (2, 1, False, False, REPAIRED),
        (2, 2, False, False, FAILED),
        (0, 0, False, True, FAILED),
        (0, 0, False, False, NONE),
    ],
)
def test_what_an_answer_counts_as(
    calls: int, problems: int, repaired: bool, required: bool, outcome: CallOutcome
) -> None:
    assert outcome_of(calls=calls, problems=problems, repaired=repaired, required=required) is outcome


def test_a_model_is_first_asked_natively() -> None:
    assert CallRecord().style is CallStyle.NATIVE


def test_misses_in_a_row_turn_to_the_fallback() -> None:
    assert after([FAILED] * (MISSES - 1)).style is CallStyle.NATIVE
    assert after([FAILED] * MISSES).style is CallStyle.FALLBACK
    assert after([FAILED, NONE] * MISSES).style is CallStyle.FALLBACK


@pytest.mark.parametrize("good", [VALID, REPAIRED])
def test_a_readable_call_between_them_begins_the_count_anew(good: CallOutcome) -> None:
    assert after([FAILED, FAILED, good] * 10).style is CallStyle.NATIVE


def test_answers_that_needed_no_call_prove_nothing() -> None:
    assert after([NONE] * 100).style is CallStyle.NATIVE


def test_the_fallback_is_left_after_its_trial() -> None:
    record = after([FAILED] * MISSES)
    assert after([VALID] * (TRIAL - 1), record).style is CallStyle.FALLBACK
    assert after([VALID] * TRIAL, record).style is CallStyle.NATIVE


def test_the_fallback_is_left_at_once_when_it_does_no_better() -> None:
    assert after([FAILED] * (2 * MISSES)).style is CallStyle.NATIVE


def test_a_model_tried_natively_again_has_one_miss_and_then_a_longer_trial() -> None:
    again = after([FAILED] * MISSES + [VALID] * TRIAL)
    assert again.doubted
    back = after([FAILED], again)
    assert (back.style, back.trial) == (CallStyle.FALLBACK, 2 * TRIAL)
    assert after([VALID] * (2 * TRIAL - 1), back).style is CallStyle.FALLBACK


def test_a_native_call_that_is_readable_again_ends_the_doubt() -> None:
    again = after([FAILED] * MISSES + [VALID] * TRIAL + [VALID])
    assert not again.doubted
    assert after([FAILED], again).style is CallStyle.NATIVE
    assert after([FAILED] * MISSES, again).trial == TRIAL


def test_trials_grow_to_a_bound() -> None:
    record = CallRecord()
    for _ in range(5000):
        record = record_answer(record, FAILED if record.style is CallStyle.NATIVE else VALID, style=record.style)
    assert record.trial == LONGEST_TRIAL


def test_an_answer_of_the_other_way_counts_but_turns_nothing() -> None:
    record = CallRecord()
    for _ in range(10):
        record = record_answer(record, FAILED, style=CallStyle.FALLBACK)
    assert (record.style, record.misses, record.count(FAILED, CallStyle.FALLBACK)) == (CallStyle.NATIVE, 0, 10)


def test_what_it_tells() -> None:
    record = after([VALID, VALID, REPAIRED, NONE, FAILED])
    assert [record.count(outcome) for outcome in CallOutcome] == [2, 1, 1, 1]
    assert record.share_readable(CallStyle.NATIVE) == pytest.approx(3 / 4)
    assert record.share_readable(CallStyle.FALLBACK) is None


@given(st.lists(st.tuples(st.sampled_from(CallOutcome), st.sampled_from(CallStyle)), max_size=200))
def test_it_stays_bounded_and_an_old_one_unchanged(answers: list[tuple[CallOutcome, CallStyle]]) -> None:
    record = CallRecord()
    for outcome, style in answers:
        before = record
        record = record_answer(record, outcome, style=style)
        assert before.recent != record.recent or len(record.recent) == WINDOW
        assert len(record.recent) <= WINDOW
        assert record.misses <= MISSES
        assert record.trial <= LONGEST_TRIAL
