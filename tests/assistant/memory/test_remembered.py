"""Memories in the journal and their index beside it: whatever happens to the index, what is remembered is found."""

from __future__ import annotations

import resource
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
from msgspec import structs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.journal import JournalClosed, JournalUnwritable, StoredJournal
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.tables import memories as rows
from mud_assistant.assistant.memory.recall.sqlite.files import NO_FULL_TEXT
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import RecallFile
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.memory.remembering import profile_id
from mud_assistant.assistant.runtime.in_memory import MemoryFile
from mud_assistant.assistant.runtime.storage import JournalFile, Storage
from mud_assistant.tools import Dispatcher, PolicyConfig, Principal, Registry, Status
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.memories import Memories
from mud_assistant.tools.testing import tool_call, tool_context
from mud_assistant.tools.verbs import RECALL, REMEMBER
from tests.assistant.journal.keeping import ANNA, NOON, TRIGGER, fact, memories_of, noon, opened_file

BEN = Principal("8", "Ben")
SECRET = "hazelnut"


@asynccontextmanager
async def running(path: Path, reactor: Any, assistant: str = "sage") -> AsyncIterator[tuple[JournalFile, Storage]]:
    """One life of an assistant on the file, ended at the end."""
    file = JournalFile(path, reactor, noon, JournalConfig())
    await file.open()
    try:
        yield file, await file.storage_of(assistant, 100)
    finally:
        await file.close()


async def found(memories: Memories, query: str = "lamp", hearers: frozenset[str] | None = None) -> list[str]:
    return sorted(memory.text for memory in (await memories.recall(query, hearers=hearers)).memories)


def times_found(folder: Path, word: str = SECRET) -> dict[str, int]:
    """The journal and the index, as far as they or what lies beside them hold the word, and how often."""
    counted: Counter[str] = Counter()
    for file in folder.iterdir():
        counted[file.name.removesuffix("-wal").removesuffix("-shm")] += file.read_bytes().count(word.encode())
    return dict(+counted)


def dropped(memory_id: str, db: Database) -> object:
    return rows.drop(db, "sage", memory_id)


