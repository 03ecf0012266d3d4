"""A player's right to be forgotten, and a file that holds no more than its rows."""

from __future__ import annotations

import gzip
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred, DeferredList

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, NothingToDo
from mud_assistant.assistant.journal import (
    Fenced,
    Forgotten,
    StoredJournal,
    StoredStream,
    StreamChange,
    StreamEntry,
)
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.store import Job
from mud_assistant.llm import ToolCall, user
from mud_assistant.tools import Principal
from tests.assistant.journal.keeping import (
    ANNA,
    SAY,
    SECRET,
    TRIGGER,
    Place,
    executed,
    fact,
    memories_of,
    opened,
    response,
    rows,
    started,
    times_found,
)
from tests.assistant.journal.tables.written_stream import save_stream

BEN = Principal("8", "Ben")


def said(number: int, who: Principal, text: str) -> Said:
    return Said(id=f"event-{number}", at=1.5, who=who, text=text)


async def run_over(journal: StoredJournal, *sources: str) -> str:
    """A finished run over what waits, with words of it in every record."""
    events = await journal.pending()
    told = " ".join(accepted.event.text for accepted in events if isinstance(accepted.event, Said))
    call = ToolCall("c", "say", {"text": told})
    run = await journal.open_run(events)
    await journal.record_response(run, 1, response(call))
    await journal.record_intent(run, 1, 0, call, effect=True)
    await journal.record_result(run, 1, 0, executed(call))
    entry = StreamEntry((user(told),), 3, tuple(accepted.event.id for accepted in events), 1, sources)
    await journal.close_run(run, Answered(("say",)), StreamChange((entry,)))
    return run


