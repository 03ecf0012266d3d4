"""Opens the journal in PostgreSQL: looks whether the database can carry it, makes the tables, enters this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from twisted.logger import Logger

from mud_assistant.assistant.journal.database import put_meta
from mud_assistant.assistant.journal.place import Sound
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase
from mud_assistant.assistant.journal.postgres.pooler import shares_sessions
from mud_assistant.assistant.journal.postgres.refusals import OLDEST, POOLED, REPLICA, too_old, wrong_encoding
from mud_assistant.assistant.journal.postgres.schema import LOCK, STEPS, migrate, version_of
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess

#: Rows of processes that were not seen for so long, and hold no lease, are removed, in seconds: a day.
LISTED_SECONDS = 86_400.0
_GONE = f"""seen_at < now() - interval '{LISTED_SECONDS:.0f} s'
    AND NOT EXISTS (SELECT 1 FROM leases WHERE holder = processes.id)"""

#: Ends the sessions that this process had before. The name is that of our connection, with the id of the process.
_END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = current_setting('application_name') AND pid != pg_backend_pid()"""
_ENTER = """INSERT INTO processes (id, name, lock_key, address, alive_until) VALUES (?, ?, ?, ?, '-infinity')
    ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING writes"""
#: Which server this is, and how often a replica of it was promoted.
_SERVER = "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()"
_SERVER_KEY = "server"
#: The key in `meta` of how often all tokens were raised.
_FENCES_KEY = "fences"
#: Told in the log when it is noticed.
PUT_BACK = (
    "the journal is older than what this process has written: a backup or a snapshot was put back. All assistants are "
    "taken anew; what happened since then is in the world and not in the journal, so look at its unknown acts"
)
#: More than any number of tokens that were given and are not known here.
TOKEN_GAP = 1_000_000

_log = Logger()


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
    """Raise CannotUse for a server that is too old, a wrong encoding, a replica, or a pooler.

    `another` makes one more connection.
    """
    version = db.connection.info.server_version
    if version < OLDEST * 10_000:
        raise CannotUse(too_old(version), is_final=True)
    if (encoding := db.connection.info.parameter_status("server_encoding")) != "UTF8":
        raise CannotUse(wrong_encoding(encoding or "it does not say"), is_final=True)
    if db.execute("SELECT pg_is_in_recovery()").fetchone()[0]:
        raise CannotUse(REPLICA)
    if shares_sessions(db.connection, lambda: another().connection):
        raise CannotUse(POOLED, is_final=True)


class Entered(NamedTuple):
    """What is known of a process: how many transactions it has committed, and how often it saw all being fenced."""

    writes: int = 0
    fences: int = 0


NOT_ENTERED = Entered()


def enter(db: PostgresDatabase, process: JournalProcess, known: Entered = NOT_ENTERED) -> Entered:
    """Enter the process, and return what the tables know of it. Raises psycopg.Error.

    A session that it had before is ended first. What that session was doing is committed or undone when this returns,
    because it held the row of the process. `known` is what this process knew when its last connection broke: when the
    tables know of fewer transactions, an older state of them was put back, and all tokens are raised, once.
    """
    db.execute(_END_OTHERS)
    server, before = _servers(db)
    if server != before:  # otherwise who connects waits for nobody
        _fence_unless(db, lambda: _servers(db)[0] == _servers(db)[1], server, is_first=not before)
    found = _enter(db, process)
    if found.writes < known.writes and found.fences <= known.fences:
        _log.error("{why}", why=PUT_BACK)
        _fence_unless(db, lambda: _fences(db) > known.fences, server, least=known.fences)
    return Entered(found.writes, _fences(db))


def fence(db: PostgresDatabase, least: int = 0) -> int:
    """Raise all tokens and end all leases, so that every process takes its assistants anew; return how many there are.

    An older state of the tables lacks the last tokens that were given, and whoever has one of those must not write.
    `least` is how often this was done at least, as far as is known: each time by more, or the same state that is put
    back twice would give the same tokens twice. Part of a transaction.
    """
    times = max(least, _fences(db)) + 1
    put_meta(db, _FENCES_KEY, str(times))
    raised = db.execute(
        "UPDATE leases SET token = token + ?, holder = '', expires_at = '-infinity'", (times * TOKEN_GAP,)
    )
    return raised.rowcount


def _fence_unless(
    db: PostgresDatabase, is_done: Callable[[], bool], server: str, *, is_first: bool = False, least: int = 0
) -> None:
    """Fence all, unless another process was faster, and note which server this is. No token is known to the first."""
    db.run("BEGIN")
    db.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
    if not is_done():
        if not is_first:
            fence(db, least)
        put_meta(db, _SERVER_KEY, server)
    db.run("COMMIT")


def _enter(db: PostgresDatabase, process: JournalProcess) -> Entered:
    row = db.execute(_ENTER, (process.id, process.name, process.lock_key, process.address)).fetchone()
    return Entered(int(row[0]), _fences(db))


def _fences(db: PostgresDatabase) -> int:
    """Return how often all tokens were raised."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_FENCES_KEY,)).fetchone()
    return int(row[0]) if row else 0


def _servers(db: PostgresDatabase) -> tuple[str, str]:
    """Return which server this is, and on which the tables were used last, empty when that is not known."""
    server = "{}/{}".format(*db.execute(_SERVER).fetchone())
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_SERVER_KEY,)).fetchone()
    return server, row[0] if row else ""
