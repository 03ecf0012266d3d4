"""A journal on disk for a test, and things to put into it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.journal import Store, StoredJournal
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.schema import TABLES
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import RecallInMemory
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, ToolResult, Usage
from mud_assistant.llm import assistant as said_by_model
from mud_assistant.tools import Category, Executed, Principal, Status
from mud_assistant.tools.memories import Memory, MemoryKind, memory_id
from mud_assistant.tools.trust import Audience

ANNA = Principal("7", "Anna")
TRIGGER = Attention(Classification.TRIGGER, 10, addressed=True)
SAY = ToolCall("c1", "say", {"text": "Hello, Anna."})
LOOK = ToolCall("c0", "look", {})
NOON = 1_800_000_000.0
#: A word that a player said, and that must be gone with the player.
SECRET = "hazelnut"
#: Where a journal is kept: the path of a file, or the URL of a schema in PostgreSQL.
Place = Path | str


def noon() -> float:
    return NOON


def event(number: int, text: str = "Hello?") -> Said:
    return Said(id=f"event-{number}", at=1.5, who=ANNA, text=text, to_me=True)


def response(*calls: ToolCall) -> LLMResponse:
    return LLMResponse(said_by_model(*calls), FinishReason.TOOL_CALLS, Usage(10, 5), "openai", "m")


def executed(call: ToolCall) -> Executed:
    return Executed(call, ToolResult(call.id, call.name, "Done."), Status.DONE, Category.TERMINAL, 0.25)


def store_in(place: Place, reactor: Any) -> JournalStore:
    """A store that is not yet open. In PostgreSQL each is the same process again, as far as others see."""
    if isinstance(place, str):
        return PostgresStore(place, reactor, noon, JournalProcess("test"))
    return Store(place, reactor, noon)


@asynccontextmanager
async def opened(place: Place, reactor: Any) -> AsyncIterator[JournalStore]:
    """An open store, closed at the end."""
    store = store_in(place, reactor)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def opened_file(path: Path, reactor: Any) -> AsyncIterator[Store]:
    """The same in a file, for tests that look at the file."""
    async with opened(path, reactor) as store:
        assert isinstance(store, Store)
        yield store


@asynccontextmanager
async def started(place: Place, reactor: Any, limit: int = 500) -> AsyncIterator[StoredJournal]:
    """The started journal of Sage."""
    async with opened(place, reactor) as store:
        journal = StoredJournal(store, "sage", limit)
        await journal.start()
        yield journal


def memories_of(journal: StoredJournal, now: Callable[[], float] = noon) -> IndexedMemories:
    """The memories in the journal, with an index in memory."""
    return IndexedMemories(journal.lease, RecallInMemory(ENGLISH), now)


def fact(text: str, who: Principal | None = None, audience: Audience = None, **labels: Any) -> Memory:
    """What somebody told, as the character noted it at noon."""
    told = (who.id, who.name) if who else ("", "")
    labels = {"at": NOON, "authority": 1, "sources": frozenset({who.id} if who else ()), **labels}
    id_ = memory_id(MemoryKind.FACT, told[0], text, audience)
    return Memory(id_, text, MemoryKind.FACT, who=told[0], name=told[1], audience=audience, **labels)


def rows(place: Place, query: str) -> list[tuple[Any, ...]]:
    """What another connection reads from the journal."""
    if isinstance(place, str):
        with closing(connect(place)) as server:
            return server.execute(query).fetchall()
    with closing(sqlite3.connect(place)) as db:
        return db.execute(query).fetchall()


def times_found(place: Place, word: str = SECRET) -> int:
    """How often the word stands in the file and in what lies beside it, or in the tables of the server."""
    if isinstance(place, Path):
        return sum(file.read_bytes().count(word.encode()) for file in place.parent.iterdir())
    tables = set(TABLES) - {"leases"}
    cells = (cell for table in tables for row in rows(place, f"SELECT * FROM {table}") for cell in row)  # noqa: S608
    return sum((cell if isinstance(cell, bytes) else str(cell).encode()).count(word.encode()) for cell in cells)
