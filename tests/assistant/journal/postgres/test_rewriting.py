"""What was forgotten is in no file of a real server's tables: its data folder is read from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import psycopg
import pytest

from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import StoredJournal, StreamChange, StreamEntry
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.rewriting import rewrite
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.runtime.sharing.journal import RecallPostgres
from mud_assistant.llm import ToolCall, user
from mud_assistant.tools import Principal
from tests.assistant.journal.keeping import ANNA, TRIGGER, executed, fact, noon, opened, response
from tests.postgres import PostgresServer, find_newest_programs, find_programs, make_server

BEN = Principal("8", "Ben")
#: Each in a spelling that no stem changes.
ANNAS, BENS = "zqkelpiezq", "zqwalnutzq"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server, of whatever package there is."""
    if find_programs() is None and (programs := find_newest_programs()) is not None:
        server = PostgresServer(programs)
    else:
        server = make_server()
    yield server
    server.close()


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    name = server.new_schema()
    yield server.url(name)
    server.drop_schema(name)


def found(server: PostgresServer, word: str) -> list[str]:
    """The files of the tables and their indexes that hold the word."""
    server.execute("CHECKPOINT")
    files = (path for path in (server.data / "base").rglob("*") if path.is_file())
    return [str(path.relative_to(server.data)) for path in files if word.encode() in path.read_bytes()]


async def told(journal: StoredJournal, memories: IndexedMemories) -> None:
    """Both tell of a word each, it is answered, remembered and looked for."""
    for number in range(40):
        who, word = (ANNA, ANNAS) if number % 2 else (BEN, BENS)
        text = f"the word number {number} is {word}"
        await journal.accept(Said(id=f"event-{number}", at=1.5, who=who, text=text), TRIGGER)
        call = ToolCall("c", "say", {"text": text})
        run = await journal.open_run(await journal.pending())
        await journal.record_response(run, 1, response(call))
        await journal.record_intent(run, 1, 0, call, effect=True)
        await journal.record_result(run, 1, 0, executed(call))
        entry = StreamEntry((user(text),), 3, (f"event-{number}",), 1, (who.id,))
        await journal.close_run(run, Answered(("say",)), StreamChange((entry,)))
        await memories.keep(fact(text, who))
    await memories.recall("the word", hearers=None)


async def test_no_file_of_the_server_holds_what_was_forgotten(server: PostgresServer, url: str, reactor: Any) -> None:
    async with opened(url, reactor) as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        recall = RecallPostgres(partial(connect, url), reactor, "english")
        memories = IndexedMemories(journal.lease, recall, noon)
        await told(journal, memories)
        assert len(found(server, ANNAS)) >= 5
        forgotten = await journal.forget_player(ANNA.id)
        await memories.forget(ANNA.id)
        assert (forgotten.erased, forgotten.memories) == (True, 20)
        assert found(server, ANNAS) == []
        assert len(found(server, BENS)) >= 5
        assert [one for one in (await memories.recall(ANNAS, hearers=None)).memories if ANNAS in one.text] == []
        assert (await memories.recall(BENS, hearers=None)).memories
        await recall.close()


async def test_a_table_that_is_busy_is_left_and_that_is_said(url: str, reactor: Any) -> None:
    async with opened(url, reactor) as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        await journal.accept(Said(id="event-1", at=1.5, who=ANNA, text=ANNAS), TRIGGER)
        await journal.close_run(await journal.open_run(await journal.pending()), Answered(("say",)))
        with psycopg.connect(url) as other:
            other.execute("SELECT count(*) FROM events")
            assert not (await journal.forget_player(ANNA.id)).erased
        assert (await journal.forget_player(ANNA.id)).erased


def test_what_belongs_to_another_role_is_not_called_erased(server: PostgresServer) -> None:
    name = server.new_schema()
    server.execute("CREATE ROLE stranger LOGIN")
    server.execute(f'CREATE TABLE "{name}".things (word text)')
    server.execute(f'GRANT ALL ON SCHEMA "{name}" TO stranger')
    with closing(connect(server.url(name, user="stranger"))) as db:
        assert not rewrite(db, ["things"])
    server.drop_schema(name)
    server.execute("DROP ROLE stranger")
