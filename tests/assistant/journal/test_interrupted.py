"""Runs that are open with nobody at them: left by a dead process, or by this one when the disk refused their end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, NothingToDo
from mud_assistant.assistant.journal import (
    Fenced,
    JournalClosed,
    JournalUnwritable,
    StoredJournal,
    StoredStream,
    StreamChange,
    StreamEntry,
    UnknownRun,
)
from mud_assistant.llm import user
from tests.assistant.journal.keeping import LOOK, SAY, TRIGGER, Place, event, opened, response, started
from tests.assistant.journal.tables.written_stream import save_stream

RAIN = StreamEntry((user("It rains."),), 3, ("event-1",), 2, ("7",))


async def open_ids(journal: StoredJournal) -> list[str]:
    """The ids of the open runs, each closed once it was told."""
    found = []
    while (left := await journal.interrupted()) is not None:
        found.append(left.id)
        await journal.close_run(left.id, Cancelled())
    return found


async def test_all_runs_left_open_are_told_oldest_first(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        ids = [await journal.open_run(()) for _ in range(3)]
    async with started(place, reactor) as journal:
        ids.append(await journal.open_run(()))  # one of its own behind them
        assert await open_ids(journal) == ids
        assert await open_ids(journal) == []


async def test_only_runs_of_the_assistant_itself_and_not_of_one_who_took_over(place: Place, reactor: Any) -> None:
    async with opened(place, reactor) as store:
        sage, tom = StoredJournal(store, "sage"), StoredJournal(store, "tom")
        await sage.start()
        await tom.start()
        run = await tom.open_run(())
        assert await sage.interrupted() is None
        left = await tom.interrupted()
        assert left is not None
        assert left.id == run
        newer = StoredJournal(store, "tom")
        await newer.start()
        await newer.close_run(run, Cancelled())
        await newer.open_run(())
        with pytest.raises(Fenced):  # it is not his any more
            await tom.interrupted()


async def test_a_run_whose_end_the_disk_refused_is_told_again_with_nothing_of_its_end(
    tmp_path: Path, reactor: Any
) -> None:
    async with started(tmp_path / "j", reactor) as journal:
        store, stream = journal.lease.store, StoredStream(journal.lease)
        await journal.accept(event(1), TRIGGER)
        (kept,) = await save_stream(stream._lease, [RAIN])
        run = await journal.open_run(await journal.pending())
        await journal.record_response(run, 1, response(SAY))
        pages = await store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        await store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())
        large = StreamChange((RAIN, StreamEntry((user("x" * 1_000_000),), 3)), (kept,))
        with pytest.raises(JournalUnwritable):
            await journal.close_run(run, Answered(("say",)), large)
        await store.write(lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchone())
        left = await journal.interrupted()
        assert left is not None
        assert (left.id, [step.response for step in left.steps]) == (run, [response(SAY)])
        assert [entry.seq for entry in (await stream.load_stream()).entries] == [kept]
        assert len(await journal.pending()) == 1
        assert await journal.close_run(run, Answered(("say",)), StreamChange((RAIN,), (kept,))) == (kept + 1,)
        assert await open_ids(journal) == []
        assert await journal.pending() == ()


async def test_the_stream_changes_with_the_end_of_its_run(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        stream = StoredStream(journal.lease)
        first = await journal.close_run(await journal.open_run(()), NothingToDo(), StreamChange((RAIN, RAIN)))
        second = await journal.close_run(await journal.open_run(()), NothingToDo(), StreamChange((RAIN,), first[:1]))
        entries = (await stream.load_stream()).entries
        assert tuple(entry.seq for entry in entries) == (first[1], *second)
        assert {(entry.messages, entry.authority, entry.sources) for entry in entries} == {(RAIN.messages, 2, ("7",))}
        with pytest.raises(UnknownRun):
            await journal.close_run("run-99", NothingToDo(), StreamChange((RAIN,), second))
        assert (await stream.load_stream()).entries == entries


async def test_nothing_is_read_when_no_run_can_be_open(place: Place, reactor: Any) -> None:
    """A store that is closed cannot be read."""
    async with opened(place, reactor) as store:
        looked, ended, running, new = (StoredJournal(store, name) for name in ("looked", "ended", "running", "new"))
        for journal in (looked, ended, running, new):
            await journal.start()
        assert await looked.interrupted() is None
        await ended.close_run(await ended.open_run(()), NothingToDo())
        await running.interrupted()
        await running.open_run(())
    assert await looked.interrupted() is None
    assert await ended.interrupted() is None
    for journal in (running, new):
        with pytest.raises(JournalClosed):
            await journal.interrupted()


async def test_closing_one_of_two_open_runs_does_not_hide_the_other(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        first, second = await journal.open_run(()), await journal.open_run(())
        await journal.close_run(second, NothingToDo())
        assert await open_ids(journal) == [first]


async def test_a_run_opened_while_another_is_closed_is_not_hidden(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        first = await journal.open_run(())
        ended = Deferred.fromCoroutine(journal.close_run(first, NothingToDo()))
        opened_since = Deferred.fromCoroutine(journal.open_run(()))  # asked for before the end was told
        await ended
        second = await opened_since
        assert await open_ids(journal) == [second]


async def test_a_run_of_our_own_counts_no_crash_however_often_it_is_told(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        run = await journal.open_run(await journal.pending())
        for _ in range(5):
            left = await journal.interrupted()
            assert left is not None
            assert not left.poisoned
        await journal.close_run(run, Failed("no answer"))
        assert await journal.parked() == ()


async def test_a_run_over_an_event_that_was_parked_says_so(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(event(1), TRIGGER)
        await journal.accept(event(2), TRIGGER)
    poisoned = []
    for _ in range(4):
        async with started(place, reactor) as journal:
            if (left := await journal.interrupted()) is not None:
                poisoned.append(left.poisoned)
                await journal.close_run(left.id, Cancelled())
            await journal.open_run((await journal.pending())[:1])
    assert poisoned == [False, False, True]


async def test_only_effects_are_told_as_unknown(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        run = await journal.open_run(())
        await journal.record_intent(run, 1, 0, LOOK, effect=False)
        await journal.record_intent(run, 1, 1, SAY, effect=True)
        await journal.close_run(run, Cancelled())
        assert [unknown.call for unknown in await journal.unknown_effects()] == [SAY]
