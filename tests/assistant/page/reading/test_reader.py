"""The journal is read in a thread, while it is written, within a time limit, and without a trace beside the file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError, Deferred

from assistant.page.ports import InvalidInput, Unavailable
from assistant.page.reading import reader as reading
from assistant.page.reading.reader import JournalReader
from assistant.page.values.runs import RunQuery
from tests.assistant.surfaces.replay.recording import ANSWERED, record, said, says, writing

reactor: Any = _reactor
#: Counts for longer than any test.
FOR_EVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def beside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@asynccontextmanager
async def reader(path: Path | None) -> AsyncIterator[JournalReader]:
    one = JournalReader(path, reactor)
    try:
        yield one
    finally:
        one.close()


async def test_each_answer_has_what_was_written_before_it(tmp_path: Path) -> None:
    async with reader(tmp_path / "j") as journal_reader, writing(tmp_path / "j", "assistant:1") as journal:
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


async def test_work_is_done_off_the_reactors_thread_and_cannot_write(tmp_path: Path) -> None:
    async with reader(tmp_path / "j") as journal_reader, writing(tmp_path / "j"):
        assert await journal_reader.read(lambda _: threading.get_ident()) != threading.get_ident()
        with pytest.raises(Unavailable, match="readonly"):
            await journal_reader.read(lambda db: db.execute("DELETE FROM runs"))


async def test_a_file_that_nobody_has_open_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    async with writing(tmp_path / "j") as journal:
        await record(journal, [said(1)], [says("Hello.")], ANSWERED)
    before = beside(tmp_path)
    async with reader(tmp_path / "j") as journal_reader:
        assert len((await journal_reader.search_runs(RunQuery())).runs) == 1
    assert beside(tmp_path) == before


async def test_what_takes_too_long_is_ended_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SECONDS", 0.2)
    over: Deferred[None] = Deferred()

    def slow(db: sqlite3.Connection) -> None:
        try:
            db.execute(FOR_EVER)
        finally:
            reactor.callFromThread(over.callback, None)

    async with reader(tmp_path / "j") as journal_reader, writing(tmp_path / "j"):
        with pytest.raises(Unavailable, match="took longer than 0 s"):
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
