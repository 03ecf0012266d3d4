"""The files of a journal on disk, and how a connection to it is made. Runs on the writer's thread.

NAME             the database; NAME-wal and NAME-shm beside it are SQLite's own
NAME-mark        how many writes were promised (mark.py)
NAME.new         a database that is being made; may be deleted at any time
NAME.scratch     a copy of a damaged database that is being read; may be deleted at any time
NAME.salvaged    a repaired database, complete, about to take the place of a damaged NAME
NAME.damaged-N   a damaged database, kept for a person to look at
"""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from pathlib import Path
from urllib.parse import quote

from assistant.journal.file.schema import Schema

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


def put_in_place(new: Path, path: Path) -> None:
    """Rename a finished file to `path`, so that it is there whole or not at all."""
    _sync(new)
    new.replace(path)
    _sync(path.parent)


def remove(path: Path) -> None:
    """Delete a database and SQLite's files beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        beside(path, ending).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot sync directories
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)
