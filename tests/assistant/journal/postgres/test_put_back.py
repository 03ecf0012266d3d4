"""An older state of the tables, put back under processes that live: noticed by them, or told by the operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from twisted.logger import capturedLogs

from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import Fenced, StoredJournal
from mud_assistant.assistant.journal.errors import HeldElsewhere
from mud_assistant.assistant.journal.postgres.opening import PUT_BACK, TOKEN_GAP
from tests.assistant.journal.keeping import TRIGGER, event
from tests.assistant.journal.postgres.outage import opened
from tests.postgres import PostgresServer

#: What changes in the tables while processes work.
TABLES = ("meta", "processes", "leases", "events", "runs", "run_events")


class Backup:
    """A copy of the tables, which stands for a snapshot of the disk, or a dump."""

    def __init__(self, server: PostgresServer, schema: str) -> None:
        self._server, self._schema = server, schema
        for table in TABLES:
            self._do(f"CREATE TABLE @kept_{table} AS TABLE @{table}")

    def put_back(self) -> None:
        for table in reversed(TABLES):
            self._do(f"TRUNCATE @{table} CASCADE")
        for table in TABLES:
            self._do(f"INSERT INTO @{table} TABLE @kept_{table}")

    def fences(self) -> int:
        rows = self._do("SELECT value FROM @meta WHERE key = 'fences'")
        return int(rows[0][0]) if rows else 0

    def token(self) -> int:
        return int(self._do("SELECT token FROM @leases")[0][0])

    def _do(self, sql: str) -> list[tuple[Any, ...]]:
        return self._server.execute(sql.replace("@", f'"{self._schema}".'))


@contextmanager
def noticed(times: int) -> Iterator[None]:
    with capturedLogs() as logs:
        yield
    assert [log["why"] for log in logs if log.get("why") == PUT_BACK] == [PUT_BACK] * times


@pytest.mark.parametrize("ends_sessions", [True, False])
async def test_a_process_that_wrote_more_than_the_tables_know_takes_its_assistants_anew(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any, *, ends_sessions: bool
) -> None:
    async with opened(postgres_server.url(postgres_schema), reactor, name="a") as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        await journal.accept(event(1), TRIGGER)
        backup = Backup(postgres_server, postgres_schema)
        run = await journal.open_run(await journal.pending())
        backup.put_back()
        if ends_sessions:
            postgres_server.end_sessions()
        with noticed(1), pytest.raises(Fenced):
            await journal.close_run(run, Answered(()))
        assert backup.token() == 1 + TOKEN_GAP
        assert await store.write(store.leases.renew) == {"sage"}  # and so whoever lives there begins anew
        again = StoredJournal(store, "sage")
        assert await again.start() == 2 + TOKEN_GAP
        assert [one.event for one in await again.pending()] == [event(1)]
        await again.accept(event(2), TRIGGER)
        assert store.trouble is None


async def test_of_several_processes_the_first_fences_and_the_others_take_part(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    url = postgres_server.url(postgres_schema)
    async with opened(url, reactor, name="a") as one, opened(url, reactor, name="b") as two:
        sage, tom = StoredJournal(one, "sage"), StoredJournal(two, "sage")
        await sage.start()
        backup = Backup(postgres_server, postgres_schema)
        for number in range(3):
            await sage.accept(event(number), TRIGGER)
            await two.write(lambda db: db.execute("SELECT 1"))
        backup.put_back()
        postgres_server.end_sessions()
        with noticed(1):
            await two.write(lambda db: db.execute("SELECT 1"))
            token = await tom.start()
            with pytest.raises(Fenced):
                await sage.accept(event(4), TRIGGER)
        assert (token, backup.token(), backup.fences()) == (2 + TOKEN_GAP, 2 + TOKEN_GAP, 1)
        with pytest.raises(HeldElsewhere):
            await StoredJournal(one, "sage").start()
        await tom.accept(event(5), TRIGGER)


async def test_the_same_state_put_back_twice_gives_no_token_twice(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    async with opened(postgres_server.url(postgres_schema), reactor, name="a") as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        backup, tokens = Backup(postgres_server, postgres_schema), list[int]()
        for number in range(3):
            await journal.accept(event(number), TRIGGER)
            backup.put_back()
            with noticed(1), pytest.raises(Fenced):
                await journal.accept(event(number), TRIGGER)
            tokens.append(await journal.start())
        assert tokens == [2 + TOKEN_GAP, 2 + 2 * TOKEN_GAP, 2 + 3 * TOKEN_GAP]


async def test_a_line_that_breaks_and_nothing_else_fences_nobody(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    async with opened(postgres_server.url(postgres_schema), reactor, name="a") as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        backup = Backup(postgres_server, postgres_schema)
        with noticed(0):
            for number in range(4):
                await journal.accept(event(number), TRIGGER)
                postgres_server.end_sessions()
        assert (backup.fences(), backup.token()) == (0, 1)