def delete(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def of_newer_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


def of_another_program(path: Path) -> None:
    delete(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")


def damage_a_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    path.write_bytes(data)


HARMS: dict[str, Callable[[Path], object]] = {
    "deleted": delete,
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\xa5" * 10_000),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "damaged": damage_a_page,
    "of a newer version": of_newer_version,
    "of another program": of_another_program,
}


@pytest.mark.parametrize("harm", HARMS)
async def test_with_an_index_that_is_gone_or_broken_memories_are_found(tmp_path: Path, reactor: Any, harm: str) -> None:
    path = tmp_path / "j"
    async with running(path, reactor) as (_, storage):
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        assert await found(storage.memories) == ["The lamp is lit"]
    HARMS[harm](tmp_path / "j.recall")
    async with running(path, reactor) as (_, storage):
        assert await found(storage.memories) == ["The lamp is lit"]
        await storage.memories.keep(fact("The lamp is out", BEN))
        assert await found(storage.memories) == ["The lamp is lit", "The lamp is out"]


@pytest.mark.parametrize("harm", ["deleted", "garbage", "damaged"])
async def test_an_index_that_breaks_while_it_is_used_is_filled_anew(tmp_path: Path, reactor: Any, harm: str) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        tom = await file.storage_of("tom", 100)
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        await tom.memories.keep(fact("Tom has a lamp", ANNA))
        assert (await found(storage.memories), await found(tom.memories)) == (["The lamp is lit"], ["Tom has a lamp"])
        HARMS[harm](tmp_path / "j.recall")
        for text in ("The lamp is out", "A lamp burns"):
            await storage.memories.keep(fact(text, BEN))
        assert await found(storage.memories) == ["A lamp burns", "The lamp is lit", "The lamp is out"]
        assert await found(tom.memories) == ["Tom has a lamp"]


@pytest.mark.parametrize("more", [[], ["A lamp burns"]])
async def test_an_index_that_fails_is_filled_anew_for_all_it_serves(
    tmp_path: Path, reactor: Any, more: list[str]
) -> None:
    """Its tables are dropped under it: the next search fails, or the next line put into it; all is found again."""
    async with running(tmp_path / "j", reactor) as (file, storage):
        tom = await file.storage_of("tom", 100)
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        await tom.memories.keep(fact("Tom has a lamp", ANNA))
        assert (await found(storage.memories), await found(tom.memories)) == (["The lamp is lit"], ["Tom has a lamp"])
        with closing(sqlite3.connect(tmp_path / "j.recall")) as db:
            db.execute("DROP TABLE lines_1")
        for text in more:
            await storage.memories.keep(fact(text, BEN))
        assert await found(storage.memories) == [*more, "The lamp is lit"]
        assert await found(tom.memories) == ["Tom has a lamp"]


class WithoutFullText(sqlite3.Connection):
    """A connection of a SQLite that was built without FTS5."""

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        if "fts5" in sql:
            raise sqlite3.OperationalError("no such module: fts5")
        return super().execute(sql, *rest)


async def test_without_full_text_search_memories_are_found(
    tmp_path: Path, reactor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j"
    async with running(path, reactor) as (_, storage):
        await storage.memories.keep(fact("The lamp is lit", ANNA, frozenset({ANNA.id})))
        await found(storage.memories)
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **named: connect(*args, **{"factory": WithoutFullText, **named})
    )
    async with running(path, reactor) as (file, storage):
        await storage.memories.keep(fact("The lamp is out", BEN))
        assert await found(storage.memories) == ["The lamp is out"]
        assert await found(storage.memories, hearers=frozenset({ANNA.id})) == ["The lamp is lit", "The lamp is out"]
        assert NO_FULL_TEXT in file.recall.problem
    monkeypatch.undo()
    async with running(path, reactor) as (_, storage):
        assert await found(storage.memories) == ["The lamp is out"]


async def test_what_was_removed_while_no_index_was_open_does_not_come_back(tmp_path: Path, reactor: Any) -> None:
    path = tmp_path / "j"
    async with running(path, reactor) as (_, storage):
        await storage.memories.keep(fact(f"The lamp is of {SECRET} wood", ANNA))
        await storage.memories.keep(fact("The lamp is out", BEN))
        assert len(await found(storage.memories)) == 2
    async with running(path, reactor) as (_, storage):  # this life dies between the rows and the index
        assert isinstance(storage.journal, StoredJournal)
        lease = storage.journal.lease
        assert len(await lease.write(lambda db: rows.forget(db, "sage", ANNA.id))) == 1
        await lease.store.compact()
    assert times_found(tmp_path).keys() == {"j.recall"}
    async with running(path, reactor) as (_, storage):
        assert await found(storage.memories) == ["The lamp is out"]
        assert await storage.memories.about(ANNA.id) == []
    assert times_found(tmp_path) == {}


async def test_what_was_pushed_out_does_not_come_back(tmp_path: Path, reactor: Any) -> None:
    path = tmp_path / "j"
    async with running(path, reactor) as (_, storage):
        await storage.memories.keep(fact(f"The lamp is of {SECRET} wood", ANNA, importance=1))
        await found(storage.memories)
        for number in range(rows.PERSON_ROWS):
            await storage.memories.keep(fact(f"Number {number} of many", ANNA))
    assert "j.recall" in times_found(tmp_path)
    async with running(path, reactor) as (_, storage):
        assert await found(storage.memories) == []
        assert await found(storage.memories, "hazelnut wood") == []
    assert "j.recall" not in times_found(tmp_path)


async def test_what_was_written_behind_the_back_of_the_index_is_found(tmp_path: Path, reactor: Any) -> None:
    path = tmp_path / "j"
    async with running(path, reactor) as (_, storage):
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        await found(storage.memories)
    async with running(path, reactor) as (_, storage):
        said = Said(id="e1", at=NOON, who=BEN, text="I sold the copper lamp to Mallory.")
        await storage.journal.accept(said, TRIGGER)  # no search after it
    async with running(path, reactor) as (_, storage):
        assert await found(storage.memories) == ["I sold the copper lamp to Mallory.", "The lamp is lit"]


@pytest.mark.parametrize("forgets", [True, False])
async def test_what_goes_leaves_no_byte_in_either_file(tmp_path: Path, reactor: Any, forgets: bool) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        for number in range(300):
            await storage.memories.keep(fact(f"{number} The lamp of {SECRET} is here", ANNA))
            await storage.memories.keep(fact(f"{number} The lamp of walnut is here", BEN))
        mine = await storage.memories.about(ANNA.id)
        await found(storage.memories, "hazelnut lamp")
        assert times_found(tmp_path).keys() == {"j", "j.recall"}
        if forgets:
            assert await storage.memories.forget(ANNA.id) == 300
        else:
            for memory in mine:
                await file.store.write(partial(dropped, memory.id))
            assert await storage.memories.drop((await storage.memories.about(BEN.id))[0].id) == 1
        assert "j.recall" not in times_found(tmp_path)
        await file.store.compact()
        assert times_found(tmp_path) == {}
        assert len(await found(storage.memories, "walnut lamp")) == 5


async def test_an_assistant_that_is_erased_leaves_no_byte(tmp_path: Path, reactor: Any) -> None:
    async with running(tmp_path / "j", reactor, "tom") as (file, tom):
        sage = await file.storage_of("sage", 100)
        await sage.memories.keep(fact(f"The lamp is of {SECRET} wood", ANNA))
        await tom.memories.keep(fact("Tom has a lamp", ANNA))
        assert len(await found(sage.memories)) == 1
        file.release("sage")
        await file.erase("sage")
        assert times_found(tmp_path) == {}
        assert await found(tom.memories) == ["Tom has a lamp"]
        again = await file.storage_of("sage", 100)
        await again.memories.keep(fact("A new lamp", BEN))
        assert await found(again.memories) == ["A new lamp"]


async def test_an_assistant_that_starts_anew_without_a_journal_remembers_what_it_hears() -> None:
    file = MemoryFile(noon)
    first = await file.storage_of("sage", 100)
    for number in range(5):
        await first.memories.keep(fact(f"The old lamp {number}", ANNA))
    assert len(await found(first.memories)) == 5
    second = await file.storage_of("sage", 100)
    await second.memories.keep(fact("The new lamp", ANNA))
    assert "The new lamp" in await found(second.memories, "the new lamp")
    await file.close()


async def test_without_a_journal_mutes_and_memories_last_until_the_assistant_is_erased() -> None:
    file = MemoryFile(noon)
    first, other = await file.storage_of("sage", 100), await file.storage_of("tom", 100)
    for storage in (first, other):
        await storage.memories.keep(fact("The old lamp", ANNA))
        assert await storage.mutes.mute(BEN)
        assert not await storage.mutes.mute(BEN)
    file.release("sage")
    again = await file.storage_of("sage", 100)
    assert [(muted.name, muted.at) for muted in await again.mutes.muted()] == [(BEN.name, noon())]
    assert await found(again.memories) == ["The old lamp"]
    file.release("sage")
    assert await file.erase("sage") >= 2
    new = await file.storage_of("sage", 100)
    assert await new.mutes.muted() == ()
    assert await found(new.memories) == []
    assert await found(other.memories) == ["The old lamp"]
    assert await other.mutes.unmute(BEN.id)
    await file.close()


async def test_many_memories_are_indexed_in_parts(tmp_path: Path, reactor: Any) -> None:
    path = tmp_path / "j"
    async with running(path, reactor) as (file, storage):
        people = [Principal(f"p{number}", f"Person {number}") for number in range(500)]

        def fill(db: Database) -> None:
            for who in people:
                for number in range(10):
                    rows.keep(db, "sage", fact(f"Lamp {number} is with {who.id}x", who))

        await file.store.write(fill)
        assert await found(storage.memories, "who has a p499x lamp 7") != []
        assert await file.recall.run(lambda index: len(index.ids("sage"))) == 5000


async def test_what_is_recalled_is_counted_as_used(tmp_path: Path, reactor: Any) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        await storage.memories.keep(fact("It rains", ANNA))
        for _ in range(3):
            await found(storage.memories)
        await storage.memories.keep(fact("It snows", ANNA))  # behind the counting, on the same writer
        used = await file.store.read(lambda db: db.execute("SELECT text, uses FROM memories ORDER BY seq").fetchall())
    assert used == [("The lamp is lit", 1), ("It rains", 0), ("It snows", 0)]


async def test_a_memory_that_alone_is_too_large_is_refused(tmp_path: Path, reactor: Any) -> None:
    async with running(tmp_path / "j", reactor) as (_, storage):
        with pytest.raises(ToolFailed, match="too long to remember"):
            await storage.memories.keep(fact("x" * (rows.PERSON_BYTES + 1), ANNA))
        assert await storage.memories.about(ANNA.id) == []


async def test_a_search_that_is_asked_for_when_it_closes_ends(tmp_path: Path, reactor: Any) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        index = RecallFile(tmp_path / "other.recall", reactor, ENGLISH)
        assert isinstance(storage.journal, StoredJournal)
        own = IndexedMemories(storage.journal.lease, index, noon)
        assert await found(own) == ["The lamp is lit"]
        await index.close()
        assert await found(storage.memories) == ["The lamp is lit"]
        assert file.recall.problem == ""


async def test_a_search_that_is_cancelled_anywhere_spoils_neither_the_next_nor_a_removal(
    tmp_path: Path, reactor: Any
) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        for number in range(40):
            await storage.memories.keep(fact(f"Lamp {number} is of {SECRET} wood", ANNA))
            search = Deferred.fromCoroutine(cast(Any, found(storage.memories)))
            if number % 2:
                await file.store.read(lambda _: None)  # the search has passed the journal
            search.cancel()
            with pytest.raises(CancelledError):
                await search
        assert await found(storage.memories, "lamp 39") != []
        again = Deferred.fromCoroutine(cast(Any, found(storage.memories, "lamp")))
        again.addErrback(lambda failure: failure.trap(CancelledError))
        forgetting = Deferred.fromCoroutine(cast(Any, storage.memories.forget(ANNA.id)))
        again.cancel()
        assert await forgetting == 40
        await storage.memories.keep(fact("The lamp is lit", BEN))
        assert await found(storage.memories) == ["The lamp is lit"]
    assert "j.recall" not in times_found(tmp_path)


@pytest.mark.parametrize("passes", range(4))
async def test_a_removal_that_is_cancelled_anywhere_is_ended_by_the_next_search(
    tmp_path: Path, reactor: Any, passes: int
) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        for number in range(40):
            await storage.memories.keep(fact(f"Lamp {number} is of {SECRET} wood", ANNA))
        await storage.memories.keep(fact("The lamp is lit", BEN))
        await found(storage.memories, "lamp")
        forgetting = Deferred.fromCoroutine(cast(Any, storage.memories.forget(ANNA.id)))
        for _ in range(passes):
            await file.store.read(lambda _: None)
        forgetting.cancel()
        forgetting.addErrback(lambda failure: failure.trap(CancelledError))
        await forgetting
        await file.store.read(lambda _: None)  # the rows are gone
        assert await storage.memories.about(ANNA.id) == []
        assert await found(storage.memories) == ["The lamp is lit"]
        assert "j.recall" not in times_found(tmp_path)


async def test_a_row_that_was_not_committed_is_never_in_the_index(tmp_path: Path, reactor: Any) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        assert await found(storage.memories) == ["The lamp is lit"]
        await file.store.read(lambda _: None)  # the use of it is counted
        go = Event()
        gate = file.store.read(lambda _: go.wait(5.0))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "j-wal").stat().st_size, hard))
        try:
            kept = Deferred.fromCoroutine(cast(Any, storage.memories.keep(fact("The lamp is lost", ANNA))))
            search = Deferred.fromCoroutine(cast(Any, found(storage.memories)))
            go.set()
            await gate
            for each in (kept, search):
                with pytest.raises(JournalUnwritable):
                    await each
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await storage.memories.keep(fact("The lamp is out", BEN))
        assert await found(storage.memories) == ["The lamp is lit", "The lamp is out"]


