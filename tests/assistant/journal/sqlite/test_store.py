from __future__ import annotations

import os
import resource
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.task import Clock, deferLater
from twisted.python.failure import Failure

from mud_assistant.assistant.journal import (
    JournalClosed,
    JournalRefused,
    JournalUnreadable,
    JournalUnwritable,
    Opened,
    OpeningRefused,
    ReadOnly,
    Recovered,
    Sound,
    Store,
)
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.sqlite.writer import RETRY_SECONDS
from mud_assistant.assistant.journal.store import CALM_COMMITS, MAX_BATCH
from tests.assistant.journal.keeping import noon, opened_file, rows

COUNT = "SELECT count(*) FROM meta WHERE key LIKE 'k%'"


def put(number: int) -> Any:
    def work(db: Database) -> int:
        db.execute("INSERT INTO meta VALUES (?, 'v')", (f"k{number}",))
        return number

    return work


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def size(path: str) -> int:
    return Path(path).stat().st_size


def clear(path: Path) -> None:
    path.unlink()


def trouble(store: Store) -> str | None:
    return store.trouble


def state(store: Store) -> Opened | None:
    return store.opened


def count(db: Database) -> int:
    found: int = db.execute(COUNT).fetchone()[0]
    return found


async def test_a_new_file_is_sound_private_and_durable(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path / "deep" / "j", reactor) as store:
        assert store.opened == Sound(store.path, new=True)
        assert store.path.stat().st_mode & 0o777 == 0o600
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "user_version")
        found = await store.read(lambda db: [db.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas])
        assert found == ["wal", 2, 1, 5000, SCHEMA.version]


async def test_an_acknowledged_write_is_seen_by_another_connection(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path / "j", reactor) as store:
        assert await store.write(put(7)) == 7
        assert rows(store.path, COUNT) == [(1,)]


async def test_many_writes_share_few_commits(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path / "j", reactor) as store:
        before = store.commits
        results = await DeferredList([store.write(put(number)) for number in range(1000)])
        assert [value for _, value in results] == list(range(1000))
        assert store.commits - before <= 2 + 1000 // MAX_BATCH + 1
        assert store.queued == 0


async def test_work_that_raises_is_undone_alone(tmp_path: Path, reactor: Any) -> None:
    def half(db: Database) -> None:
        put(100)(db)
        raise LookupError("half way")

    async with opened_file(tmp_path / "j", reactor) as store:
        first, bad, wrong, last = (store.write(w) for w in (put(1), half, put(1), put(2)))
        assert await first == 1
        with pytest.raises(LookupError, match="half way"):
            await bad
        with pytest.raises(sqlite3.IntegrityError):
            await wrong
        assert await last == 2
        assert await store.read(count) == 2


async def test_the_first_work_of_a_transaction_is_undone_alone(tmp_path: Path, reactor: Any) -> None:
    def half(db: Database) -> None:
        put(100)(db)
        raise LookupError("half way")

    async with opened_file(tmp_path / "j", reactor) as store:
        for others in (0, 2):
            bad, *good = (store.write(work) for work in (half, *map(put, range(others))))
            with pytest.raises(LookupError, match="half way"):
                await bad
            assert [await one for one in good] == list(range(others))
            assert await store.read(count) == others
        assert store.trouble is None


async def test_a_read_sees_the_writes_before_it_and_cannot_write(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path / "j", reactor) as store:
        store.write(put(1))
        seen = store.read(count)
        store.write(put(2))
        assert await seen == 1
        with pytest.raises(JournalUnreadable, match="may not be written"):
            await store.read(put(3))


async def test_works_run_on_the_writers_thread_and_results_come_on_the_reactors(tmp_path: Path, reactor: Any) -> None:
    here = threading.get_ident()
    async with opened_file(tmp_path / "j", reactor) as store:
        there: list[int] = []
        told: list[int] = []
        for ask in (store.write, store.read):
            done = ask(lambda db: there.append(threading.get_ident()))
            await done.addCallback(lambda _: told.append(threading.get_ident()))
        assert set(told) == {here}
        assert len(set(there)) == 1
        assert here not in there
        db = await store.read(lambda db: db)
        with pytest.raises(sqlite3.ProgrammingError, match="thread"):
            db.execute("SELECT 1")


async def test_a_read_that_goes_on_in_the_writers_thread_sees_the_writes_before_it(
    tmp_path: Path, reactor: Any
) -> None:
    told: list[tuple[object, str]] = []

    def tell(result: object) -> None:
        told.append((result, threading.current_thread().name))

    async with opened_file(tmp_path / "j", reactor) as store:
        written = store.write(put(1))
        store.read_then(count, tell)
        store.read_then(put(2), tell)
        assert await written == 1
        await store.read(count)
    assert told[0] == (1, "journal")
    assert isinstance(told[1][0], Failure)
    with pytest.raises(JournalClosed):
        store.read_then(count, tell)


