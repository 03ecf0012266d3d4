"""The files of a journal on disk: how they are made, connected to and rewritten. Runs on the writer's thread.

NAME             the database; NAME-wal and NAME-shm beside it are SQLite's own
NAME-mark        how many writes were promised (`Mark`)
NAME.new         a database that is being made; may be deleted at any time
NAME.scratch     a copy of a damaged database that is being read; may be deleted at any time
NAME.salvaged    a repaired database, complete, about to take the place of a damaged NAME
NAME.damaged-N   a damaged database, kept for a person to look at

The mark is there so that a lost log is noticed. SQLite takes a log that is missing, void or cut off for one that was
never written, and opens the file as it was before. So each transaction counts itself in the file. Once it is committed,
its number is written to NAME-mark, in place and without a sync. A killed process leaves the mark true; a loss of power
may leave it older, but never newer.

The file is rewritten so that it holds nothing but its rows. SQLite's `secure_delete` overwrites a deleted row where it
lay last. Copies from before it moved to another page stay: of 1,000 deleted notes and events 24 could still be found in
the file. So data that must be gone needs a VACUUM.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote
from zlib import crc32

from mud_assistant.assistant.durable import put_in_place
from mud_assistant.assistant.journal.database import OWED
from mud_assistant.assistant.journal.errors import is_outage
from mud_assistant.assistant.journal.schema import Schema

#: Bytes of a page; fixed, so that damage can be found page by page.
PAGE_BYTES = 4096
#: How long a statement waits for another process. SQLite takes milliseconds.
BUSY_MILLISECONDS = 5000
#: A damaged letter must not make its whole row unreadable.
_TEXT = partial(str, encoding="utf-8", errors="replace")


def beside(path: Path, ending: str) -> Path:
    """Return the path with `ending` appended to its name."""
    return path.with_name(path.name + ending)


def connect(path: Path, *, how: str = "mode=rw") -> sqlite3.Connection:
    """Return a connection for the calling thread; `how` is SQLite's URI parameters. The caller begins transactions."""
    uri = f"file:{quote(str(path.absolute()))}?{how}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, cached_statements=256)
    db.text_factory = _TEXT
    db.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def make_durable(db: sqlite3.Connection) -> None:
    """Set the connection so that a commit is on disk when it returns, and deleted data is overwritten."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA secure_delete = ON")


def create(path: Path, schema: Schema) -> None:
    """Make an empty journal. It is complete when it gets its name, and only the file's owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = beside(path, ".new")
    build(new, schema).close()
    put_in_place(new, path)


def build(new: Path, schema: Schema) -> sqlite3.Connection:
    """Make an empty database of the schema at `new`, replacing what is there; return a connection to it."""
    remove(new)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    db = connect(new)
    try:
        db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        schema.migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def remove(path: Path) -> None:
    """Delete a database and SQLite's files beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        beside(path, ending).unlink(missing_ok=True)


#: A file with fewer pages (1 MiB) is not worth rewriting.
MIN_PAGES = 256
#: When more than this share of the pages is free, the file is rewritten at the next start.
FREE_SHARE = 0.5


def is_due(db: sqlite3.Connection) -> bool:
    """Tell whether the file must be rewritten: `owe` requested it, or more than half of the file is free."""
    if db.execute("SELECT 1 FROM meta WHERE key = ?", (OWED,)).fetchone():
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
        db.execute("DELETE FROM meta WHERE key = ?", (OWED,))
    return not is_busy


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
        #: The number that was counted last.
        self._last = 0

    def count(self, db: sqlite3.Connection) -> int:
        """Count the transaction that is open in the file; return its number."""
        self._last = self._next(db)
        return self._last

    def _next(self, db: sqlite3.Connection) -> int:
        """Count in the file. The number there is only read when it is not the one counted last."""
        if not self._id:
            db.execute("INSERT OR IGNORE INTO meta VALUES (?, lower(hex(randomblob(8))))", (_ID,))
            self._id = _value(db, _ID)
        counted = (str(self._last + 1), _WRITES, str(self._last))
        if db.execute("UPDATE meta SET value = ? WHERE key = ? AND value = ?", counted).rowcount:
            return self._last + 1
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
