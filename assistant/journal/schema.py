"""Defines the tables, and migrates a file of an older version to this version.

A version is a step: statements that make it from the version before. Each step is one transaction, so a file always has
exactly one version. Steps are never edited once released. The records of a run name the assistant as well, so that they
can be kept when damage destroyed the run's row.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from msgspec import Struct

#: "MudA": distinguishes our files from others (PRAGMA application_id).
APPLICATION_ID = 0x4D756441
#: Stands in the first table of every file, and tells what a file was when its first page is gone.
MARK = "a journal of mud-assistant"

_VERSION_1 = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL)",
    "CREATE TABLE leases (assistant TEXT PRIMARY KEY NOT NULL, token INTEGER NOT NULL, taken_at REAL NOT NULL)",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        assistant TEXT NOT NULL,
        id TEXT NOT NULL,
        payload BLOB NOT NULL,
        verdict TEXT NOT NULL,
        importance INTEGER NOT NULL,
        addressed INTEGER NOT NULL,
        accepted_at REAL NOT NULL,
        state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'parked')),
        crashes INTEGER NOT NULL DEFAULT 0,
        reason TEXT NOT NULL DEFAULT '',
        UNIQUE (assistant, id))""",
    "CREATE INDEX events_pending ON events (assistant, seq) WHERE state = 'pending'",
    "CREATE INDEX events_parked ON events (assistant, seq) WHERE state = 'parked'",
    "CREATE INDEX events_done ON events (assistant, accepted_at) WHERE state = 'done'",
    """CREATE TABLE runs (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        assistant TEXT NOT NULL,
        token INTEGER NOT NULL,
        opened_at REAL NOT NULL,
        closed_at REAL,
        outcome BLOB)""",
    "CREATE INDEX runs_open ON runs (assistant, seq) WHERE closed_at IS NULL",
    "CREATE INDEX runs_closed ON runs (assistant, closed_at) WHERE closed_at IS NOT NULL",
    """CREATE TABLE run_events (
        run INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
        assistant TEXT NOT NULL,
        event INTEGER NOT NULL REFERENCES events (seq) ON DELETE CASCADE,
        PRIMARY KEY (run, event))""",
    "CREATE INDEX run_events_of ON run_events (event)",
    """CREATE TABLE responses (
        run INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
        assistant TEXT NOT NULL,
        step INTEGER NOT NULL,
        payload BLOB NOT NULL,
        PRIMARY KEY (run, step))""",
    """CREATE TABLE intents (
        run INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
        assistant TEXT NOT NULL,
        step INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        at REAL NOT NULL,
        payload BLOB NOT NULL,
        PRIMARY KEY (run, step, idx))""",
    """CREATE TABLE results (
        run INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
        assistant TEXT NOT NULL,
        step INTEGER NOT NULL,
        idx INTEGER NOT NULL,
        payload BLOB NOT NULL,
        PRIMARY KEY (run, step, idx))""",
    """CREATE TABLE stream (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        assistant TEXT NOT NULL,
        importance INTEGER NOT NULL,
        event_ids BLOB NOT NULL,
        payload BLOB NOT NULL)""",
    "CREATE INDEX stream_of ON stream (assistant, seq)",
    """CREATE TABLE notes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        assistant TEXT NOT NULL,
        text TEXT NOT NULL,
        about_id TEXT NOT NULL,
        about_name TEXT NOT NULL,
        at REAL NOT NULL,
        UNIQUE (assistant, text, about_id))""",
    """CREATE TABLE usage (
        day INTEGER NOT NULL,
        account TEXT NOT NULL,
        calls INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        money REAL NOT NULL,
        PRIMARY KEY (day, account))""",
    f"INSERT INTO meta VALUES ('what', '{MARK}')",  # a constant
)

#: Adds who said each event, whether a call was an effect, and how far each memory may be trusted. Older rows count as
#: said by nobody, as effects, and as not trusted. No two tables hold values of the same types, because the types tell
#: the table of a row that is found without one (`repair/sqlite_format.py`).
_VERSION_2 = (
    "ALTER TABLE events ADD COLUMN who TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX events_who ON events (assistant, who)",
    "ALTER TABLE intents ADD COLUMN effect INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE notes ADD COLUMN trust INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE stream ADD COLUMN authority INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE stream ADD COLUMN sources BLOB NOT NULL DEFAULT X'5b5d233064346362623239'",  # [] as a record
    """CREATE TABLE muted (
        assistant TEXT NOT NULL,
        principal TEXT NOT NULL,
        name TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (assistant, principal))""",
    """CREATE TABLE key_bindings (
        reference TEXT NOT NULL,
        origin TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (reference, origin))""",
)

#: Adds whose words are in each memory, and who may be told of it. Older rows do not say (`tables/stream.py`).
_VERSION_3 = (
    "ALTER TABLE stream ADD COLUMN audience BLOB NOT NULL DEFAULT X''",
    "ALTER TABLE notes ADD COLUMN origin BLOB NOT NULL DEFAULT X''",
)