async def test_a_search_after_the_index_was_closed_ends(tmp_path: Path, reactor: Any) -> None:
    async with running(tmp_path / "j", reactor) as (file, storage):
        await storage.memories.keep(fact("The lamp is lit", ANNA))
        await found(storage.memories)
        index = RecallFile(tmp_path / "other.recall", reactor, ENGLISH)
        assert isinstance(storage.journal, StoredJournal)
        own = IndexedMemories(storage.journal.lease, index, noon)
        assert await found(own) == ["The lamp is lit"]
        await index.close()
        with pytest.raises(CancelledError):
            await found(own)
        assert file.recall.problem == ""
    with pytest.raises(JournalClosed):
        await found(storage.memories)


async def test_a_memory_that_cannot_be_kept_or_found_for_now_is_no_bug_of_the_tool(
    tmp_path: Path, reactor: Any
) -> None:
    """What the tools of memory meet in an outage is logged as a warning, and told to the owner by the journal."""
    async with opened_file(tmp_path / "j", reactor) as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        context = tool_context(memories=memories_of(journal))
        dispatcher = Dispatcher(Registry([REMEMBER, RECALL]), PolicyConfig(frozenset({"remember", "recall"})), Clock())
        pages = await store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        await store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())
        with capturedLogs() as logged:
            calls = [tool_call("remember", text=f"Mill number {n}. " + "It is old. " * 30) for n in range(40)]
            kept = [(await dispatcher.answer_all([call], context))[0].status for call in calls]  # until it is full
        assert Status.CRASHED in kept
        told = [line for line in logged if line.get("tool") == "remember"]
        assert {(line["log_level"].name, "the disk is full" in line["why"]) for line in told} == {("warn", True)}


async def test_a_profile_of_what_a_player_told_in_private_is_for_them_alone(tmp_path: Path, reactor: Any) -> None:
    alone, everybody = frozenset({ANNA.id}), frozenset({ANNA.id, BEN.id})
    async with running(tmp_path / "journal", reactor) as (_, storage):
        profile = fact("Anna fears the dark.", ANNA, alone)
        await storage.memories.keep(structs.replace(profile, id=profile_id(ANNA.id, alone)))
        await storage.memories.keep(fact("the lamp is broken", BEN))
        for hearers, text in ((alone, "Anna fears the dark."), (everybody, None), (frozenset({BEN.id}), None)):
            recalled = await storage.memories.recall("lamp", hearers=hearers, asker=ANNA.id)
            assert (recalled.profile and recalled.profile.text) == text


async def test_the_count_of_what_was_recalled_may_be_lost_when_another_process_takes_over(
    tmp_path: Path, reactor: Any
) -> None:
    async with running(tmp_path / "journal", reactor) as (first, storage):
        await storage.memories.keep(fact("the lamp is broken"))
        async with running(tmp_path / "journal", reactor):
            assert await found(storage.memories) == ["the lamp is broken"]
            await first.store.read(lambda _: None)
