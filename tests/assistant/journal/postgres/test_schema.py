"""The tables in PostgreSQL: made once, by one of those who come at once, and in the schema of the search path."""

from __future__ import annotations

from contextlib import closing
from threading import Barrier, Thread

import psycopg
import pytest

from mud_assistant.assistant.journal.errors import JournalRefused
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.opening import open_database
from mud_assistant.assistant.journal.postgres.schema import STEPS, TABLES, migrate, version_of
from mud_assistant.assistant.journal.schema import SCHEMA
from tests.assistant.journal.postgres.outage import PATIENCE
from tests.postgres import PostgresServer

AT_ONCE = 4


@pytest.mark.parametrize("_again", range(6))  # one of them went wrong before it was mended
def test_of_programs_that_start_at_once_one_makes_the_tables(postgres_url: str, _again: int) -> None:
    go, new = Barrier(AT_ONCE), list[bool]()

    def start() -> None:
        with closing(connect(postgres_url)) as db:
            go.wait(PATIENCE)
            found = open_database(db, lambda: connect(postgres_url), "here")
            new.append(found.new)

    threads = [Thread(target=start) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(new) == [False] * (AT_ONCE - 1) + [True]


def test_tables_are_in_the_schema_of_the_search_path(postgres_server: PostgresServer, postgres_schema: str) -> None:
    other = postgres_server.new_schema()
    try:
        for schema in (postgres_schema, other):
            with closing(connect(postgres_server.url(schema))) as db:
                assert version_of(db) == 0
                assert migrate(db)
                assert version_of(db) == len(STEPS)
                assert not migrate(db)
        found = postgres_server.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'leases'")
        assert found[0][0] >= 2
    finally:
        postgres_server.drop_schema(other)


def test_tables_of_a_newer_version_are_left_alone(postgres_url: str) -> None:
    with closing(connect(postgres_url)) as db:
        migrate(db)
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema version'")
        with pytest.raises(JournalRefused, match="99"):
            migrate(db)


def test_a_migration_that_fails_leaves_nothing(postgres_url: str) -> None:
    with closing(connect(postgres_url)) as db:
        db.execute("CREATE TABLE runs (seq int)")  # somebody else's
        db.run("BEGIN")
        with pytest.raises(psycopg.errors.DuplicateTable):
            migrate(db)
        db.run("ROLLBACK")
        assert version_of(db) == 0


def test_every_table_of_a_copy_has_the_columns_of_sqlite(postgres_url: str) -> None:
    import sqlite3  # noqa: PLC0415  (only here)

    with closing(connect(postgres_url)) as db, closing(sqlite3.connect(":memory:")) as file:
        migrate(db)
        SCHEMA.migrate(file)
        for table in TABLES:
            here = {row[1] for row in file.execute(f"PRAGMA table_info({table})")}
            there = {
                row[0]
                for row in db.execute(
                    "SELECT column_name FROM information_schema.columns"
                    " WHERE table_schema = current_schema() AND table_name = ?",
                    (table,),
                )
            }
            assert here <= there, table
