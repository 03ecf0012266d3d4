"""Opens an empty journal in PostgreSQL for a copy, and reads and sets its numbers. Blocks: for a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal.database import Database, DuplicateKey
from mud_assistant.assistant.journal.errors import CannotCopy, JournalRefused
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.postgres.connection import PatientConnection, PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.opening import CannotUse, look
from mud_assistant.assistant.journal.postgres.refusals import explain
from mud_assistant.assistant.journal.postgres.schema import TABLES, migrate

#: What is never in the way: `meta` has the version of the tables.
_OWN = {"meta"}
_SEQUENCE = "pg_get_serial_sequence(quote_ident(current_schema()) || '.' || ?, 'seq')"


@contextmanager
def empty_database(place: PostgresPlace) -> Iterator[PostgresDatabase]:
    """Return an empty journal to fill, in a transaction that is committed at the end. Raises CannotCopy.

    The tables are made when they are not there. Nothing is left of them when the block raises.
    """
    try:
        with closing(connect(place.url, place.password(), kind=PatientConnection)) as db:
            look(db, lambda: connect(place.url, place.password()))
            db.run("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0")
            db.run("BEGIN")
            migrate(db)
            db.run("LOCK TABLE leases IN EXCLUSIVE MODE")  # whoever starts an assistant meanwhile waits
            if full := _filled(db):
                raise CannotCopy(f"{place} is not empty (see its table {full}): name another schema or database")
            yield db
            db.run(f"ANALYZE {', '.join(TABLES)}")  # until it knows how many rows there are, it reads whole tables
            db.run("COMMIT")
    except (psycopg.Error, CannotUse, DuplicateKey, JournalRefused, KeyReferenceError) as error:
        raise CannotCopy(f"{place} cannot be written: {explain(error)}") from error


def last_number(db: Database, table: str) -> int:
    """Return the highest `seq` that a row of the table ever had."""
    [name] = db.execute(f"SELECT {_SEQUENCE}", (table,)).fetchone()
    value, is_used = db.execute(f"SELECT last_value, is_called FROM {name}").fetchone()
    return int(value) if is_used else 0


def set_last_number(db: Database, table: str, number: int) -> None:
    """Let the next row of the table get a number above this one."""
    db.execute(f"SELECT setval({_SEQUENCE}, ?)", (table, number))


def _filled(db: PostgresDatabase) -> str:
    """Return the first table that has rows, empty for none."""
    for table in TABLES:
        if table not in _OWN and db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
            return table
    return ""