async def test_a_player_is_forgotten_and_the_others_are_not(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        memories, stream = memories_of(journal), StoredStream(journal.lease)
        for number, (who, text) in enumerate([(ANNA, SECRET), (BEN, "walnut"), (ANNA, f"{SECRET} again")]):
            await journal.accept(said(number, who, text), TRIGGER)
            await run_over(journal, who.id)
        for memory in (fact(f"likes {SECRET}", ANNA), fact("likes walnut", BEN), fact("The bridge is out")):
            await memories.keep(memory)
        await save_stream(
            stream._lease, [StreamEntry((user(f"In short: {SECRET} and walnut."),), 8, (), 1, ("8", "7"))]
        )
        assert times_found(place) > 10
        assert await journal.forget_player("7") == Forgotten(2, 2, 1, 3, waiting=0, erased=True)
        assert times_found(place) == 0
        assert times_found(place, "walnut") > 5
        assert [memory.text for memory in (await memories.recall("", hearers=None)).memories] == [
            "The bridge is out",
            "likes walnut",
        ]
        assert [entry.sources for entry in (await stream.load_stream()).entries] == [("8",)]
        assert await journal.forget_player("7") == Forgotten(0, 0, 0, 0, waiting=0, erased=True)
        await journal.accept(said(9, ANNA, "Hello?"), TRIGGER)
        await run_over(journal)
    assert rows(place, "SELECT who, state FROM events ORDER BY seq") == [("8", "done"), ("7", "done")]
    assert rows(place, "SELECT count(*), (SELECT count(*) FROM responses) FROM runs") == [(2, 2)]
    if isinstance(place, Path):
        assert rows(place, "PRAGMA integrity_check") == [("ok",)]


async def test_the_words_are_gone_from_a_large_file(place: Place, reactor: Any) -> None:
    """Rows move from page to page as a file grows, and leave copies behind that no deletion overwrites."""
    chance = random.Random(1)  # noqa: S311
    async with started(place, reactor, 10_000) as journal:
        memories = memories_of(journal)
        asked: list[Deferred[Any]] = []
        for number in range(600):
            who = chance.choice((ANNA, BEN))
            word = SECRET if who is ANNA else "walnut"
            event = said(number, who, f"{chance.random()} {word} " * chance.choice((1, 5, 50)))
            asked.append(Deferred.fromCoroutine(journal.accept(event, TRIGGER)))
            asked.append(
                Deferred.fromCoroutine(
                    memories.keep(fact(f"{chance.random()} {word} " * chance.choice((1, 5, 20)), who))
                )
            )
            if number % 20 == 19:
                await journal.close_run(await journal.open_run(await journal.pending()), NothingToDo())
        await DeferredList(asked, fireOnOneErrback=True)
        found = rows(place, "SELECT count(*) FROM events WHERE who = '7' AND state = 'done'")
        forgotten = await journal.forget_player("7")
        assert [(forgotten.events,)] == found
        assert (forgotten.erased, forgotten.waiting) == (True, 0)
        assert times_found(place) == 0
        assert times_found(place, "walnut") > 100


async def test_what_waits_is_dealt_with_first(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(said(1, ANNA, SECRET), TRIGGER)
        await journal.close_run(await journal.open_run(await journal.pending()), Cancelled())
        left_open = await journal.open_run(await journal.pending())
        assert await journal.forget_player("7") == Forgotten(0, 0, 0, 0, waiting=1, erased=True)
        assert len(await journal.pending()) == 1
        await journal.close_run(left_open, Answered(("say",)))
        assert await journal.forget_player("7") == Forgotten(1, 2, 0, 0, waiting=0, erased=True)


async def test_a_parked_event_is_forgotten_too_once_its_run_is_over(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await journal.accept(said(1, ANNA, SECRET), TRIGGER)
        for _ in range(2):
            run = await journal.open_run(await journal.pending())
            await journal.close_run(run, Failed("x", bug=True))
        await journal.open_run(await journal.pending())
    async with started(place, reactor) as journal:
        assert len(await journal.parked()) == 1
        assert await journal.forget_player("7") == Forgotten(0, 0, 0, 0, waiting=1, erased=True)
        left = await journal.interrupted()
        assert left is not None
        assert len(left.events) == 1
        await journal.close_run(left.id, Cancelled())
        assert await journal.forget_player("7") == Forgotten(1, 3, 0, 0, waiting=0, erased=True)
        assert await journal.parked() == ()
        assert times_found(place) == 0


async def test_another_assistant_keeps_what_it_knows(place: Place, reactor: Any) -> None:
    async with opened(place, reactor) as store:
        sage, tom = StoredJournal(store, "sage"), StoredJournal(store, "tom")
        for journal in (sage, tom):
            await journal.start()
            await journal.accept(said(1, ANNA, "Hello?"), TRIGGER)
            await run_over(journal, "7")
            await memories_of(journal).keep(fact("likes tea", ANNA))
        assert await sage.forget_player("7") == Forgotten(1, 1, 1, 1, waiting=0, erased=True)
        assert await tom.forget_player("7") == Forgotten(1, 1, 1, 1, waiting=0, erased=True)


async def test_an_entry_that_cannot_be_told_goes(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await save_stream(journal.lease, [StreamEntry((user(SECRET),), 3, (), 1, ("8",))])
        await journal.lease.write(lambda db: db.execute("UPDATE stream SET sources = ?", (b"\0",)))
        assert (await journal.forget_player("7")).entries == 1


async def test_events_of_version_1_are_known_by_their_records(tmp_path: Path, reactor: Any) -> None:
    old = gzip.decompress((Path(__file__).parents[1] / "file" / "version_1.gz").read_bytes())
    (tmp_path / "j").write_bytes(old)
    async with started(tmp_path / "j", reactor) as journal:
        assert await journal.forget_player("8") == Forgotten(0, 0, 0, 0, waiting=0, erased=True)
        # Events 1 and 2 in one run, the parked one in three; an entry names events 1 and 2; event 4 waits.
        assert await journal.forget_player("7") == Forgotten(3, 4, 1, 1, waiting=1, erased=True)
        assert times_found(tmp_path / "j", "poison") == 0
        assert [accepted.event.id for accepted in await journal.pending()] == ["event-4"]


async def test_while_another_process_reads_it_is_said_and_made_good_at_the_next_start(
    tmp_path: Path, reactor: Any
) -> None:
    path = tmp_path / "j"
    async with started(path, reactor) as journal:
        await journal.accept(said(1, ANNA, SECRET), TRIGGER)
        await run_over(journal, "7")
        await journal.lease.store.read(lambda db: db.execute("PRAGMA busy_timeout = 10").fetchone())
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
            assert await journal.forget_player("7") == Forgotten(1, 1, 0, 1, waiting=0, erased=False)
            assert times_found(path) > 0
            assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)  # it was not disturbed
    async with started(path, reactor):
        assert times_found(path) == 0
    assert rows(path, "SELECT count(*) FROM meta WHERE key = 'compact'") == [(0,)]


async def test_when_it_cannot_be_written_anew_that_is_said(tmp_path: Path, reactor: Any) -> None:
    """Another process takes the file right behind the deletion; a full disk gives the same error."""
    path = tmp_path / "j"
    other: list[sqlite3.Connection] = []

    def hold(db: Database) -> None:
        other.append(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
        other[0].execute("BEGIN IMMEDIATE")

    async with started(path, reactor) as journal:
        await journal.accept(said(1, ANNA, SECRET), TRIGGER)
        await run_over(journal, "7")
        store = journal.lease.store
        await store.read(lambda db: db.execute("PRAGMA busy_timeout = 10").fetchone())
        forgetting = Deferred.fromCoroutine(journal.forget_player("7"))
        await store._put(Job(hold, writes=False, alone=True))
        assert await forgetting == Forgotten(1, 1, 0, 1, waiting=0, erased=False)
        other[0].close()
    owed = "SELECT count(*) FROM meta WHERE key = 'compact'"
    assert rows(path, owed) == [(1,)]
    async with started(path, reactor):
        assert times_found(path) == 0
    assert rows(path, owed) == [(0,)]


async def test_only_who_holds_the_lease_forgets(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as old:
        await StoredJournal(old.lease.store, "sage").start()
        with pytest.raises(Fenced):
            await old.forget_player("7")


async def test_a_file_that_is_mostly_free_is_smaller_after_the_next_start(tmp_path: Path, reactor: Any) -> None:
    path = tmp_path / "j"
    async with started(path, reactor, 10_000) as journal:
        events = [said(number, ANNA, f"{number} {'x' * 3000}") for number in range(600)]
        await DeferredList([Deferred.fromCoroutine(journal.accept(event, TRIGGER)) for event in events])
        waiting = await journal.pending()
        await journal.close_run(await journal.open_run(waiting[:250]), NothingToDo())
        await journal.prune(-1, 10**9)
    large = path.stat().st_size
    async with started(path, reactor, 10_000) as journal:
        assert path.stat().st_size == large  # less than half of it is free
        await journal.close_run(await journal.open_run(waiting[250:590]), NothingToDo())
        await journal.prune(-1, 10**9)
        assert path.stat().st_size == large
    async with started(path, reactor, 10_000) as journal:
        assert path.stat().st_size < large / 10
        assert len(await journal.pending()) == 10
        run = await journal.open_run(())
        await journal.record_intent(run, 1, 0, SAY, effect=True)
