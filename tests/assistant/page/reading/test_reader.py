"""The journal is read in a thread, while it is written, within a time limit, and without a trace beside the file."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.threads import deferToThread

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.page.ports import InvalidInput, Unavailable
from mud_assistant.assistant.page.reading import reader as reading
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.page.values.runs import RunQuery
from tests.assistant.surfaces.replay.recording import ANSWERED, NOON, TRIGGER, record, said, says, writing
from tests.postgres import PostgresServer

reactor: Any = _reactor
#: Counts for longer than any test, also in PostgreSQL.
FOR_EVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def beside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@asynccontextmanager
async def reader(place: JournalPlace | None) -> AsyncIterator[JournalReader]:
    one = JournalReader(place, reactor)
    try:
        yield one
    finally:
        one.close()


async def test_each_answer_has_what_was_written_before_it(journal_place: JournalPlace) -> None:
    async with reader(journal_place) as journal_reader, writing(journal_place, "assistant:1") as journal:
        for number in (1, 2):
            run = await record(journal, [said(number)], [says("Hello.")], ANSWERED)
            page = await journal_reader.search_runs(RunQuery())
            assert page.runs[0].id == run
            view = await journal_reader.read_run(run)
            assert view is not None
            assert view.summary.said == "Hello."
        assert (await journal_reader.player_facts("player:7")).runs == 2
        with pytest.raises(InvalidInput):
            await journal_reader.search_runs(RunQuery(outcome="sad"))


async def test_work_is_done_off_the_reactors_thread_and_cannot_write(journal_place: JournalPlace) -> None:
    async with reader(journal_place) as journal_reader, writing(journal_place):
        assert await journal_reader.read(lambda _: threading.get_ident()) != threading.get_ident()
        with pytest.raises(Unavailable, match=r"readonly|takes no writes"):
            await journal_reader.read(lambda db: db.execute("DELETE FROM runs"))


async def test_a_file_that_nobody_has_open_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    async with writing(tmp_path / "j") as journal:
        await record(journal, [said(1)], [says("Hello.")], ANSWERED)
    before = beside(tmp_path)
    async with reader(tmp_path / "j") as journal_reader:
        assert len((await journal_reader.search_runs(RunQuery())).runs) == 1
    assert beside(tmp_path) == before


async def test_what_takes_too_long_is_ended_with_a_sentence(
    journal_place: JournalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SECONDS", 0.2)
    over: Deferred[None] = Deferred()

    def slow(db: Database) -> None:
        try:
            db.execute(FOR_EVER)
        finally:
            reactor.callFromThread(over.callback, None)

    async with reader(journal_place) as journal_reader, writing(journal_place):
        with pytest.raises(Unavailable, match=r"took longer than 0 s|did not finish in time"):
            await journal_reader.read(slow)
        await over  # the thread does not go on counting
        asking = Deferred.fromCoroutine(journal_reader.read(lambda db: db.execute(FOR_EVER)))
        asking.cancel()
        with pytest.raises(CancelledError):
            await asking


async def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database " * 1000)
    with closing(sqlite3.connect(tmp_path / "other")) as db, db:
        db.execute("CREATE TABLE t (x)")
    async with writing(tmp_path / "newer"):
        pass
    with closing(sqlite3.connect(tmp_path / "newer")) as db, db:
        db.execute("PRAGMA user_version = 99")
    for path, why in (
        (None, "in memory only"),
        (tmp_path / "absent", "cannot be read now"),
        (tmp_path / "text", "cannot be read now"),
        (tmp_path / "other", "not a journal"),
        (tmp_path / "newer", "version 99"),
    ):
        async with reader(path) as journal_reader:
            with pytest.raises(Unavailable, match=why):
                await journal_reader.search_runs(RunQuery())


async def test_a_statement_in_postgresql_is_cancelled_soon_after_nobody_waits_for_it(postgres_url: str) -> None:
    place, over, begun = PostgresPlace(postgres_url), Deferred[float](), threading.Event()

    def slow(db: Database) -> None:
        begun.set()
        try:
            db.execute(FOR_EVER)
        except Exception as error:
            reactor.callFromThread(over.callback, str(error))
            raise

    async with reader(place) as journal_reader, writing(place):
        asking = Deferred.fromCoroutine(journal_reader.read(slow))
        await deferToThread(begun.wait, 30)
        asking.cancel()
        with pytest.raises(CancelledError):
            await asking
        assert "user request" in str(await over)  # and not its time limit


async def test_what_is_read_is_of_one_moment_in_postgresql(postgres_url: str) -> None:
    place = PostgresPlace(postgres_url)
    async with writing(place, "assistant:1") as journal:
        with open_for_reading(place, NOON) as opened:
            before = opened.db.execute("SELECT count(*) FROM events").fetchone()
            await journal.accept(said(1), TRIGGER)
            assert opened.db.execute("SELECT count(*) FROM events").fetchone() == before == (0,)


async def test_why_a_database_cannot_be_read_is_said_without_its_password(postgres_server: PostgresServer) -> None:
    schema, empty = postgres_server.new_schema(), postgres_server.new_schema()
    places = [PostgresPlace(postgres_server.url(name), lambda: "sesame-789") for name in (schema, empty, "absent")]
    async with writing(places[0]):
        pass
    postgres_server.execute(f"UPDATE \"{schema}\".meta SET value = '99' WHERE key = 'schema version'")  # noqa: S608

    def locked() -> str:
        raise KeyReferenceError("env:SESAME: the environment has no SESAME")

    for place, why in (
        (places[0], "made by a newer mud-assistant"),
        (places[1], "hold no tables of one"),
        (places[2], "hold no tables of one"),
        (PostgresPlace(postgres_server.url(user="nobody_here"), lambda: "sesame-789"), "no role nobody_here"),
        (PostgresPlace("postgresql://x@127.0.0.1:1/x", lambda: "sesame-789"), "no server answers there"),
        (PostgresPlace(postgres_server.url(schema), locked), "the environment has no SESAME"),
    ):
        async with reader(place) as journal_reader:
            with pytest.raises(Unavailable, match=why) as refused:
                await journal_reader.search_runs(RunQuery())
            assert "sesame-789" not in str(refused.value)
    for name in (schema, empty):
        postgres_server.drop_schema(name)


async def test_without_its_driver_a_database_is_not_read_and_the_remedy_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mud_assistant.assistant.journal.postgres.reading", None)
    async with reader(PostgresPlace("postgresql://x/y")) as journal_reader:
        with pytest.raises(Unavailable, match=r"pip install 'mud-assistant\[postgres\]'"):
            await journal_reader.search_runs(RunQuery())
