"""A goal that is older than two weeks is looked at once a day, and kept as soon as whoever it is for is there."""

import pytest

from mud_assistant.assistant.events.goal import OUTLIVES_VISIT, Goal, GoalKind
from mud_assistant.assistant.life.goal_book import GoalBook
from mud_assistant.assistant.loop.keeping import LOOK_AGAIN_SECONDS, STEP_SECONDS
from mud_assistant.tools import Principal

NOW = 2 * OUTLIVES_VISIT
ANN = Principal("player:1", "Ann")


def old(next_at: float, kind: GoalKind = GoalKind.REMIND, due: float = 60.0) -> GoalBook:
    return GoalBook([Goal("g", kind, "remind you", ANN, 0.0, due=due, next_at=next_at)])


@pytest.mark.parametrize("is_there", [True, False])
def test_who_comes_back_before_the_next_look_is_told(is_there: bool) -> None:
    found = old(NOW + LOOK_AGAIN_SECONDS).ready(NOW, None, lambda _: is_there)
    assert (found is not None) is is_there


def test_after_a_try_that_was_not_heard_there_is_a_pause() -> None:
    assert old(NOW + STEP_SECONDS).ready(NOW, None, lambda _: True) is None


def test_what_is_not_due_and_what_needs_no_ears_waits_for_its_look() -> None:
    assert old(NOW + LOOK_AGAIN_SECONDS, due=NOW + 60.0).ready(NOW, None, lambda _: True) is None
    assert old(NOW + LOOK_AGAIN_SECONDS, GoalKind.WAIT).ready(NOW, None, lambda _: True) is None