async def test_a_read_in_a_transaction_that_is_not_committed_is_told_so_and_nothing_else(
    tmp_path: Path, reactor: Any
) -> None:
    told: list[object] = []
    async with opened_file(tmp_path / "j", reactor) as store:
        await store.write(put(1))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size(f"{store.path}-wal"), hard))
        try:
            go = threading.Event()
            together = [store.read(lambda _: go.wait(5.0)), store.write(put(2))]
            store.read_then(count, told.append)
            go.set()
            assert [success for success, _ in await DeferredList(together, consumeErrors=True)] == [True, False]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert await store.read(count) == 1
    assert [result.type for result in told if isinstance(result, Failure)] == [JournalUnwritable]
    assert len(told) == 1


async def test_cancelling_drops_the_interest_and_not_the_write(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path / "j", reactor) as store:
        dropped = store.write(put(1))
        dropped.cancel()
        with pytest.raises(CancelledError):
            await dropped
        assert await store.read(count) == 1


async def test_closing_does_what_was_asked_for_and_leaves_no_thread_and_no_log(tmp_path: Path, reactor: Any) -> None:
    before = threading.active_count()
    store = Store(tmp_path / "j", reactor, noon)
    await store.open()
    written = [store.write(put(number)) for number in range(600)]
    over = store.close()
    for late in (store.write(put(1)), store.read(count), store.close()):
        with pytest.raises(JournalClosed):
            await late
    await over
    assert all(done.called for done in written)
    assert threading.active_count() == before
    assert names(tmp_path) == ["j"]
    assert rows(store.path, COUNT) == [(600,)]


async def test_a_store_that_is_not_open_says_so(tmp_path: Path, reactor: Any) -> None:
    store = Store(tmp_path / "j", reactor, noon)
    for early in (store.write(put(1)), store.read(count), store.close()):
        with pytest.raises(JournalClosed):
            await early
    await store.open()
    with pytest.raises(JournalClosed):
        await store.open()
    await store.close()


async def test_a_full_disk_fails_the_writes_it_meets_and_the_store_goes_on(tmp_path: Path, reactor: Any) -> None:
    def fill(db: Database) -> None:
        db.execute("INSERT INTO meta VALUES ('fill', hex(zeroblob(1000000)))")

    async with opened_file(tmp_path / "j", reactor) as store:
        await store.write(put(1))
        pages = await store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        await store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())
        full, other = store.write(fill), store.write(put(2))
        with pytest.raises(JournalUnwritable, match="disk is full"):
            await full
        assert await other == 2
        await store.write(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
        await store.write(fill)
        assert await store.read(count) == 2


async def test_a_commit_that_fails_fails_all_it_covers(tmp_path: Path, reactor: Any) -> None:
    """The log may not grow, as on a full disk; the error comes with the commit, after all works have succeeded."""
    async with opened_file(tmp_path / "j", reactor) as store:
        await store.write(put(1))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size(f"{store.path}-wal"), hard))
        try:
            results = await DeferredList([store.write(put(number)) for number in range(2, 9)], consumeErrors=True)
            assert {failure.type for success, failure in results if not success} == {JournalUnwritable}
            assert not any(success for success, _ in results)
            assert store.trouble
            assert await store.read(count) == 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert await store.write(put(2)) == 2
        assert trouble(store) is None
        assert rows(store.path, COUNT) == [(2,)]


