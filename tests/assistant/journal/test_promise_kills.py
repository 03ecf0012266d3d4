"""No kill loses a promise that may have been heard, and none lets it be kept twice; nor does a hand-over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import Fenced, StoredJournal
from mud_assistant.assistant.life.life_state import LifeState, StoredLife
from tests.assistant.journal.keeping import ANNA, NOON, SAY, TRIGGER, Place, event, noon
from tests.assistant.journal.postgres.outage import opened

ROOT = Path(__file__).parents[3]
CHILD = Path(__file__).with_name("promising_child.py")
#: How often the process is killed; more by hand.
KILLS = int(os.environ.get("MUD_PROMISE_KILLS", "30"))


@pytest.mark.skipif(sys.platform != "linux", reason="the harness forks and kills")
def test_no_promise_is_lost_or_kept_twice_when_the_process_is_killed(place: Place) -> None:
    command = [sys.executable, str(CHILD), str(place), str(KILLS), "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    *wrong, counts = done.stdout.splitlines()
    assert wrong == []
    heard, kept, kept_and_open, _ = map(int, counts.split())
    assert heard + kept >= KILLS  # each life says one thing at least
    assert kept_and_open <= 1  # what the last kill cut off


async def test_who_takes_the_assistant_over_has_its_promises_and_its_life(postgres_url: str, reactor: Any) -> None:
    """The one it was taken from ends the run too late, and changes nothing."""
    bread = Goal("g1", GoalKind.REMIND, "remind you: the bread", ANNA, NOON)
    told = replace(bread, state=GoalState.DONE)
    async with opened(postgres_url, reactor, name="a") as one, opened(postgres_url, reactor, name="b") as two:
        old, new = StoredJournal(one, "sage"), StoredJournal(two, "sage")
        await old.start()
        await old.accept(event(1), TRIGGER)
        run = await old.open_run(await old.pending())
        await old.record_intent(run, 1, 0, SAY, effect=True, goals=[bread])
        await StoredLife(old.lease, noon).change(lambda state: replace(state, quiet_to=(ANNA.id,)))
        await one.write(lambda db: one.leases.release(db, "sage"))
        await new.start()
        for write in (
            old.close_run(run, Answered(("say",)), goals=[told]),
            old.save_goals([told]),
            old.record_intent(run, 1, 1, SAY, effect=True, goals=[replace(bread, id="g2")]),
        ):
            with pytest.raises(Fenced):
                await write
        assert await new.goals(with_ended=True) == (bread,)
        assert await StoredLife(new.lease, noon).load() == LifeState(quiet_to=(ANNA.id,))
        left = await new.interrupted()
        assert left is not None
        await new.close_run(left.id, Answered(("say",)), goals=[told])
        assert await old.goals(with_ended=True) == (told,)
