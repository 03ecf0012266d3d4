from __future__ import annotations

from twisted.internet.task import Clock

from mud_assistant.assistant.events.outcome import Limit
from mud_assistant.assistant.loop.spending import Meter, RunLimits
from mud_assistant.llm import Usage
from mud_assistant.resilience import Deadline


def meter(**limits: float) -> tuple[Meter, Clock]:
    clock = Clock()
    return Meter(RunLimits(**limits), Deadline.after(clock, 100)), clock  # type: ignore[arg-type]  # whole numbers


def test_steps() -> None:
    used, _ = meter(max_steps=2)
    assert used.reached() is None
    used.count_step(Usage(1, 1), 0)
    assert used.reached() is None
    used.count_step(Usage(1, 1), 0)
    assert used.reached() is Limit.STEPS


def test_time() -> None:
    used, clock = meter()
    clock.advance(100)
    assert used.reached() is Limit.TIME


def test_reported_tokens_count_and_the_estimate_only_where_nothing_was_reported() -> None:
    used, _ = meter(max_tokens=1000)
    used.count_step(Usage(300, 100), 5000)
    assert used.tokens == 400
    used.count_step(Usage(), 600)
    assert used.tokens == 1000
    assert used.reached() is Limit.TOKENS


def test_only_format_errors_in_a_row_add_up() -> None:
    used, _ = meter(max_format_errors=2)
    used.count_format(wrong=True)
    used.count_format(wrong=False)
    used.count_format(wrong=True)
    assert used.reached() is None
    used.count_format(wrong=True)
    assert used.reached() is Limit.FORMAT_ERRORS


def test_advice_comes_softly_at_60_percent_and_strongly_at_80() -> None:
    used, _ = meter(max_steps=5)
    assert used.advice(590, 1000) == ""
    soft, strong = used.advice(600, 1000), used.advice(800, 1000)
    assert soft
    assert strong
    assert soft != strong


def test_the_last_step_is_announced() -> None:
    used, _ = meter(max_steps=2)
    used.count_step(Usage(1, 1), 0)
    assert "last step" in used.advice(0, 1000)
