from __future__ import annotations

import pytest

from mud_assistant.llm.tokens.estimate import FIRST_GUESS, TokenEstimator


def test_the_first_guess_errs_towards_too_many() -> None:
    assert TokenEstimator().of_bytes(490) > 490 / 4.9


def test_anything_is_at_least_one_token_and_nothing_is_none() -> None:
    assert TokenEstimator().of_bytes(1) == 1
    assert TokenEstimator().of_bytes(0) == 0


def test_reports_correct_the_estimate() -> None:
    estimator = TokenEstimator()
    for _ in range(20):
        estimator.learn(10_000, 2_000)
    assert estimator.bytes_per_token == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(("size", "reported"), [(100_000, 200), (1000, None), (300, 90), (100, 1000)])
def test_reports_that_cannot_be_the_whole_prompt_teach_nothing(size: int, reported: int | None) -> None:
    estimator = TokenEstimator()
    estimator.learn(size, reported)
    assert estimator.bytes_per_token == FIRST_GUESS
