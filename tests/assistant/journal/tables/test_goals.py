"""What an assistant has promised is written with the words that promise it, and outlives its process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import ByRule, Noticed
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.events.outcome import Answered, Cancelled, NothingToDo
from mud_assistant.assistant.journal import (
    Journal,
    MemoryJournal,
    StoredJournal,
    UnknownRun,
)
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import BrokenRecord
from mud_assistant.assistant.journal.tables.promised_goals import GOAL, goal_of
from mud_assistant.assistant.journal.tables.removal import erase
from mud_assistant.tools import Kind, Principal
from tests.assistant.journal.keeping import (
    ANNA,
    NOON,
    SAY,
    SECRET,
    TRIGGER,
    Place,
    event,
    opened,
    rows,
    started,
    times_found,
)

BEN = Principal("8", "Ben")
BREAD = Goal("g1", GoalKind.REMIND, "remind you at dawn: the bread", ANNA, NOON, 1, what="The bread!", due_game=1.5)
FIRE = Goal("g2", GoalKind.CHORE, "mind the fire", BEN, NOON + 1, 1, frozenset({"8"}), place="inn", every=86_400.0)
DONE = replace(BREAD, state=GoalState.DONE, evidence="heard", attempts=1)
_words = st.text(max_size=5)
_times = st.floats(allow_nan=False)
people = st.builds(Principal, _words, _words, st.sampled_from(Kind), st.integers(0, 5), st.integers(0, 5))
goals = st.builds(
    Goal,
    *(_words, st.sampled_from(GoalKind), _words, people, _times),
    audience=st.none() | st.frozensets(_words, max_size=3),
    whom=_words,
    what=_words,
    due=st.none() | _times,
    due_game=st.none() | _times,
    every=_times,
    state=st.sampled_from(GoalState),
    attempts=st.integers(0, 2**40),
    reason=_words,
)


@asynccontextmanager
async def kept(where: str, request: pytest.FixtureRequest, reactor: Any) -> AsyncIterator[Journal]:
    if where == "memory":
        yield MemoryJournal()
        return
    place = request.getfixturevalue("tmp_path") / "j" if where == "sqlite" else request.getfixturevalue("postgres_url")
    async with started(place, reactor) as journal:
        yield journal


async def promised(journal: Journal, *made: Goal) -> str:
    """Open a run over Anna's event in which the words that promise these goals are intended."""
    await journal.accept(event(1), TRIGGER)
    run = await journal.open_run(await journal.pending())
    await journal.record_intent(run, 1, 0, SAY, effect=True, goals=made)
    return run


@given(goals)
def test_a_goal_comes_back_as_it_was(goal: Goal) -> None:
    assert GOAL.decode(GOAL.encode(goal)) == goal


def test_a_kind_that_is_not_known_is_an_error_of_ours() -> None:
    with pytest.raises(BrokenRecord):
        GOAL.decode(GOAL.encode(replace(BREAD, kind="dream")))


def test_an_event_names_its_goal() -> None:
    assert goal_of(replace(BREAD, id="a:b").event_id) == "a:b"
    assert goal_of("event-1") == ""


@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
async def test_goals_come_with_an_intent_and_change_with_an_outcome(
    where: str, request: pytest.FixtureRequest, reactor: Any
) -> None:
    async with kept(where, request, reactor) as journal:
        run = await promised(journal, FIRE, BREAD)
        assert await journal.goals() == (BREAD, FIRE)
        await journal.record_intent(run, 1, 1, SAY, effect=True, goals=[replace(BREAD, text="another")])
        assert await journal.goals() == (BREAD, FIRE)
        await journal.close_run(run, Answered(("say",)), goals=[DONE])
        assert await journal.goals() == (FIRE,)
        assert await journal.goals(with_ended=True) == (DONE, FIRE)
        tried = replace(FIRE, attempts=2, next_at=NOON + 60)
        await journal.save_goals([tried, replace(BREAD, id="g3", made_at=NOON - 1)])
        assert [goal.id for goal in await journal.goals()] == ["g3", "g2"]
        assert (await journal.goals())[1] == tried


@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
async def test_a_run_that_is_unknown_changes_no_goal(where: str, request: pytest.FixtureRequest, reactor: Any) -> None:
    async with kept(where, request, reactor) as journal:
        await journal.save_goals([BREAD])
        with pytest.raises(UnknownRun):
            await journal.close_run("run-99", NothingToDo(), goals=[DONE])
        with pytest.raises(UnknownRun):
            await journal.record_intent("run-99", 1, 0, SAY, effect=True, goals=[FIRE])
        assert await journal.goals(with_ended=True) == (BREAD,)


