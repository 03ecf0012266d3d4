"""Opens the journal in PostgreSQL: looks whether the database can carry it, makes the tables, enters this process."""

from __future__ import annotations

from collections.abc import Callable

from assistant.journal.database import put_meta
from assistant.journal.place import Sound
from assistant.journal.postgres.connection import PostgresDatabase
from assistant.journal.postgres.pooler import shares_sessions
from assistant.journal.postgres.refusals import OLDEST, POOLED, REPLICA, too_old
from assistant.journal.postgres.schema import LOCK, STEPS, migrate, version_of
from assistant.journal.postgres.sharing.process import JournalProcess

#: Rows of processes that were not seen for so long, and hold no lease, are removed.
_GONE = "seen_at < now() - interval '1 day' AND NOT EXISTS (SELECT 1 FROM leases WHERE holder = processes.id)"

#: Ends the sessions that this process had before. The name is that of our connection, with the id of the process.
_END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = current_setting('application_name') AND pid != pg_backend_pid()"""
_ENTER = """INSERT INTO processes (id, name, lock_key, address) VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING writes"""
#: Which server this is, and how often a replica of it was promoted.
_SERVER = "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()"
_SERVER_KEY = "server"
#: More than any number of tokens that were given and are not known here.
TOKEN_GAP = 1_000_000


class CannotUse(Exception):
    """The database cannot carry the journal; the message says why, and what to do.

    One that `is_final` stays so until somebody changes it; any other is tried again.
    """

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.is_final = is_final


def open_database(db: PostgresDatabase, another: Callable[[], PostgresDatabase], where: str) -> Sound:
    """Make or migrate the tables; return the journal's state. `another` makes one more connection.

    Raises CannotUse, JournalRefused and psycopg.Error.
    """
    look(db, another)
    is_new = version_of(db) != len(STEPS) and _migrate(db)  # who finds the tables as they are to be waits for nobody
    db.execute(f"DELETE FROM processes WHERE {_GONE}")
    return Sound(where, new=is_new)


def _migrate(db: PostgresDatabase) -> bool:
    db.run("BEGIN")
    try:
        is_new = migrate(db)
    except BaseException:
        if not db.is_broken:
            db.run("ROLLBACK")
        raise
    db.run("COMMIT")
    return is_new


def look(db: PostgresDatabase, another: Callable[[], PostgresDatabase]) -> None:
    """Raise CannotUse for a server that is too old, a replica, or a pooler. `another` makes one more connection."""
    version = db.connection.info.server_version
    if version < OLDEST * 10_000:
        raise CannotUse(too_old(version), is_final=True)
    if db.execute("SELECT pg_is_in_recovery()").fetchone()[0]:
        raise CannotUse(REPLICA)
    if shares_sessions(db.connection, lambda: another().connection):
        raise CannotUse(POOLED, is_final=True)


def enter(db: PostgresDatabase, process: JournalProcess) -> int:
    """Enter the process, and return how many transactions it has committed. Raises psycopg.Error.

    A session that it had before is ended first. What that session was doing is committed or undone when this returns,
    because it held the row of the process.
    """
    db.execute(_END_OTHERS)
    server, before = _servers(db)
    if server != before:  # otherwise who connects waits for nobody
        db.run("BEGIN")
        db.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
        _fence_after_promotion(db)
        db.run("COMMIT")
    row = db.execute(_ENTER, (process.id, process.name, process.lock_key, process.address)).fetchone()
    return int(row[0])


def _fence_after_promotion(db: PostgresDatabase) -> None:
    """Raise all tokens when the server is not the one that gave the last of them.

    A replica that was promoted, or a backup that was put back, may lack the last commits, and so the last tokens.
    """
    server, before = _servers(db)
    if server == before:  # somebody was faster
        return
    if before:
        db.execute("UPDATE leases SET token = token + ?, expires_at = '-infinity'", (TOKEN_GAP,))
    put_meta(db, _SERVER_KEY, server)


def _servers(db: PostgresDatabase) -> tuple[str, str]:
    """Return which server this is, and on which the tables were used last, empty when that is not known."""
    server = "{}/{}".format(*db.execute(_SERVER).fetchone())
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_SERVER_KEY,)).fetchone()
    return server, row[0] if row else ""
