"""Rewrites the file, so that it holds nothing but its rows. SQL only.

SQLite's `secure_delete` overwrites a deleted row where it lay last. Copies from before it moved to another page stay:
of 1,000 deleted notes and events 24 could still be found in the file. So data that must be gone needs a VACUUM.
"""

from __future__ import annotations

import sqlite3

from assistant.journal.errors import is_outage

#: A file with fewer pages (1 MiB) is not worth rewriting.
MIN_PAGES = 256
#: When more than this share of the pages is free, the file is rewritten at the next start.
FREE_SHARE = 0.5
#: This key stands in `meta` until the deleted data is gone from the file as well.
_OWED = "compact"


def owe(db: sqlite3.Connection) -> None:
    """Request that the file is rewritten, at the next start at the latest. Part of a transaction that deletes."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (_OWED,))


def is_due(db: sqlite3.Connection) -> bool:
    """Tell whether the file must be rewritten: `owe` requested it, or more than half of the file is free."""
    if db.execute("SELECT 1 FROM meta WHERE key = ?", (_OWED,)).fetchone():
        return True
    pages, free = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    return bool(pages >= MIN_PAGES and free > FREE_SHARE * pages)


def compact_file(db: sqlite3.Connection) -> bool:
    """Rewrite the file. Return False when deleted data is still there, for example as another process reads the log.

    Call it outside any transaction. Needs room for the file twice.
    """
    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if is_outage(error):
            raise
        return False  # a statement that failed is not finalized yet
    is_busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if not is_busy:
        db.execute("DELETE FROM meta WHERE key = ?", (_OWED,))
    return not is_busy
