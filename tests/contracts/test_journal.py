"""What every `Journal` does, wherever it is kept. A new one joins by a builder in the fixture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from assistant.journal import InboxFullError, Journal, MemoryJournal, SqliteJournal, Store, UnknownRun
from assistant.outcome import Answered, Cancelled, Failed, Limit, LimitReached, NothingToDo, Outcome
from tests.assistant.journal.keeping import LOOK, SAY, TRIGGER, event, executed, noon, response

LIMIT = 3


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, reactor: Any) -> Iterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal(LIMIT)
        return
    store = Store(tmp_path / "journal", reactor, noon)
    pytest_twisted.blockon(store.open())
    durable = SqliteJournal(store, "sage", LIMIT)
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
            await journal.record_intent(run, step, index, call)
            await journal.record_result(run, step, index, executed(call))
    await journal.close_run(run, Answered(("say",)))
    assert await waiting(journal) == []


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
            await journal.record_intent(name, 1, 0, SAY)
        with pytest.raises(UnknownRun):
            await journal.record_result(name, 1, 0, executed(SAY))
        with pytest.raises(UnknownRun):
            await journal.close_run(name, NothingToDo())
