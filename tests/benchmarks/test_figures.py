"""Verdicts: by the upper quartile, and noise is neither a success nor a failure."""

from __future__ import annotations

import pytest

from benchmarks.figures import Figure, ratio, table


@pytest.mark.parametrize(
    ("low", "value", "high", "verdict"),
    [
        (0.50, 0.55, 0.59, "met"),
        (0.55, 0.58, 0.62, "missed"),
        (0.40, 0.58, 0.75, "too noisy"),
        (0.30, 0.61, 0.95, "too noisy"),
        (0.61, 0.80, 1.50, "missed"),
    ],
)
def test_a_ratio_is_judged_by_its_upper_quartile(low: float, value: float, high: float, verdict: str) -> None:
    assert Figure("1", "a", value, "x", 0.6, low, high).verdict == verdict


def test_what_is_asked_for_at_least() -> None:
    assert Figure("15", "a", 100, "%", 100, at_least=True).verdict == "met"
    assert Figure("15", "a", 99, "%", 100, at_least=True).verdict == "missed"


def test_what_has_no_limit_has_no_verdict() -> None:
    assert ratio("", "a", [1.0, 2.0, 3.0, 4.0]).verdict == ""


def test_the_table_shows_every_figure_with_its_limit() -> None:
    lines = table([ratio("1", "call", [0.5, 0.5, 0.5], 0.6), Figure("", "beside x", None, note="skipped")]).splitlines()
    assert lines[2].split() == ["1", "call", "0.5", "x", "0.5..0.5", "<=", "0.6", "x", "met"]
    assert lines[3].split() == ["beside", "x", "-", "skipped"]