async def test_a_file_held_by_another_process_fails_writes_but_not_reads(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path / "j", reactor) as store:
        await store.read(lambda db: db.execute("PRAGMA busy_timeout = 10").fetchone())
        other = sqlite3.connect(store.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        write, read = store.write(put(1)), store.read(count)
        with pytest.raises(JournalUnwritable, match="another process"):
            await write
        assert await read == 0
        other.close()
        assert await store.write(put(1)) == 1


async def test_a_refused_file_refuses_everything(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path, reactor) as store:
        assert isinstance(store.opened, OpeningRefused)
        for asked in (store.write(put(1)), store.read(count)):
            with pytest.raises(JournalRefused, match="directory"):
                await asked


async def test_a_file_that_becomes_writable_is_written(tmp_path: Path, reactor: Any) -> None:
    clock = Clock()
    store = Store(tmp_path / "place" / "j", reactor, clock.seconds)
    (tmp_path / "place").write_text("in the way")
    opening = await store.open()
    assert isinstance(opening, ReadOnly)
    clear(tmp_path / "place")
    with pytest.raises(JournalUnwritable):
        await store.write(put(1))
    clock.advance(RETRY_SECONDS)
    assert await store.write(put(1)) == 1
    assert isinstance(state(store), Sound)
    await store.close()


async def test_the_reactor_turns_while_the_writer_waits(tmp_path: Path, reactor: Any) -> None:
    gate = threading.Event()
    async with opened_file(tmp_path / "j", reactor) as store:
        slow: Deferred[bool] = store.write(lambda db: gate.wait(5))
        turns = 0
        while turns < 10:
            await deferLater(reactor, 0)
            turns += 1
        assert not slow.called
        gate.set()
        assert await slow


async def test_long_work_does_not_hold_up_what_came_before_it(tmp_path: Path, reactor: Any) -> None:
    """Each of these takes longer, by the wall, than one transaction may collect."""
    clock = Clock()
    store = Store(tmp_path / "j", reactor, clock.seconds)
    await store.open()
    before = store.commits

    def long(db: Database) -> None:
        clock.advance(1)

    await DeferredList([store.write(long) for _ in range(5)])
    assert store.commits - before == 5
    await store.close()


async def test_a_damaged_file_is_told_of_and_goes_on(tmp_path: Path, reactor: Any) -> None:
    async with opened_file(tmp_path / "j", reactor) as store:
        await store.write(put(1))
    os.truncate(store.path, 8192)
    async with opened_file(tmp_path / "j", reactor) as store:
        assert isinstance(store.opened, Recovered)
        assert "j.damaged-1" in store.opened.sentence
        await store.write(put(2))


async def test_a_transaction_that_sqlite_gives_up_fails_what_was_in_it_and_the_rest_goes_on(
    tmp_path: Path, reactor: Any
) -> None:
    """SQLite may roll a whole transaction back when the disk fails; a work that does it itself stands for that."""

    def give_up(db: Database) -> None:
        db.execute("ROLLBACK")

    async with opened_file(tmp_path / "j", reactor) as store:
        asked = [store.write(work) for work in (put(1), give_up, put(2))]
        results = await DeferredList(asked, consumeErrors=True)
        assert [success for success, _ in results] == [False, False, True]
        assert results[0][1].type is JournalUnwritable
        assert rows(store.path, COUNT) == [(1,)]


async def test_troubles_are_told_as_they_begin_and_as_they_end(tmp_path: Path, reactor: Any) -> None:
    def fill(db: Database) -> None:
        db.execute("INSERT INTO meta VALUES ('fill', hex(zeroblob(1000000)))")

    told: list[str] = []
    store = Store(tmp_path / "j", reactor, noon, on_trouble=told.append)
    await store.open()
    await store.write(put(1))
    pages = await store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    await store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    for _ in range(3):
        with pytest.raises(JournalUnwritable):
            await store.write(fill)
    assert told == ["the journal could not be written: the disk is full"]
    assert await store.read(count) == 1
    assert len(told) == 1
    await store.write(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    await store.write(put(9))  # one write that finds room is not the end of it
    await store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    with pytest.raises(JournalUnwritable):
        await store.write(fill)
    assert len(told) == 1
    await store.write(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    await store.write(fill)
    for number in range(2, 2 + CALM_COMMITS):
        await store.write(put(number))
    assert told[1:] == [""]
    await store.close()


async def test_damage_is_told_once_and_stays_until_the_next_start(tmp_path: Path, reactor: Any) -> None:
    def damaged(_: Database) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    told: list[str] = []
    store = Store(tmp_path / "j", reactor, noon, on_trouble=told.append)
    await store.open()
    for _ in range(2):
        with pytest.raises(JournalUnreadable):
            await store.read(damaged)
    await store.write(put(1))
    assert told == ["the journal could not be read: the file is damaged; it is repaired at the next start"]
    assert store.trouble == told[0]
    await store.close()


async def test_a_file_that_cannot_be_written_from_the_start_is_told(tmp_path: Path, reactor: Any) -> None:
    told: list[str] = []
    async with opened_file(tmp_path / "j", reactor):
        pass
    place = tmp_path / "place"
    place.write_text("no folder")
    store = Store(place / "j", reactor, noon, on_trouble=told.append)
    state_found = await store.open()
    if isinstance(state_found, ReadOnly):
        assert told == [state_found.sentence]
    await store.close()


async def test_a_disk_without_room_for_the_index_of_the_log_is_called_full(tmp_path: Path, reactor: Any) -> None:
    """SQLite itself only says "disk I/O error" there: https://www.sqlite.org/rescode.html#ioerr_shmsize"""
    async with opened_file(tmp_path / "j", reactor) as store:
        await store.write(put(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        late = Store(tmp_path / "j", reactor, noon)
        opening = await late.open()
        assert isinstance(opening, ReadOnly)
        assert opening.cause == "the disk is full"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await late.close()


async def test_a_write_that_the_disk_does_not_take_is_not_called_an_error_of_the_disk_alone(
    tmp_path: Path, reactor: Any
) -> None:
    async with opened_file(tmp_path / "j", reactor) as store:
        await store.write(put(1))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size(f"{store.path}-wal"), hard))
        try:
            with pytest.raises(
                JournalUnwritable, match=r"a quota or a limit .* or it is broken \(input/output error\)"
            ):
                await store.write(put(2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
