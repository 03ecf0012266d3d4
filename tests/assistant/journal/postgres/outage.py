"""A store in PostgreSQL for a test, with time that passes only while its thread waits, and rows to count."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Event
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.clock import ThreadClock
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from tests.assistant.journal.keeping import noon

#: Seconds that a thread of a test waits for another at most, on a busy machine.
PATIENCE = 30


class WaitingClock(ThreadClock):
    """Time that passes only while the thread waits. Each wait calls `on_wait` with the time after it."""

    def __init__(self, on_wait: Callable[[float], object] = lambda _: None) -> None:
        self.time = 0.0
        self.on_wait = on_wait

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.on_wait(self.time)


@asynccontextmanager
async def opened(
    url: str, reactor: Any, clock: ThreadClock | None = None, name: str = "one", told: list[str] | None = None
) -> AsyncIterator[PostgresStore]:
    """An open store, closed at the end."""
    troubles = [] if told is None else told
    store = PostgresStore(url, reactor, noon, JournalProcess(name), on_trouble=troubles.append, clock=clock)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def put(word: str, runs: list[str] | None = None) -> Callable[[Database], str]:
    """A work that adds a row, as often as it is run; returns the word."""

    def work(db: Database) -> str:
        if runs is not None:
            runs.append(word)
        db.execute("INSERT INTO key_bindings VALUES (?, gen_random_uuid()::text, 0)", (word,))
        return word

    return work


async def words(store: PostgresStore) -> list[str]:
    """What was put, in the order of the alphabet, as often as it is there."""
    found = await store.read(lambda db: db.execute("SELECT reference FROM key_bindings ORDER BY 1").fetchall())
    return [word for (word,) in found]


async def together(store: PostgresStore, *works: Callable[[Database], Any]) -> list[Deferred[Any]]:
    """Ask for these works so that they go into one transaction."""
    go = Event()
    held = store.read(lambda _: go.wait(PATIENCE))
    asked = [store.write(work) for work in works]
    go.set()
    assert await held
    return asked