#: Adds the memories, with all that were notes, and for each assistant how many of its memories were ever removed and
#: how far its last sleep came (`tables/memories.py`).
_VERSION_4 = (
    """CREATE TABLE memories (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        assistant TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        who TEXT NOT NULL,
        name TEXT NOT NULL,
        how TEXT NOT NULL,
        place TEXT NOT NULL,
        at REAL NOT NULL,
        importance INTEGER NOT NULL,
        authority INTEGER NOT NULL,
        size INTEGER NOT NULL,
        uses INTEGER NOT NULL,
        used_at REAL NOT NULL,
        superseded_by TEXT NOT NULL,
        expires REAL,
        event TEXT NOT NULL,
        origin BLOB NOT NULL,
        UNIQUE (assistant, id))""",
    "CREATE INDEX memories_of ON memories (assistant, who, size)",
    """CREATE TABLE memory_state (
        assistant TEXT PRIMARY KEY NOT NULL,
        removed INTEGER NOT NULL,
        sleep BLOB NOT NULL)""",
    """INSERT INTO memories (assistant, id, kind, text, who, name, how, place, at, importance, authority, size, uses,
                             used_at, superseded_by, expires, event, origin)
       SELECT assistant, 'note:' || lower(hex(randomblob(10))), 'note', text, about_id, about_name, '', '', at, 9,
              trust, length(CAST(text AS BLOB)) + length(CAST(about_name AS BLOB)), 0, 0.0, '', NULL, '', origin
       FROM notes ORDER BY seq""",
    "DROP TABLE notes",
)

#: Adds whom the assistant has met, with those whose words it remembers, and what they told of themselves: that is read
#: from their memories when it is first asked for (`tables/acquaintances.py`).
_VERSION_5 = (
    """CREATE TABLE acquaintances (
        assistant TEXT NOT NULL,
        who TEXT NOT NULL,
        called TEXT NOT NULL,
        name TEXT NOT NULL,
        first_at REAL NOT NULL,
        last_at REAL NOT NULL,
        before_at REAL NOT NULL,
        visits INTEGER NOT NULL,
        greeted_at REAL NOT NULL,
        PRIMARY KEY (assistant, who, called))""",
    "CREATE INDEX acquaintances_called ON acquaintances (assistant, called)",
    """CREATE TABLE acquaintance_facts (
        assistant TEXT NOT NULL,
        who TEXT NOT NULL,
        part TEXT NOT NULL,
        key TEXT NOT NULL,
        told TEXT NOT NULL,
        name TEXT NOT NULL,
        how TEXT NOT NULL,
        text TEXT NOT NULL,
        event TEXT NOT NULL,
        memory TEXT NOT NULL,
        at REAL NOT NULL,
        authority INTEGER NOT NULL,
        due REAL NOT NULL,
        asked REAL NOT NULL,
        origin BLOB NOT NULL,
        PRIMARY KEY (assistant, who, part, key, told))""",
    "CREATE INDEX acquaintance_facts_from ON acquaintance_facts (assistant, memory)",
    """INSERT INTO acquaintances
       SELECT assistant, who, lower(name), max(name), min(at), max(at), 0.0,
              count(DISTINCT CAST(at / 86400 AS INTEGER)), -1.0
       FROM memories WHERE kind IN ('heard', 'seen') AND who != '' AND name != '' AND substr(who, 1, 10) <> 'assistant:'
       GROUP BY assistant, who, lower(name)""",
)

#: Adds what the assistant has promised (`tables/promised_goals.py`).
_GOALS = (
    """CREATE TABLE goals (
        assistant TEXT NOT NULL,
        id TEXT NOT NULL,
        asker TEXT NOT NULL,
        whom TEXT NOT NULL,
        state TEXT NOT NULL,
        made_at REAL NOT NULL,
        changed_at REAL NOT NULL,
        payload BLOB NOT NULL,
        PRIMARY KEY (assistant, id))""",
    "CREATE INDEX goals_open ON goals (assistant, made_at) WHERE state = 'open'",
)
#: Finds the goals that are not over, as they are asked for: the index before had one of the two states only.
_LIVING_GOALS = (
    "DROP INDEX goals_open",
    "CREATE INDEX goals_living ON goals (assistant, made_at, id) WHERE state IN ('open', 'withdrawn')",
)


class Schema(Struct, frozen=True):
    """The steps from an empty file to a version, one step for each version."""

    steps: tuple[tuple[str, ...], ...]

    @property
    def version(self) -> int:
        """The version that all steps lead to."""
        return len(self.steps)

    def upto(self, version: int) -> Schema:
        """Return the schema as it was at `version`."""
        return Schema(self.steps[:version])

    def migrate(self, db: sqlite3.Connection) -> None:
        """Migrate the file to this version, one transaction for each step.

        Raises sqlite3.Error, which leaves the file at the last good version.
        """
        for version in range(version_of(db), self.version):
            db.execute("BEGIN IMMEDIATE")
            try:
                for statement in self.steps[version]:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {version + 1}")
                db.execute("COMMIT")
            except sqlite3.Error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the columns of each table, parents before children."""
        with _template(self) as db:
            tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
            return {name: columns_of(db, name) for (name,) in tables if not name.startswith("sqlite_")}

    def missing(self, db: sqlite3.Connection) -> list[str]:
        """Return the names of tables and indexes that the file lacks or defines differently. Extra ones are ignored."""
        return sorted({name for name, _ in _defined(self) - _objects(db)})


SCHEMA = Schema((_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5, _GOALS, _LIVING_GOALS))


def version_of(db: sqlite3.Connection) -> int:
    """Return the version of the file, 0 when it is empty."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def columns_of(db: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """Return the names of the table's columns, none when there is no such table."""
    return tuple(row[1] for row in db.execute(f"PRAGMA table_info({table})"))


def _template(schema: Schema) -> closing[sqlite3.Connection]:
    """Return an empty in-memory database of the schema; a `with` statement closes it."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(db)
    return closing(db)


@cache
def _defined(schema: Schema) -> frozenset[tuple[str, str]]:
    with _template(schema) as template:
        return _objects(template)


def _objects(db: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    rows = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return frozenset((name, sql) for name, sql in rows)
