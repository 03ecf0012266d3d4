"""Jobs that are done without waiting for answers end as if each had been done alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from threading import Event as Gate
from typing import Any

import psycopg
import pytest
import pytest_twisted
from msgspec.structs import replace
from twisted.internet.defer import DeferredList, ensureDeferred
from twisted.python.failure import Failure

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.journal import (
    Accepted,
    AlreadyRecorded,
    Fenced,
    InboxFullError,
    StoredJournal,
    StoredStream,
    StreamChange,
    StreamEntry,
)
from mud_assistant.assistant.journal.database import Values
from mud_assistant.assistant.journal.postgres.connection import JournalConnection, connect
from mud_assistant.assistant.journal.postgres.opening import open_database
from mud_assistant.assistant.journal.postgres.sharing.leases import HeldLeases
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.llm import user
from mud_assistant.tools import Principal
from mud_assistant.tools.memories import Memory, MemoryKind
from tests.assistant.journal.keeping import SAY, TRIGGER, event, executed, noon, response
from tests.assistant.journal.tables.written_stream import save_stream

Opening = Callable[[str], Awaitable[PostgresStore]]
ANNA = Principal("7", "Anna")


@pytest.fixture
def opened(postgres_url: str, reactor: Any) -> Iterator[Opening]:
    stores: list[PostgresStore] = []

    async def open_store(name: str) -> PostgresStore:
        store = PostgresStore(postgres_url, reactor, noon, JournalProcess(name))
        await store.open()
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        pytest_twisted.blockon(store.close())


async def started(store: PostgresStore, assistant: str, limit: int = 500) -> StoredJournal:
    journal = StoredJournal(store, assistant, limit)
    await journal.start()
    return journal


async def together(store: PostgresStore, *works: Callable[[], Any]) -> list[Any]:
    """Begin all these while the writer is busy, so that they share a transaction; what each returned or failed with."""
    gate = Gate()
    first = store.write(lambda _: gate.wait(60))
    begun = [ensureDeferred(work()) for work in works]
    gate.set()
    await first
    return [
        result.value if isinstance(result, Failure) else result
        for _, result in await DeferredList(begun, consumeErrors=True)
    ]


def committed(url: str) -> int:
    with psycopg.connect(url) as db:
        row = db.execute("SELECT sum(writes) FROM processes").fetchone()
    assert row is not None
    return int(row[0])


async def test_what_goes_well_shares_commits_and_is_done_once(opened: Opening, postgres_url: str) -> None:
    store = await opened("a")
    done: list[int] = []
    told: list[str] = []  # a line for each time that the work of an event is done
    journals = [
        StoredJournal(store, f"sage-{number}", remember=lambda accepted: told.append(accepted.event.id))
        for number in range(5)
    ]
    for journal in journals:
        await journal.start()

    async def turn(journal: StoredJournal) -> None:
        await journal.accept(event(1), TRIGGER)
        run = await journal.open_run(await journal.pending())
        await journal.record_response(run, 1, response(SAY))
        await journal.record_intent(run, 1, 0, SAY, effect=True)
        await journal.record_result(run, 1, 0, executed(SAY))
        done.append(len(await journal.close_run(run, NothingToDo(), StreamChange((entry("a"), entry("b"))))))

    before = committed(postgres_url)
    await together(store, *(partial(turn, journal) for journal in journals))
    assert done == [2] * 5
    assert committed(postgres_url) - before < 5 * 6, "writes of several share a commit"
    assert len(told) == 5, "nothing was done again"


async def test_an_event_that_was_taken_before_spoils_nothing(opened: Opening) -> None:
    store = await opened("a")
    sage, cook = await started(store, "sage"), await started(store, "cook")
    results = await together(
        store,
        lambda: sage.accept(event(1), TRIGGER),
        lambda: sage.accept(event(1), TRIGGER),
        lambda: cook.accept(event(1), TRIGGER),
        lambda: sage.accept(event(2), TRIGGER),
    )
    assert results == [None] * 4
    assert [one.event.id for one in await sage.pending()] == ["event-1", "event-2"]
    assert [one.event.id for one in await cook.pending()] == ["event-1"]


async def test_a_full_inbox_refuses_what_is_over_its_limit_and_no_more(opened: Opening) -> None:
    store = await opened("a")
    sage, cook = await started(store, "sage", 2), await started(store, "cook")
    *accepted, refused, other = await together(
        store,
        *(partial(sage.accept, event(number), TRIGGER) for number in range(3)),
        lambda: cook.accept(event(1), TRIGGER),
    )
    assert [*accepted, other] == [None] * 3
    assert isinstance(refused, InboxFullError)
    assert len(await sage.pending()) == 2


async def test_a_stale_holder_is_fenced_alone(opened: Opening) -> None:
    store = await opened("a")
    stale, cook = await started(store, "sage"), await started(store, "cook")
    sage = await started(store, "sage")
    fenced, *good = await together(
        store,
        lambda: stale.accept(event(1), TRIGGER),
        lambda: sage.accept(event(2), TRIGGER),
        lambda: cook.accept(event(3), TRIGGER),
    )
    assert isinstance(fenced, Fenced)
    assert stale.lease.is_lost
    assert good == [None, None]
    assert [one.event.id for one in await sage.pending()] == ["event-2"]


async def test_a_stale_holder_is_fenced_before_its_successor_in_the_same_transaction(opened: Opening) -> None:
    store = await opened("a")
    stale = await started(store, "sage")
    await started(store, "sage")
    third = StoredJournal(store, "sage")
    fenced, token = await together(store, lambda: stale.accept(event(1), TRIGGER), third.start)
    assert (type(fenced), token) == (Fenced, 3)
    assert await third.pending() == ()


async def test_an_answer_is_recorded_once_however_often_it_comes(opened: Opening) -> None:
    """An error of the server spoils the statements that psycopg prepared behind it."""
    store = await opened("a")
    sage, cook = await started(store, "sage"), await started(store, "cook")
    for number in range(12):
        await sage.accept(event(number), TRIGGER)
        run = await sage.open_run(await sage.pending())
        first, again, other = await together(
            store,
            partial(sage.record_response, run, 1, response(SAY)),
            partial(sage.record_response, run, 1, response(SAY)),
            partial(cook.accept, event(number), TRIGGER),
        )
        assert (first, type(again), other) == (None, AlreadyRecorded, None)
        await sage.close_run(run, NothingToDo())
    assert len(await cook.pending()) == 12


async def test_what_is_heard_again_is_remembered_once(opened: Opening) -> None:
    store = await opened("a")
    told: list[float] = []

    def remember(accepted: Accepted) -> Memory:
        told.append(accepted.event.at)
        return memory_of(accepted.event)

    sage = StoredJournal(store, "sage", remember=remember)
    await sage.start()
    for number in (1, 3, 2):
        said = Said(id=str(number), at=float(number), who=ANNA, text="The key is under the stone.")
        await sage.accept(said, TRIGGER)
        tries = told.count(number)
        assert tries == 1, "the second time is not done twice"
    rows = await store.read(lambda db: db.execute("SELECT id, at, event FROM memories").fetchall())
    assert rows == [("of the key", 3.0, "2")]


async def test_entries_stay_in_order_when_an_assistant_moves_between_processes(opened: Opening) -> None:
    first, second = await opened("a"), await opened("b")
    numbers: list[int] = []
    for store in (first, second, first, second):
        # The other's numbers that are in hand are older than those of this one by now.
        journal = await started(store, "sage")
        for _ in range(3):
            await journal.accept(event(len(numbers)), TRIGGER)
            run = await journal.open_run(await journal.pending())
            numbers += await journal.close_run(run, NothingToDo(), StreamChange((entry("x"), entry("y"), entry("z"))))
        await store.write(partial(store.leases.release, assistant="sage"))
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 36


async def test_what_a_renewal_finds_lost_is_told_though_another_work_fails(opened: Opening) -> None:
    first, second = await opened("a"), await opened("b")
    await started(first, "sage")
    await started(first, "cook")
    await second.write(partial(second.leases.take, assistant="sage", wall=noon(), by_force=True))

    async def renew() -> list[str]:
        return sorted(await first.write(first.leases.renew))

    async def fail() -> None:
        await first.write(lambda _: 1 // 0)

    lost, error = await together(first, renew, fail)
    assert (lost, type(error)) == (["sage"], ZeroDivisionError)
    assert (first.has_expired("sage"), first.has_expired("cook")) == (True, False)
    assert await renew() == [], "it is told once"


def test_a_renewal_that_is_not_committed_is_not_believed(postgres_url: str) -> None:
    db, time = connect(postgres_url), [0.0]
    open_database(db, lambda: connect(postgres_url), "here")
    leases = HeldLeases(JournalProcess("a"), lambda: time[0])
    for is_committed, later in ((True, 0.0), (False, 9.0)):
        time[0] = later
        db.run("BEGIN")
        leases.begin()
        leases.renew(db) if later else leases.take(db, "sage", 1.0)
        db.run("COMMIT" if is_committed else "ROLLBACK")
        if is_committed:
            leases.committed()
    assert not leases.has_expired("sage")
    time[0] = 10.0
    assert leases.has_expired("sage"), "its lease was last renewed at 0 seconds"
    db.close()


def entry(text: str) -> StreamEntry:
    return StreamEntry((user(text),), 5, (), 1, (ANNA.id,))


def memory_of(heard: object) -> Memory:
    assert isinstance(heard, Said)
    return Memory("of the key", heard.text, MemoryKind.HEARD, heard.at, heard.who.id, event=heard.id)


async def test_many_entries_are_saved_and_forgotten_in_few_statements(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = StoredStream((await started(await opened("one"), "sage")).lease)
    entries = [StreamEntry((user(f"word {number}"),), number % 11, (f"e{number}",), 1, ("7",)) for number in range(50)]
    sent: list[str] = []
    send = JournalConnection.send

    def listening(connection: JournalConnection, sql: str, values: Values = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        sent.append(sql)
        return send(connection, sql, values)

    monkeypatch.setattr(JournalConnection, "send", listening)
    old = await save_stream(stream._lease, entries)
    assert sum("INTO stream" in sql for sql in sent) < 12
    sent.clear()
    new = await save_stream(stream._lease, entries[:3], old[:40])
    assert [sql.split()[0] for sql in sent if " stream " in sql] == ["DELETE", "INSERT"]
    loaded = (await stream.load_stream()).entries
    assert [entry.seq for entry in loaded] == [*old[40:], *new]
    assert [replace(entry, seq=0) for entry in loaded] == [*entries[40:], *entries[:3]]
