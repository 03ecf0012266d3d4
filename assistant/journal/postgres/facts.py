"""Collects what the doctor judges of a PostgreSQL server, and changes nothing there. Blocks: for a thread."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from statistics import median

import psycopg
from msgspec import Struct

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.opening import CannotUse
from mud_assistant.assistant.journal.postgres.pooler import shares_sessions
from mud_assistant.assistant.journal.postgres.refusals import explain
from mud_assistant.assistant.journal.postgres.schema import version_of
from mud_assistant.assistant.journal.postgres.sharing.leases import LIVES
from mud_assistant.assistant.keys.binding import KeyBinding

#: How many commits are measured; the one in the middle counts.
_COMMITS = 5
#: Writes to the server's log and to no table. Its commit waits for the disk as every other.
_COMMIT = "SELECT pg_logical_emit_message(true, 'mud-assistant', 'doctor')"
#: Who is connected, and how many may be. Some connections are kept for superusers.
_ROOM = """SELECT (SELECT sum(numbackends) FROM pg_stat_database), current_setting('max_connections')::int,
    current_setting('superuser_reserved_connections')::int
    + coalesce(current_setting('reserved_connections', true), '0')::int"""
_SETTINGS = ("server_encoding", "fsync", "full_page_writes", "synchronous_commit", "data_checksums")
#: The processes that live, each with its version as its listener's session has it, by tables of any version.
_AT_WORK = f"""SELECT DISTINCT name || ' ' || coalesce(substring(application_name, 'listens (.+)'), '(version unknown)')
    FROM processes LEFT JOIN pg_stat_activity ON starts_with(application_name, 'mud-assistant ' || id || ' listens')
    WHERE {LIVES.format(lock_key="processes.lock_key")} ORDER BY 1"""
_MAY_CREATE = "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"


class ServerFacts(Struct, frozen=True):
    """What is known of a server and of our place there."""

    #: As the server counts: 150018 is 15.18.
    version: int
    #: The values of its settings, by name.
    settings: dict[str, str]
    #: Whether a pooler gives each transaction another session.
    is_pooled: bool
    #: How long a commit takes, in seconds.
    commit_seconds: float
    #: How many connections are free, and how many there are.
    free: int
    connections: int
    #: The schema the tables are in, empty when the search path names none that is there.
    schema: str
    may_create: bool
    #: The version of the journal's tables, 0 when there are none.
    tables: int


def look_at(url: str, password: str | None, now: Callable[[], float]) -> ServerFacts:
    """Return the facts about the server of `url`. Raises CannotUse, with the cure. `now` is in seconds."""
    try:
        with closing(connect(url, password)) as db:
            is_pooled = shares_sessions(db.connection, lambda: connect(url, password).connection)
            return _facts(db, is_pooled, now)
    except psycopg.Error as error:
        raise CannotUse(explain(error)) from error


def remembered_keys(url: str, password: str | None) -> Collection[KeyBinding]:
    """Return which key the journal remembers for which server; empty when the journal cannot be read."""
    try:
        with closing(connect(url, password)) as db:
            return frozenset(KeyBinding(*row) for row in db.execute("SELECT reference, origin FROM key_bindings"))
    except psycopg.Error:
        return ()


class TablesFacts(Struct, frozen=True):
    """The tables of a journal, which may be of any version: that version, the open runs, and who is at work."""

    version: int
    open_runs: int
    processes: tuple[str, ...]


def look_at_tables(url: str, password: str | None) -> TablesFacts:
    """Return what an upgrade finds in the tables. Raises CannotUse, with the cure."""
    try:
        with closing(connect(url, password)) as db:
            if not (version := version_of(db)):
                return TablesFacts(0, 0, ())
            runs = db.execute("SELECT count(*) FROM runs WHERE closed_at IS NULL").fetchone()[0]
            return TablesFacts(version, runs, tuple(name for (name,) in db.execute(_AT_WORK)))
    except (psycopg.Error, KeyReferenceError) as error:
        raise CannotUse(explain(error)) from error


def _facts(db: PostgresDatabase, is_pooled: bool, now: Callable[[], float]) -> ServerFacts:
    used, connections, reserved = db.execute(_ROOM).fetchone()
    return ServerFacts(
        version=db.connection.info.server_version,
        settings={name: db.execute("SELECT current_setting(?)", (name,)).fetchone()[0] for name in _SETTINGS},
        is_pooled=is_pooled,
        commit_seconds=_measure(db, now),
        free=connections - reserved - int(used) + 1,  # ours ends now
        connections=connections,
        schema=db.execute("SELECT coalesce(current_schema(), '')").fetchone()[0],
        may_create=db.execute(_MAY_CREATE).fetchone()[0],
        tables=version_of(db),
    )


def _measure(db: PostgresDatabase, now: Callable[[], float]) -> float:
    """Return how long a commit takes, in seconds."""
    times = []
    for _ in range(_COMMITS):
        began = now()
        db.run(_COMMIT)
        times.append(now() - began)
    return median(times)
