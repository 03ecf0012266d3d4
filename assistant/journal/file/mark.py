"""Keeps how many writes were promised outside the database and its log, so that a lost log is noticed.

SQLite takes a log that is missing, void or cut off for one that was never written, and opens the file as it was
before. So each transaction counts itself in the file. Once it is committed, its number is written to NAME-mark, in
place and without a sync. A killed process leaves the mark true; a loss of power may leave it older, but never newer.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from assistant.journal.file.files import beside

#: Added to every counter of a file that lost rows, so that the number of a lost row is never used again.
GAP = 1000
_LINE = re.compile(r"([0-9a-f]{16}) (\d{20}) ([0-9a-f]{8})\n", re.ASCII)
_ID, _WRITES = "id", "writes"


class Mark:
    """The mark beside the journal at `path`. For the writer's thread."""

    def __init__(self, path: Path) -> None:
        self._journal = path
        self._file: int | None = None
        self._id = ""

    def count(self, db: sqlite3.Connection) -> int:
        """Count the transaction that is open in the file; return its number."""
        if not self._id:
            db.execute("INSERT OR IGNORE INTO meta VALUES (?, lower(hex(randomblob(8))))", (_ID,))
            self._id = _value(db, _ID)
        db.execute(
            "INSERT INTO meta VALUES (?, '1') ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
            (_WRITES,),
        )
        return int(_value(db, _WRITES))

    def promise(self, number: int) -> None:
        """Write to the mark that the transaction of this number is on disk.

        An OSError is ignored: it only means that the loss of this write would not be noticed later.
        """
        line = _line(self._id, number)
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(beside(self._journal, "-mark"), os.O_WRONLY | os.O_CREAT, 0o600)
                os.truncate(self._file, len(line))
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, line)

    def close(self) -> None:
        """Close the mark, once the journal is closed. Delete it when the journal has no log left to lose."""
        if self._file is None:
            return
        os.close(self._file)
        self._file, self._id = None, ""
        if not beside(self._journal, "-wal").exists():  # else the mark is needed, or another process is at work
            forget_mark(self._journal)


def read_mark(path: Path) -> tuple[str, int]:
    """Return which journal the mark is of, and its last promised write: `("", 0)` without a readable mark."""
    try:
        with beside(path, "-mark").open(encoding="ascii", errors="replace") as file:
            line = file.read(100)
    except OSError:
        return "", 0
    found = _LINE.fullmatch(line)
    if found is None or _line(found[1], int(found[2])).decode() != line:
        return "", 0
    return found[1], int(found[2])


def missing_writes(db: sqlite3.Connection, mark: tuple[str, int]) -> int:
    """Return how many of the promised writes the file lacks.

    Read the mark before the file: another process may be writing both.
    """
    name, writes = mark
    try:
        ours, there = _value(db, _ID), int(_value(db, _WRITES) or 0)
    except (sqlite3.Error, ValueError):  # damage, which other checks find
        return 0
    return max(0, writes - there) if ours in {"", name} else 0


def go_on_from(db: sqlite3.Connection, mark: tuple[str, int]) -> None:
    """Continue the count from the mark, and skip the numbers that lost rows may have had."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for key, value in zip((_ID, _WRITES), mark, strict=True):
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))
        skip_numbers(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def skip_numbers(db: sqlite3.Connection) -> None:
    """Advance every row counter by `GAP`. Part of a transaction."""
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'").fetchall():
        row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        if row is None:
            db.execute("INSERT INTO sqlite_sequence VALUES (?, 0)", (table,))
    db.execute("UPDATE sqlite_sequence SET seq = seq + ?", (GAP,))


def forget_mark(path: Path) -> None:
    """Delete the mark: the file at `path` is new, or was made from what could be saved."""
    with suppress(OSError):
        beside(path, "-mark").unlink()


def _value(db: sqlite3.Connection, key: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return "" if row is None else str(row[0])


def _line(name: str, number: int) -> bytes:
    line = f"{name} {number:020}"
    return f"{line} {crc32(line.encode()):08x}\n".encode()
