"""A journal on disk for a test, and things to put into it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from assistant.events.classify import Attention, Classification
from assistant.events.events import Said
from assistant.journal import SqliteJournal, Store
from assistant.memory.recall.words import ENGLISH
from assistant.memory.recall_file import RecallInMemory
from assistant.memory.remembered import IndexedMemories
from llm import FinishReason, LLMResponse, ToolCall, ToolResult, Usage
from llm import assistant as said_by_model
from tools import Category, Executed, Principal, Status
from tools.memories import Memory, MemoryKind, memory_id
from tools.trust import Audience

ANNA = Principal("7", "Anna")
TRIGGER = Attention(Classification.TRIGGER, 10, addressed=True)
SAY = ToolCall("c1", "say", {"text": "Hello, Anna."})
LOOK = ToolCall("c0", "look", {})
NOON = 1_800_000_000.0


def noon() -> float:
    return NOON


def event(number: int, text: str = "Hello?") -> Said:
    return Said(id=f"event-{number}", at=1.5, who=ANNA, text=text, to_me=True)


def response(*calls: ToolCall) -> LLMResponse:
    return LLMResponse(said_by_model(*calls), FinishReason.TOOL_CALLS, Usage(10, 5), "openai", "m")


def executed(call: ToolCall) -> Executed:
    return Executed(call, ToolResult(call.id, call.name, "Done."), Status.DONE, Category.TERMINAL, 0.25)


@asynccontextmanager
async def opened(path: Path, reactor: Any) -> AsyncIterator[Store]:
    """An open store, closed at the end."""
    store = Store(path, reactor, noon)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def started(path: Path, reactor: Any, limit: int = 500) -> AsyncIterator[SqliteJournal]:
    """The started journal of Sage."""
    async with opened(path, reactor) as store:
        journal = SqliteJournal(store, "sage", limit)
        await journal.start()
        yield journal


def memories_of(journal: SqliteJournal, now: Callable[[], float] = noon) -> IndexedMemories:
    """The memories in the journal, with an index in memory."""
    return IndexedMemories(journal.lease, RecallInMemory(ENGLISH), now)


def fact(text: str, who: Principal | None = None, audience: Audience = None, **labels: Any) -> Memory:
    """What somebody told, as the character noted it at noon."""
    told = (who.id, who.name) if who else ("", "")
    labels = {"at": NOON, "authority": 1, "sources": frozenset({who.id} if who else ()), **labels}
    id_ = memory_id(MemoryKind.FACT, told[0], text, audience)
    return Memory(id_, text, MemoryKind.FACT, who=told[0], name=told[1], audience=audience, **labels)


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What another connection reads from the file."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()
