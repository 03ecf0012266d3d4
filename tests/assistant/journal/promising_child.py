"""A process that promises and keeps what it promised, and is killed at any moment, again and again.

`promising_child.py PLACE KILLS SEED` prints what is wrong, one line each. The last line counts the promises: those
heard, those kept, and of these those that are not done; and those that are done without it being known whether they
were kept. PLACE is a path or the URL of a schema in PostgreSQL.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.assistant.events.events import ByRule, Noticed
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.events.outcome import Answered, Cancelled, NothingToDo
from mud_assistant.assistant.journal import Accepted, InterruptedRun, StoredJournal
from mud_assistant.assistant.journal.tables.promised_goals import goal_of
from tests.assistant.journal.keeping import ANNA, NOON, SAY, TRIGGER, Place, event, executed, opened, response, rows
from tests.assistant.journal.sqlite.writing_child import kill_one, say

#: What a goal says when its process died while it was being kept: it is not tried again.
UNKNOWN = "begun"


async def promise(journal: StoredJournal, accepted: Accepted) -> None:
    """Answer a line with words that promise something."""
    goal = Goal(accepted.event.id, GoalKind.REMIND, "remind you", ANNA, NOON)
    run = await journal.open_run([accepted])
    await journal.record_response(run, 1, response(SAY))
    await journal.record_intent(run, 1, 0, SAY, effect=True, goals=[goal])
    say("heard", goal.id)
    await journal.record_result(run, 1, 0, executed(SAY))
    await journal.close_run(run, Answered(("say",)))


async def keep(journal: StoredJournal, accepted: Accepted) -> None:
    """Do what was promised, if it is still to be done."""
    run = await journal.open_run([accepted])
    goal = await find(journal, accepted.event.id)
    if goal is None:
        await journal.close_run(run, NothingToDo())
        return
    await journal.record_intent(run, 1, 0, SAY, effect=True)
    say("kept", goal.id)
    await journal.record_result(run, 1, 0, executed(SAY))
    await journal.close_run(run, Answered(("say",)), goals=[replace(goal, state=GoalState.DONE, evidence="heard")])


async def find(journal: StoredJournal, event_id: str) -> Goal | None:
    return next((goal for goal in await journal.goals() if goal.id == goal_of(event_id)), None)


async def recover(journal: StoredJournal, left: InterruptedRun) -> None:
    """End a run that a dead process left. Words that may have been heard are not said again."""
    if not any(call.intended for step in left.steps for call in step.calls):
        await journal.close_run(left.id, Cancelled())
        return
    goal = await find(journal, left.events[0].event.id)
    ended = [] if goal is None else [replace(goal, state=GoalState.DONE, evidence=UNKNOWN)]
    await journal.close_run(left.id, Answered(("say",)), goals=ended)


async def live(place: Place, first: int, reactor: Any) -> None:
    """Hear lines and keep promises, without end."""
    async with opened(place, reactor) as store:
        journal = StoredJournal(store, "sage", 10**6)
        await journal.start()
        while (left := await journal.interrupted()) is not None:
            await recover(journal, left)
        for number in count(first):
            await journal.accept(event(number), TRIGGER)
            for goal in await journal.goals():
                rule = ByRule("say", {}, goal.asker, goal.id)
                await journal.accept(Noticed(id=goal.event_id, at=0.0, who=ANNA, text="", by_rule=rule), TRIGGER)
            for accepted in await journal.pending():
                await (keep if goal_of(accepted.event.id) else promise)(journal, accepted)


def main_live(place: Place, first: int) -> None:
    from twisted.internet import reactor  # noqa: PLC0415, TID251  (this process's composition root)
    from twisted.internet.task import react  # noqa: PLC0415

    react(lambda clock: Deferred.fromCoroutine(live(place, first, clock)), (), reactor)


def main(place: Place, kills: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    told: list[list[str]] = []
    for kill in range(kills):
        told += kill_one(partial(main_live, place, kill * 10**6), chance.uniform(0, 0.15))
    states = dict(rows(place, "SELECT id, state FROM goals"))
    heard, kept = (Counter(id_ for word, id_ in told if word == wanted) for wanted in ("heard", "kept"))
    for id_, times in (heard | kept).items():
        if times > 1 or id_ not in states:
            say("twice" if times > 1 else "lost", id_)
    done = {id_ for id_, state in states.items() if state == "done"}
    say(len(heard), len(kept), len(kept.keys() - done), len(done - kept.keys()))


if __name__ == "__main__":
    main(sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
