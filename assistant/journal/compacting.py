"""Writes the file anew, so that it holds nothing but its rows. SQL only.

SQLite's `secure_delete` overwrites a deleted row where it lay last. Copies from before it moved to another page stay
(of 1,000 deleted notes and events 24 could still be found in the file), so what must be gone takes a VACUUM.
"""

from __future__ import annotations

import sqlite3

from assistant.journal.errors import is_outage

#: Smaller files are not worth the writing: 1 MiB in pages.
MIN_PAGES = 256
#: The share of free pages from which the file is written anew at a start.
FREE_SHARE = 0.5
#: Stands in `meta` until what was deleted is gone from the file as well.
_OWED = "compact"


def owe(db: sqlite3.Connection) -> None:
    """Have the file written anew at the next start at the latest; part of a transaction that deletes."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (_OWED,))


def is_due(db: sqlite3.Connection) -> bool:
    """Whether the file is to be written anew: it was promised, or more than half of it is free."""
    if db.execute("SELECT 1 FROM meta WHERE key = ?", (_OWED,)).fetchone():
        return True
    pages, free = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    return bool(pages >= MIN_PAGES and free > FREE_SHARE * pages)


def compacted(db: sqlite3.Connection) -> bool:
    """Write the file anew; False when what was deleted is still there, as another process reads the log, for one.

    Outside any transaction. Needs room for the file twice.
    """
    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if is_outage(error):
            raise
        return False  # a statement that failed is not cleared away yet
    is_busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if not is_busy:
        db.execute("DELETE FROM meta WHERE key = ?", (_OWED,))
    return not is_busy
