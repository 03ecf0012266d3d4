import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.events.trace import Observer
from mud_assistant.assistant.worlds.evennia.body.notices import ThinkingSign


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shown() -> list[str]:
    return []


@pytest.fixture
def sign(clock: Clock, shown: list[str]) -> ThinkingSign:
    return ThinkingSign(clock, shown.append, "Sage")


def test_a_quick_model_is_not_announced(sign: ThinkingSign, clock: Clock, shown: list[str]) -> None:
    watching: Observer = sign
    watching.thinking("run-1", 1)
    clock.advance(0.9)
    watching.run_ended("run-1", NothingToDo())
    clock.advance(5)
    assert shown == []
    assert clock.getDelayedCalls() == []


def test_a_slow_model_is_announced_once_in_a_run(sign: ThinkingSign, clock: Clock, shown: list[str]) -> None:
    for step in (1, 2, 3):
        sign.thinking("run-1", step)
        clock.advance(20)
    assert shown == ["thinks ..."]


def test_runs_close_together_show_it_once(sign: ThinkingSign, clock: Clock, shown: list[str]) -> None:
    for number in range(4):
        sign.thinking(f"run-{number}", 1)
        clock.advance(4)
        sign.run_ended(f"run-{number}", NothingToDo())
    assert len(shown) == 2


def test_it_is_not_shown_after_the_character_spoke(sign: ThinkingSign, clock: Clock, shown: list[str]) -> None:
    sign.thinking("run-1", 1)
    sign.spoke()
    sign.thinking("run-1", 2)
    clock.advance(20)
    assert shown == []
    sign.thinking("run-2", 1)
    clock.advance(1)
    assert shown == ["thinks ..."]
