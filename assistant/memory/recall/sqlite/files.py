"""The file of the index: made, recognised, deleted. Everything in it is derived, so a doubtful one is not mended."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from mud_assistant.assistant.memory.recall.sqlite.plain import MOST_LINES

APPLICATION: Final = 0x6D756472
#: It is raised when a table changes. Without FTS5 the file has its negative, for it lacks tables.
VERSION: Final = 2
NO_FULL_TEXT: Final = (
    "This SQLite has no FTS5, so memories are found by words among "
    f"the newest {MOST_LINES:,} of each assistant only, and more slowly."
)
_SCHEMA = """
CREATE TABLE assistants (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL DEFAULT 0,
    deletions INTEGER NOT NULL DEFAULT 0, language TEXT NOT NULL);
CREATE TABLE audiences (audience INTEGER PRIMARY KEY AUTOINCREMENT, members TEXT NOT NULL UNIQUE);
CREATE TABLE audience_members (who TEXT NOT NULL, audience INTEGER NOT NULL, PRIMARY KEY (who, audience)) WITHOUT ROWID;
"""
_TIMEOUT = 5.0


def connect_file(path: Path | None) -> sqlite3.Connection:
    """Open a SQLite database, in memory when `path` is None. It may be used on any thread, one at a time.

    A new file, and what SQLite puts beside it, is for its owner alone: it holds private words. Raises sqlite3.Error.
    """
    if path is not None:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise sqlite3.OperationalError(f"{path} cannot be opened: {error.strerror}") from error
    where = ":memory:" if path is None else str(path)
    return sqlite3.connect(where, isolation_level=None, check_same_thread=False, timeout=_TIMEOUT)


def prepare_file(db: sqlite3.Connection, language: str) -> bool:
    """Make the tables in an empty file, or see that they are ours. Return whether this SQLite has FTS5.

    Raises sqlite3.Error when the file is damaged, foreign, of another version or in another language.
    """
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    full_text = _has_full_text(db)
    version = VERSION if full_text else -VERSION
    if db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        marks = tuple(db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if marks != (APPLICATION, version):
            raise sqlite3.DatabaseError("it is of another program or another version")
        if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("it is damaged")
        if db.execute("SELECT COUNT(*) FROM assistants WHERE language != ?", (language,)).fetchone()[0]:
            raise sqlite3.DatabaseError("it is in another language")
        return full_text
    db.executescript(
        f"BEGIN; {_SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version}; COMMIT;"
    )
    return full_text


def damage_of(path: Path) -> str:
    """Return what is wrong with an index on disk, empty for nothing. It is only read. Blocks."""
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_TIMEOUT)
    except sqlite3.Error as error:
        return str(error)
    try:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return str(error)
    finally:
        db.close()
    return "" if found == "ok" else str(found)


def _has_full_text(db: sqlite3.Connection) -> bool:
    try:
        db.execute("CREATE VIRTUAL TABLE temp.probe USING fts5(line)")
        db.execute("DROP TABLE temp.probe")
    except sqlite3.Error:
        return False
    return True
