"""What every `Journal` does, wherever it is kept. A new one joins by a builder in the fixture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from mud_assistant.assistant.events.outcome import (
    Answered,
    Cancelled,
    Failed,
    Limit,
    LimitReached,
    NothingToDo,
    Outcome,
)
from mud_assistant.assistant.journal import (
    AlreadyRecorded,
    InboxFullError,
    InterruptedCall,
    InterruptedStep,
    Journal,
    MemoryJournal,
    Store,
    StoredJournal,
    StreamChange,
    StreamEntry,
    UnknownRun,
)
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.llm import user
from tests.assistant.journal.keeping import LOOK, SAY, TRIGGER, event, executed, noon, response

LIMIT = 3


@pytest.fixture(params=["memory", "sqlite", "postgres", "newest"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, reactor: Any) -> Iterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal(LIMIT)
        return
    store: JournalStore
    if request.param == "sqlite":
        store = Store(tmp_path / "journal", reactor, noon)
    else:
        store = PostgresStore(request.getfixturevalue(f"{request.param}_url"), reactor, noon, JournalProcess("test"))
    pytest_twisted.blockon(store.open())
    durable = StoredJournal(store, "sage", LIMIT)
    pytest_twisted.blockon(Deferred.fromCoroutine(durable.start()))
    yield durable
    pytest_twisted.blockon(store.close())


async def waiting(journal: Journal) -> list[str]:
    return [accepted.event.id for accepted in await journal.pending()]


async def test_nothing_waits_at_first(journal: Journal) -> None:
    assert await waiting(journal) == []


async def test_accepted_events_wait_in_order_as_they_were(journal: Journal) -> None:
    for number in (2, 1, 3):
        await journal.accept(event(number), TRIGGER)
    pending = await journal.pending()
    assert [accepted.event for accepted in pending] == [event(2), event(1), event(3)]
    assert {accepted.attention for accepted in pending} == {TRIGGER}


async def test_an_event_is_taken_once(journal: Journal) -> None:
    await journal.accept(event(1), TRIGGER)
    await journal.accept(event(1), TRIGGER)
    assert await waiting(journal) == ["event-1"]


async def test_an_event_that_was_dealt_with_is_not_taken_again(journal: Journal) -> None:
    await journal.accept(event(1), TRIGGER)
    await journal.close_run(await journal.open_run(await journal.pending()), NothingToDo())
    await journal.accept(event(1), TRIGGER)
    assert await waiting(journal) == []


async def test_a_full_inbox_refuses_and_keeps_what_it_has(journal: Journal) -> None:
    for number in range(LIMIT):
        await journal.accept(event(number), TRIGGER)
    with pytest.raises(InboxFullError):
        await journal.accept(event(9), TRIGGER)
    await journal.accept(event(0), TRIGGER)  # it has this one
    assert len(await waiting(journal)) == LIMIT


@pytest.mark.parametrize(
    ("outcome", "left"),
    [
        (Answered(("say",)), []),
        (NothingToDo(), []),
        (LimitReached(Limit.STEPS), []),
        (Failed("x", retry_at=3.0), ["event-1"]),
        (Cancelled(), ["event-1"]),
    ],
)
async def test_a_settled_run_takes_its_events_out_and_another_leaves_them(
    journal: Journal, outcome: Outcome, left: list[str]
) -> None:
    await journal.accept(event(1), TRIGGER)
    run = await journal.open_run(await journal.pending())
    await journal.accept(event(2), TRIGGER)
    await journal.close_run(run, outcome)
    assert await waiting(journal) == [*left, "event-2"]


async def test_room_is_made_by_dealing_with_events(journal: Journal) -> None:
    for number in range(LIMIT):
        await journal.accept(event(number), TRIGGER)
    await journal.close_run(await journal.open_run(await journal.pending()), NothingToDo())
    await journal.accept(event(9), TRIGGER)
    assert await waiting(journal) == ["event-9"]


async def test_a_run_is_written_step_by_step(journal: Journal) -> None:
    await journal.accept(event(1), TRIGGER)
    run = await journal.open_run(await journal.pending())
    for step in (1, 2):
        await journal.record_response(run, step, response(LOOK, SAY))
        for index, call in enumerate((LOOK, SAY)):
            await journal.record_intent(run, step, index, call, effect=True)
            await journal.record_result(run, step, index, executed(call))
    await journal.close_run(run, Answered(("say",)))
    assert await waiting(journal) == []


async def test_a_read_is_written_with_its_result(journal: Journal) -> None:
    await journal.accept(event(1), TRIGGER)
    run = await journal.open_run(await journal.pending())
    await journal.record_response(run, 1, response(LOOK, SAY))
    await journal.record_read(run, 1, 0, executed(LOOK))
    left = await journal.interrupted()
    assert left is not None
    assert left.steps[0].calls == (
        InterruptedCall(0, LOOK, intended=True, executed=executed(LOOK)),
        InterruptedCall(1, SAY, intended=False, executed=None),
    )
    await journal.close_run(run, NothingToDo())
    assert await journal.unknown_effects() == ()
    with pytest.raises(UnknownRun):
        await journal.record_read(run, 1, 0, executed(LOOK))


async def test_runs_have_ids_of_their_own(journal: Journal) -> None:
    ids = [await journal.open_run(()) for _ in range(3)]
    assert len(set(ids)) == 3


async def test_nothing_is_written_to_a_run_that_is_not_open(journal: Journal) -> None:
    run = await journal.open_run(())
    await journal.close_run(run, NothingToDo())
    for name in (run, "run-99", "x"):
        with pytest.raises(UnknownRun):
            await journal.record_response(name, 1, response(SAY))
        with pytest.raises(UnknownRun):
            await journal.record_intent(name, 1, 0, SAY, effect=True)
        with pytest.raises(UnknownRun):
            await journal.record_result(name, 1, 0, executed(SAY))
        with pytest.raises(UnknownRun):
            await journal.close_run(name, NothingToDo())


async def test_an_open_run_is_told_with_all_it_did_until_it_is_closed(journal: Journal) -> None:
    await journal.accept(event(1), TRIGGER)
    run = await journal.open_run(await journal.pending())
    await journal.record_response(run, 1, response(LOOK, SAY))
    await journal.record_intent(run, 1, 0, LOOK, effect=False)
    await journal.record_result(run, 1, 0, executed(LOOK))
    await journal.record_intent(run, 1, 1, SAY, effect=True)
    left = await journal.interrupted()
    assert left is not None
    assert (left.id, [accepted.event for accepted in left.events], left.poisoned) == (run, [event(1)], False)
    calls = (
        InterruptedCall(0, LOOK, intended=True, executed=executed(LOOK)),
        InterruptedCall(1, SAY, intended=True, executed=None),
    )
    assert left.steps == (InterruptedStep(1, response(LOOK, SAY), calls),)
    await journal.record_result(run, 1, 1, executed(SAY))  # it can be gone on with
    await journal.close_run(run, Answered(("say",)))
    assert await journal.interrupted() is None


async def test_the_oldest_open_run_comes_first(journal: Journal) -> None:
    ids = [await journal.open_run(()) for _ in range(2)]
    for run in ids:
        left = await journal.interrupted()
        assert left is not None
        assert left.id == run
        await journal.close_run(run, Cancelled())
    assert await journal.interrupted() is None


async def test_an_answer_is_recorded_once(journal: Journal) -> None:
    run = await journal.open_run(())
    await journal.record_response(run, 1, response(SAY))
    with pytest.raises(AlreadyRecorded):
        await journal.record_response(run, 1, response(LOOK))


async def test_closing_gives_a_number_for_each_new_entry_of_the_stream(journal: Journal) -> None:
    entry = StreamEntry((user("It rains."),), 3)
    assert await journal.close_run(await journal.open_run(()), NothingToDo()) == ()
    numbers = await journal.close_run(await journal.open_run(()), NothingToDo(), StreamChange((entry, entry)))
    assert len(numbers) == 2


async def test_a_suspended_run_is_the_next_to_be_taken_up(journal: Journal) -> None:
    await journal.accept(event(1), TRIGGER)
    run = await journal.open_run(await journal.pending())
    await journal.record_response(run, 1, response(SAY))
    await journal.suspend_run(run)
    left = await journal.interrupted()
    assert left is not None
    assert (left.id, len(left.steps)) == (run, 1)
    await journal.close_run(run, NothingToDo())
    with pytest.raises(UnknownRun):
        await journal.suspend_run(run)


async def test_an_effect_without_a_result_is_told_once_its_run_is_over(journal: Journal) -> None:
    run = await journal.open_run(())
    await journal.record_response(run, 1, response(LOOK, SAY, SAY))
    await journal.record_intent(run, 1, 0, LOOK, effect=False)
    await journal.record_intent(run, 1, 1, SAY, effect=True)
    await journal.record_intent(run, 1, 2, SAY, effect=True)
    await journal.record_result(run, 1, 2, executed(SAY))
    assert list(await journal.unknown_effects()) == []
    await journal.close_run(run, Answered(("say",)))
    (unknown,) = await journal.unknown_effects()
    assert (unknown.run_id, unknown.step, unknown.index, unknown.call) == (run, 1, 1, SAY)
    assert list(await journal.parked()) == []


async def test_the_runs_over_what_a_player_said_go_with_him(journal: Journal) -> None:
    await journal.accept(event(1), TRIGGER)
    await journal.close_run(await journal.open_run(await journal.pending()), Answered(("say",)))
    await journal.accept(event(2), TRIGGER)
    who = event(1).who.id
    forgotten = await journal.forget_player(who)
    assert (forgotten.runs, forgotten.waiting) == (1, 1)
    assert (await journal.forget_player(who)).runs == 0
    assert [accepted.event.id for accepted in await journal.pending()] == [event(2).id]
