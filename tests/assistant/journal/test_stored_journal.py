"""What the durable journal does beyond the contract of `tests/contracts/test_journal.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, NothingToDo, Outcome
from mud_assistant.assistant.journal import (
    AlreadyRecorded,
    Fenced,
    InterruptedCall,
    Pruned,
    StoredJournal,
    next_prune_after,
)
from mud_assistant.assistant.journal.records import EVENT
from mud_assistant.assistant.journal.tables.removal import BACKLOG, SLICE
from tests.assistant.journal.keeping import (
    LOOK,
    NOON,
    SAY,
    TRIGGER,
    Place,
    event,
    executed,
    opened,
    response,
    rows,
    started,
)

BUG = Failed("internal error", bug=True)


async def run_over(journal: StoredJournal, outcome: Outcome) -> None:
    await journal.close_run(await journal.open_run(await journal.pending()), outcome)


async def test_everything_outlives_the_process(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        await journal.accept(event(2), TRIGGER)
    async with started(place, reactor) as journal:
        pending = await journal.pending()
    assert [accepted.event for accepted in pending] == [event(1), event(2)]


async def test_assistants_in_one_file_know_nothing_of_each_other(place: Place, reactor: Any) -> None:
    async with opened(place, reactor) as store:
        sage, tom = StoredJournal(store, "sage", 1), StoredJournal(store, "tom", 1)
        await sage.start()
        await tom.start()
        await sage.accept(event(1), TRIGGER)
        await tom.accept(event(1), TRIGGER)
        await run_over(sage, NothingToDo())
        assert [len(await one.pending()) for one in (sage, tom)] == [0, 1]


async def test_a_newer_start_fences_every_write_of_an_older_one(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as old:
        await old.accept(event(1), TRIGGER)
        run = await old.open_run(await old.pending())
        new = StoredJournal(old.lease.store, "sage")
        assert await new.start() == old.lease.token + 1
        before = rows(place, "SELECT count(*), (SELECT count(*) FROM runs) FROM events")
        for write in (
            old.accept(event(2), TRIGGER),
            old.open_run(()),
            old.record_response(run, 1, response(SAY)),
            old.record_intent(run, 1, 0, SAY, effect=True),
            old.record_result(run, 1, 0, executed(SAY)),
            old.close_run(run, NothingToDo()),
            old.unpark("event-1"),
            old.prune(0, 0),
        ):
            with pytest.raises(Fenced) as fenced:
                await write
            assert (fenced.value.token, fenced.value.current) == (1, 2)
        assert rows(place, "SELECT count(*), (SELECT count(*) FROM runs) FROM events") == before
        await new.accept(event(2), TRIGGER)
        assert len(await new.pending()) == 2


async def test_a_second_store_on_the_same_file_takes_over(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as old:
        await old.accept(event(1), TRIGGER)
        run = await old.open_run(await old.pending())
        async with started(place, reactor) as new:
            with pytest.raises(Fenced):
                await old.record_intent(run, 1, 0, SAY, effect=True)
            left = await new.interrupted()
            assert left is not None
            assert left.id == run
            await new.close_run(run, NothingToDo())
        assert await old.pending() == ()


async def test_nothing_is_written_before_start(place: Place, reactor: Any) -> None:
    async with opened(place, reactor) as store:
        with pytest.raises(Fenced):
            await StoredJournal(store, "sage").accept(event(1), TRIGGER)


async def test_a_run_left_open_is_found_with_all_it_did(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        run = await journal.open_run(await journal.pending())
        await journal.record_response(run, 1, response(LOOK, SAY, SAY))
        await journal.record_intent(run, 1, 0, LOOK, effect=False)
        await journal.record_result(run, 1, 0, executed(LOOK))
        await journal.record_intent(run, 1, 1, SAY, effect=True)
    async with started(place, reactor) as journal:
        left = await journal.interrupted()
        assert left is not None
        assert (left.id, left.opened_at, [accepted.event for accepted in left.events]) == (run, NOON, [event(1)])
        assert left.steps[0].response == response(LOOK, SAY, SAY)
        assert left.steps[0].calls == (
            InterruptedCall(0, LOOK, intended=True, executed=executed(LOOK)),
            InterruptedCall(1, SAY, intended=True, executed=None),
            InterruptedCall(2, SAY, intended=False, executed=None),
        )
        assert await journal.unknown_effects() == ()  # it is not over
        await journal.record_intent(run, 1, 0, LOOK, effect=False)  # a read is done again
        await journal.record_result(run, 1, 2, executed(SAY))
        await journal.close_run(run, Answered(("say",)))
        assert await journal.interrupted() is None
        assert await journal.pending() == ()
        (unknown,) = await journal.unknown_effects()
        assert (unknown.run_id, unknown.step, unknown.index, unknown.call) == (run, 1, 1, SAY)


async def test_an_answer_that_was_acted_on_is_not_written_over(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        run = await journal.open_run(())
        await journal.record_response(run, 1, response(SAY))
        with pytest.raises(AlreadyRecorded):
            await journal.record_response(run, 1, response(LOOK))


async def test_the_third_crash_parks_an_event_and_the_queue_goes_on(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        for _ in range(2):
            await run_over(journal, BUG)
        await journal.accept(event(2), TRIGGER)
        assert len(await journal.pending()) == 2
        await run_over(journal, BUG)
        assert [accepted.event.id for accepted in await journal.pending()] == ["event-2"]
        (parked,) = await journal.parked()
        assert (parked.event_id, parked.crashes) == ("event-1", 3)
        assert parked.accepted is not None
        assert parked.accepted.event == event(1)
        assert "internal error" in parked.reason


async def test_kills_and_bugs_count_together(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        await run_over(journal, BUG)
        await journal.open_run(await journal.pending())
    async with started(place, reactor) as journal:
        left = await journal.interrupted()
        assert left is not None
        assert len(await journal.pending()) == 1
        await journal.close_run(left.id, Cancelled())
        await journal.open_run(await journal.pending())
    async with started(place, reactor) as journal:
        assert await journal.pending() == ()
        (parked,) = await journal.parked()
        assert "killed" in parked.reason
        left = await journal.interrupted()  # what it did is still told
        assert left is not None
        await journal.close_run(left.id, Cancelled())
        assert len(await journal.parked()) == 1


@pytest.mark.parametrize("outcome", [Failed("no answer", retry_at=9.0), Failed("no key", lasting=True), Cancelled()])
async def test_an_outage_never_counts(place: Place, reactor: Any, outcome: Outcome) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        for _ in range(10):
            await run_over(journal, outcome)
        assert len(await journal.pending()) == 1


async def test_a_parked_event_can_be_tried_again_with_a_clean_record(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        for _ in range(3):
            await run_over(journal, BUG)
        assert not await journal.unpark("event-9")
        assert await journal.unpark("event-1")
        assert not await journal.unpark("event-1")
        await run_over(journal, BUG)
        assert len(await journal.pending()) == 1


async def test_an_event_that_cannot_be_read_is_parked_and_the_rest_goes_on(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        for number in (1, 2):
            await journal.accept(event(number), TRIGGER)
        await journal.lease.write(
            lambda db: db.execute("UPDATE events SET payload = ? WHERE seq = 1", (EVENT.encode(event(1))[:-1] + b"-",))
        )
        assert [accepted.event.id for accepted in await journal.pending()] == ["event-2"]
        (parked,) = await journal.parked()
        assert (parked.event_id, parked.accepted) == ("event-1", None)
        assert "checksum" in parked.reason


async def test_damaged_records_of_a_run_become_unknown(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        run = await journal.open_run(())
        await journal.record_response(run, 1, response(SAY))
        await journal.record_intent(run, 1, 0, SAY, effect=True)
        await journal.record_result(run, 1, 0, executed(SAY))
        for table in ("responses", "intents", "results"):
            await journal.lease.write(lambda db, table=table: db.execute(f"UPDATE {table} SET payload = ?", (b"\0",)))  # type: ignore[misc]  # noqa: S608
    async with started(place, reactor) as journal:
        left = await journal.interrupted()
        assert left is not None
        assert left.steps[0].response is None
        assert left.steps[0].calls == (InterruptedCall(0, None, intended=True, executed=None),)


async def test_what_is_finished_is_forgotten_in_slices_and_what_waits_is_kept(place: Place, reactor: Any) -> None:
    async with started(place, reactor, 10_000) as journal:
        many = 2 * SLICE + 10
        for number in range(many):
            await journal.accept(event(number), TRIGGER)
        await run_over(journal, NothingToDo())
        for _ in range(5):
            await run_over(journal, Cancelled())
        await journal.accept(event(many), TRIGGER)
        left_open = await journal.open_run(await journal.pending())
        assert (await journal.prune(1, 10**9)).runs == 0
        pruned = await journal.prune(-1, 10**9)
        assert (pruned.runs, pruned.events) == (6, many)
        assert len(await journal.pending()) == 1
        await journal.record_response(left_open, 1, response(SAY))


async def test_a_file_that_is_too_large_loses_its_oldest_first(tmp_path: Path, reactor: Any) -> None:
    async with started(tmp_path / "j", reactor, 10_000) as journal:
        for number in range(1000):
            await journal.accept(event(number, "x" * 1000), TRIGGER)
            if number % 100 == 99:
                await run_over(journal, NothingToDo())
        journal.lease.store.wall = lambda: NOON + 1
        pruned = await journal.prune(365, 700_000)
        assert 0 < pruned.events < 1000
        kept = rows(tmp_path / "j", "SELECT min(seq), count(*) FROM events")
        assert kept == [(pruned.events + 1, 1000 - pruned.events)]


@pytest.mark.parametrize("backlog", [None, Pruned(BACKLOG, 0), Pruned(0, BACKLOG)])
def test_after_a_backlog_the_next_prune_comes_soon(backlog: Pruned | None) -> None:
    assert next_prune_after(backlog) < 3600 < next_prune_after(Pruned(BACKLOG - 1, BACKLOG - 1))