@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
async def test_who_is_forgotten_has_no_goals_and_none_comes_back(
    where: str, request: pytest.FixtureRequest, reactor: Any
) -> None:
    both = replace(FIRE, audience=frozenset({"7", "8"}))
    for_anna = replace(FIRE, id="g3", kind=GoalKind.TELL, whom="7", what="come home")
    async with kept(where, request, reactor) as journal:
        run = await promised(journal, BREAD, both, for_anna)
        await journal.close_run(run, NothingToDo())
        run = await journal.open_run(())
        await journal.forget_player(ANNA.id)
        assert await journal.goals(with_ended=True) == (FIRE,)
        await journal.close_run(run, Answered(("say",)), goals=[DONE, replace(FIRE, attempts=1)])
        assert await journal.goals(with_ended=True) == (replace(FIRE, attempts=1),)


async def test_they_outlive_the_process_and_one_that_cannot_be_read_is_left_out(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await promised(journal, BREAD, FIRE)
    async with started(place, reactor) as journal:
        assert await journal.goals() == (BREAD, FIRE)
        await journal.lease.write(lambda db: db.execute("UPDATE goals SET payload = ? WHERE id = 'g1'", (b"x",)))
        assert await journal.goals() == (FIRE,)
        await journal.forget_player("nobody")
        assert await journal.goals(with_ended=True) == (FIRE,)
    assert rows(place, "SELECT id FROM goals") == [("g2",)]


async def test_no_trace_is_left_of_what_was_promised_to_who_is_forgotten(place: Place, reactor: Any) -> None:
    """Also of what is kept for others in their words, for them by name, and of the events that were to keep it."""
    bread = replace(BREAD, what=SECRET)
    repeated = replace(FIRE, id="g3", text=f"look after the {SECRET}")
    by_name = replace(FIRE, id="g4", kind=GoalKind.TELL, whom_name="anna", what="come home")
    rule = ByRule("say", {"text": SECRET}, ANNA, bread.id)
    tries = Noticed(id=bread.event_id, at=0.0, who=Principal("world", "the world", Kind.WORLD), text="", by_rule=rule)
    async with started(place, reactor) as journal:
        await journal.accept(event(1, f"Keep the {SECRET}."), TRIGGER)
        await journal.accept(tries, Attention(Classification.TRIGGER, 3))
        run = await journal.open_run(await journal.pending())
        await journal.record_intent(run, 1, 0, SAY, effect=True, goals=[bread, FIRE, repeated, by_name])
        await journal.close_run(run, Cancelled())
        assert (await journal.forget_player(ANNA.id)).waiting == 2
        assert await journal.goals(with_ended=True) == (FIRE,)
        await journal.close_run(await journal.open_run(await journal.pending()), NothingToDo())
        assert (await journal.forget_player(ANNA.id)).events == 2
        assert await journal.pending() == ()
    assert times_found(place) == 0


async def test_a_cleared_mind_keeps_its_promises_and_an_erased_assistant_does_not(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.save_goals([BREAD])
        await journal.clear_mind(memories=True)
        assert await journal.goals() == (BREAD,)
        await journal.lease.store.write(lambda db: erase(db, "sage"))
        assert await journal.goals() == ()


async def test_what_ended_long_ago_is_pruned(place: Place, reactor: Any) -> None:
    day = 86_400.0

    def ended(db: Database) -> None:
        db.execute("UPDATE goals SET changed_at = changed_at - ? WHERE id <> 'g3'", (40 * day,))

    async with started(place, reactor) as journal:
        await journal.save_goals([DONE, FIRE, replace(DONE, id="g3"), replace(FIRE, id="g4", state=GoalState.TOLD)])
        await journal.lease.write(ended)
        await journal.prune(30, 10**9)
        assert [goal.id for goal in await journal.goals(with_ended=True)] == ["g3", "g2"]


async def test_another_process_that_has_the_lease_keeps_what_was_promised(place: Place, reactor: Any) -> None:
    async with opened(place, reactor) as store:
        old = StoredJournal(store, "sage")
        await old.start()
        run = await promised(old, BREAD)
        new = StoredJournal(store, "sage")
        await new.start()
        assert await new.goals() == (BREAD,)
        assert await StoredJournal(store, "tom").goals() == ()
        left = await new.interrupted()
        assert left is not None
        assert left.id == run
        await new.close_run(left.id, Answered(("say",)), goals=[DONE])
        assert await new.goals() == ()
