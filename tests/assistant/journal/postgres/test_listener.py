"""A process that others see: its notices, its lock, and that it knows when its session has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from importlib.metadata import version
from typing import Any

from twisted.internet.task import deferLater

from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.sharing.leases import HeldLeases
from mud_assistant.assistant.journal.postgres.sharing.listener import CHANNEL, Listener
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from tests.assistant.journal.postgres.outage import PATIENCE, WaitingClock, opened
from tests.postgres import PostgresServer
from tests.postgres_relay import relay_to

LOOK_SECONDS = 0.02


@asynccontextmanager
async def listening(url: str, reactor: Any, process: JournalProcess) -> AsyncIterator[tuple[Listener, list[str]]]:
    """A listener that is seen, and what it hears."""
    heard: list[str] = []
    listener = Listener(partial(connect, url), process, reactor, heard.append, lambda: heard.append("locked"))
    listener.start()
    await until(reactor, listener.is_seen)
    try:
        yield listener, heard
    finally:
        listener.stop()
        listener._thread.join(PATIENCE)


async def until(reactor: Any, condition: Any) -> None:
    for _ in range(int(PATIENCE / LOOK_SECONDS)):
        if condition():
            return
        await deferLater(reactor, LOOK_SECONDS)
    raise AssertionError("it did not come")


def holders(server: PostgresServer, process: JournalProcess) -> int:
    """How many sessions hold the lock of a process."""
    key = process.lock_key
    rows = server.execute(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = %s",
        (key >> 32, key & 0xFFFFFFFF),
    )
    return int(rows[0][0])


async def test_notices_are_heard_and_a_session_that_was_ended_is_made_anew(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    url, process = postgres_server.url(postgres_schema), JournalProcess("a")
    async with listening(url, reactor, process) as (listener, heard):
        await until(reactor, lambda: heard == ["locked", ""])
        with closing(connect(url)) as db:
            db.execute(f"SELECT pg_notify({CHANNEL}, 'free sage')")
        await until(reactor, lambda: heard[-1] == "free sage")
        assert holders(postgres_server, process) == 1
        postgres_server.end_sessions()
        await until(reactor, lambda: heard[3:] == ["locked", ""])
        assert listener.is_seen()
        assert holders(postgres_server, process) == 1


async def test_the_end_of_the_session_is_known_before_anything_of_it_is_read(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    """As in a process that was stopped: the thread that reads has not run yet."""
    process = JournalProcess("a")
    db = connect(postgres_server.url(postgres_schema))
    with closing(db):
        listener = Listener(lambda: db, process, reactor, lambda _: None)
        assert not listener.is_seen()
        listener._line = db.connection.fileno()
        assert listener.is_seen()
        postgres_server.end_sessions()
        await until(reactor, lambda: not listener.is_seen())


async def test_a_line_that_nobody_told_the_server_of_is_not_waited_for(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    """The old session would hold the lock for as long as TCP believes in it."""
    process = JournalProcess("a")
    with relay_to(postgres_server) as relay:
        name = f"mud-assistant {process.id} listens {version('mud-assistant')}"
        lost = connect(relay.url(postgres_schema), name=name)
        lost.execute("SELECT pg_advisory_lock(?)", (process.lock_key,))
        relay.stall()
        async with listening(relay.url(postgres_schema), reactor, process):
            assert holders(postgres_server, process) == 1
        lost.close()


async def test_who_was_not_seen_for_a_while_renews_before_it_acts(postgres_url: str, reactor: Any) -> None:
    clock = WaitingClock()
    async with opened(postgres_url, reactor, clock) as store:
        await StoredJournal(store, "sage").start()
        assert not store.has_expired("sage")
        clock.time += 1
        store.leases.begin_anew()
        assert store.has_expired("sage")
        await store.write(store.leases.renew)
        assert not store.has_expired("sage")


def test_who_has_no_lease_may_not_act() -> None:
    assert HeldLeases(JournalProcess("a"), lambda: 0.0).has_expired("sage")
