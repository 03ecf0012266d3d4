"""Verdicts by the upper quartile, what a run leaves with, and the table."""

from __future__ import annotations

import pytest

from benchmarks.figures import GUARD, Figure, exit_status, guarding, in_order, is_noisy, percentile, ratio, table

MET = Figure("2", "met", 0.5, "x", 0.6)
MISSED = Figure("1", "missed", 0.7, "x", 0.6)
NOISY = Figure("3", "noisy", 0.58, "x", 0.6, 0.40, 0.75, rounds=50)
TOLD = Figure("", "told", 3.0, "ms")
FAILED = Figure("", "section calls", None, failed=True)


@pytest.mark.parametrize(
    ("low", "value", "high", "verdict"),
    [
        (0.50, 0.55, 0.59, "met"),
        (0.30, 0.45, 0.60, "met"),  # noisy, and yet three rounds of four are within it
        (0.55, 0.58, 0.62, "missed"),
        (0.40, 0.58, 0.75, "too noisy"),
        (0.30, 0.61, 0.95, "too noisy"),
        (0.61, 0.80, 1.50, "missed"),  # noisy, and yet three rounds of four are over it
    ],
)
def test_a_ratio_is_judged_by_its_upper_quartile(low: float, value: float, high: float, verdict: str) -> None:
    assert Figure("1", "a", value, "x", 0.6, low, high).verdict == verdict


def test_what_is_asked_for_at_least() -> None:
    assert Figure("15", "a", 100, "%", 100, at_least=True).verdict == "met"
    assert Figure("15", "a", 99, "%", 100, at_least=True).verdict == "missed"


def test_what_has_no_limit_has_no_verdict() -> None:
    assert ratio("", "a", [1.0, 2.0, 3.0, 4.0]).verdict == ""


def test_a_section_that_failed_says_so() -> None:
    assert FAILED.verdict == "FAILED"


def test_a_ratio_has_the_quartiles_and_the_number_of_its_rounds() -> None:
    one = ratio("", "a", [4.0, 1.0, 3.0, 2.0, 5.0])
    assert (one.low, one.value, one.high, one.rounds) == (1.5, 3.0, 4.5, 5)
    alone = ratio("", "a", [2.0])
    assert (alone.low, alone.value, alone.high) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("values", "noisy"),
    [
        ([1.0] * 8, False),
        ([0.9, 1.0, 1.0, 1.1], False),
        ([0.5, 1.0, 1.5], True),
        ([-1.0, 0.0, 1.0], True),
        ([7.0], False),
    ],
)
def test_noisy_is_a_spread_of_more_than_a_quarter_of_the_median(values: list[float], noisy: bool) -> None:
    assert is_noisy(values) is noisy


def test_a_percentile_of_nothing_is_nothing() -> None:
    assert percentile([], 0.95) == 0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2


@pytest.mark.parametrize(
    ("figures", "status"),
    [
        ([MET, TOLD], 0),
        ([MET, NOISY], 3),
        ([MET, NOISY, MISSED], 1),
        ([MET, FAILED], 1),
        ([NOISY, FAILED], 1),
        ([], 0),
    ],
    ids=["met", "noisy", "missed", "failed", "failed and noisy", "nothing"],
)
def test_what_it_leaves_with(figures: list[Figure], status: int) -> None:
    assert exit_status(figures) == status


def test_a_guard_widens_the_limits_of_what_noise_touches_and_of_nothing_else() -> None:
    assert guarding(MISSED).limit == pytest.approx(0.6 * GUARD)
    assert guarding(MISSED).verdict == "met"
    for exact in (Figure("lag", "lost", 1, "", 0), Figure("15", "a", 99, "%", 100, at_least=True), TOLD):
        assert guarding(exact) == exact


def test_goals_come_by_number_then_the_promises_then_what_is_told_and_failures_first() -> None:
    figures = [
        TOLD,
        Figure("small", "s", 1.0),
        Figure("10", "ten", 1.0),
        Figure("lag", "l", 1.0),
        Figure("9", "nine", 1.0),
        Figure("prompt", "p", 1.0),
        FAILED,
        TOLD,
    ]
    names = [one.name for one in in_order(figures)]
    assert names == ["section calls", "nine", "ten", "l", "p", "s", "told"]


def test_the_table_shows_every_figure_with_its_limit_and_its_rounds() -> None:
    lines = table(
        [ratio("1", "call", [0.5, 0.5, 0.5], 0.6), Figure("", "beside x", None, note="skipped"), FAILED]
    ).splitlines()
    assert lines[0].split()[:3] == ["goal", "figure", "measured"]
    assert lines[2].split() == ["1", "call", "0.5", "x", "0.5..0.5", "(3)", "<=", "0.6", "x", "met"]
    assert lines[3].split() == ["beside", "x", "-", "skipped"]
    assert lines[4].split() == ["section", "calls", "-", "FAILED"]
