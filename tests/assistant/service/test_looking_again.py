"""How soon a model is looked for again that is away: seldom, and never more than a minute later."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from mud_assistant.assistant.service.runner import FIRST_PAUSE, LONGEST_PAUSE, AssistantRunner, RunnerState
from tests.assistant.service.lived_service import DEAD, Town
from tests.assistant.service.planned_service import PlannedService

pytestmark = pytest.mark.usefixtures("reactor_baseline")
#: How long it is waited each time, in seconds.
PAUSES = (FIRST_PAUSE, 10.0, 20.0, 40.0, LONGEST_PAUSE, LONGEST_PAUSE)


def tried_again(runner: AssistantRunner, tries: int) -> bool:
    return runner.alarms._tries > tries


async def test_each_pause_is_twice_the_one_before_up_to_a_minute(tmp_path: Path) -> None:
    town = Town(tmp_path, PlannedService(None, Counter()), DEAD, {})
    [process] = town.processes
    process.start(town.settings("sage", is_away=True))
    runner = process.runner
    assert runner is not None
    await town.until(lambda: runner.state is RunnerState.WAITING, "it waits")
    for tries, pause in enumerate(PAUSES, 1):
        assert runner.alarms._tries == tries
        town.time.clock.advance(pause - 1.0)
        await town.turns(20)
        assert runner.alarms._tries == tries, f"it is too soon after try {tries}"
        town.time.clock.advance(1.0)
        await town.until(partial(tried_again, runner, tries), f"it tries again after {pause} s")
    await town.ends(process, is_patient=True)
