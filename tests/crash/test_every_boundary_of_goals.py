"""A process that dies at every moment at which a promise is written down, and at which it is kept."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.assistant.living import ANN, reactor
from tests.crash.lives import Lives, lives
from tests.crash.mortal import Death, MortalJournal
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("reactor_baseline")

LINE, PROMISE = "Sage, remind me in ten minutes to feed the hens", "Gladly, I will remind you."
KEPT = "Sage: Ann, you asked me to remind you: feed the hens."
#: Before and after each of: the run opened, an answer, an intent, a result, the run closed.
BOUNDARIES = 10
#: Before and after each of: the event of the goal accepted, the run opened, an answer by rule, an intent, a result, the
#: run closed.
BOUNDARIES_OF_KEEPING = 12


def brain(request: RecordedRequest) -> Step:
    """Accept everything."""
    return Reply(calls=(Call("say", {"text": PROMISE}),))


async def hear(place: Lives) -> None:
    async with place.one() as (assistant, _):
        event = Said(id="e1", at=reactor.seconds(), who=ANN, text=LINE, to_me=True)
        await assistant.inbox.take(event)


async def look_and_act(assistant: Assistant, journal: MortalJournal) -> None:
    """Do what a tick does, until there is nothing left to do."""
    for _ in range(4):
        await assistant.initiative.look()
        await react(assistant.context)
    assert await journal.pending() == ()


async def live_on(place: Lives) -> list[Goal]:
    async with place.one() as (assistant, journal):
        await look_and_act(assistant, journal)
        return list(await journal.goals(with_ended=True))


async def fall_due(place: Lives) -> None:
    """Let the time of every promise come."""
    async with place.one() as (_, journal):
        await journal.save_goals([replace(goal, due=reactor.seconds() - 1.0) for goal in await journal.goals()])


@pytest.mark.parametrize("at", range(BOUNDARIES))
async def test_a_death_while_it_promises_leaves_words_with_a_goal_or_neither(
    at: int, tmp_path: Path, flush_failures: FlushFailures
) -> None:
    async with lives(tmp_path / "journal.sqlite", brain) as place:
        await hear(place)
        async with place.one(at) as (assistant, journal):
            with pytest.raises(Death):
                await react(assistant.context)
            assert len(journal.boundaries) == at
        [goal] = await live_on(place)
        assert (goal.kind, goal.state) == (GoalKind.REMIND, GoalState.OPEN)
        assert Counter(place.witness.heard)[f"Sage: {PROMISE}"] <= 1
        await fall_due(place)
        [goal] = await live_on(place)
        assert (goal.state, place.witness.heard.count(KEPT)) == (GoalState.DONE, 1)
    flush_failures()


@pytest.mark.parametrize("at", range(BOUNDARIES_OF_KEEPING))
async def test_a_death_while_it_keeps_a_promise_keeps_it_once_or_not_knowing(
    at: int, tmp_path: Path, flush_failures: FlushFailures
) -> None:
    async with lives(tmp_path / "journal.sqlite", brain) as place:
        await hear(place)
        assert [goal.state for goal in await live_on(place)] == [GoalState.OPEN]
        await fall_due(place)
        async with place.one(at) as (assistant, journal):
            with pytest.raises(Death):
                await look_and_act(assistant, journal)
            begun = any(name.startswith("before intent") for name in journal.boundaries)
        [goal] = await live_on(place)
        assert goal.state is GoalState.DONE
        assert goal.evidence
        assert place.witness.heard.count(KEPT) == 1 or (begun and not place.witness.heard.count(KEPT))
        before = list(place.witness.heard)
        await live_on(place)
        assert place.witness.heard == before
    flush_failures()
