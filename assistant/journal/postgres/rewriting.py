"""Rewrites tables, so that no byte of what was deleted is left in their files.

PostgreSQL only marks a deleted row as dead. VACUUM frees its room and leaves its bytes there until something else is
written over them. VACUUM FULL copies the live rows, with their indexes, into new files and empties the old ones. While
it does so nobody else reads or writes the table, so it is given little time.
"""

from __future__ import annotations

from collections.abc import Iterable

import psycopg

from mud_assistant.assistant.journal.postgres.connection import SETTINGS, PostgresDatabase

#: The longest wait for a table, and the longest copying of one, in seconds: a process whose write waits for ten loses
#: its assistants (docs/scale-out.md).
LOCK_SECONDS, COPY_SECONDS = 2, 6
_FILE = "SELECT pg_relation_filenode(CAST(? AS regclass))"


def rewrite(db: PostgresDatabase, tables: Iterable[str]) -> bool:
    """Rewrite these tables, one after the other. Return False when bytes of what was deleted may be left in one.

    This is so when a table is busy, too large, or another role's: then its room is only freed. Blocks. Raises
    psycopg.Error when the connection fails.
    """
    db.run(f"SET lock_timeout = '{LOCK_SECONDS}s'; SET statement_timeout = '{COPY_SECONDS}s'")
    results = [_rewrite(db, table) for table in tables]
    db.run(SETTINGS)
    return all(results)


def _rewrite(db: PostgresDatabase, table: str) -> bool:
    before = db.execute(_FILE, (table,)).fetchone()
    try:
        db.run(f"VACUUM (FULL, ANALYZE) {table}")
    except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege):
        _free(db, table)
    # Where the role may not, the server only warns; where it did, the table has another file.
    return bool(db.execute(_FILE, (table,)).fetchone() != before)


def _free(db: PostgresDatabase, table: str) -> None:
    """Free the room of what was deleted, as far as there is time; the server's autovacuum does the rest."""
    try:
        db.run(f"VACUUM {table}")
    except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege):
        return
