"""Checks the journal's file and the disk it is on. Blocks: call it in another thread."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.files import beside, connect, make_durable
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.memory.recall import SqliteIndex
from mud_assistant.assistant.memory.recall.sqlite.files import damage_of
from mud_assistant.assistant.memory.recall_file import ENDING

#: The value of `PRAGMA synchronous` for FULL.
_FULL = 2
#: With less free space than this a disk counts as full, however little the journal may still grow.
LEAST_FREE_BYTES = 64 * 1024 * 1024
_MIB = 1024 * 1024


def sound(path: Path, now: float) -> str:
    """Check that the whole journal can be read, without changing it. Raises Problem. `now` is in seconds since 1970."""
    if not path.exists():
        return f"{path} is not there yet and will be made"
    try:
        with open_for_reading(path, now) as found:
            if found.damage:
                raise Problem(f"{path}: {found.damage}; {found.remedy}")
    except CannotRead as error:
        raise Problem(f"{error}; name another file in journal.file, or move this one away") from error
    if not os.access(path, os.W_OK):
        raise Problem(f"{path} cannot be written by this user: see its owner and its mode")
    return f"{path} is sound"


def durable(path: Path) -> str:
    """Check that a commit in this folder is on disk when SQLite reports it as done. Raises Problem.

    The check uses a scratch database beside the journal, because network file systems support no write-ahead log.
    """
    folder = _folder_there(path)
    try:
        with TemporaryDirectory(prefix=".mud-assistant-doctor-", dir=folder) as scratch:
            mode, synchronous = _pragmas(Path(scratch, "try.sqlite"))
    except OSError as error:
        raise Problem(f"nothing can be written in {folder}: {error.strerror}; change its owner or its mode") from error
    except sqlite3.Error as error:
        raise Problem(f"SQLite cannot work in {folder} ({error}): put the journal on a local disk") from error
    if mode != "wal" or synchronous != _FULL:
        raise Problem(
            f"the file system of {folder} gives journal_mode={mode} and synchronous={synchronous} where wal and "
            f"{_FULL} are needed: put the journal on a local disk"
        )
    return "journal_mode=wal and synchronous=full work there"


def _pragmas(path: Path) -> tuple[str, int]:
    """Make a database and return its `journal_mode` and its `synchronous` value."""
    with closing(connect(path, how="mode=rwc")) as db:
        make_durable(db)
        db.execute("CREATE TABLE tried (once INTEGER)")
        db.execute("INSERT INTO tried VALUES (1)")
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
        return str(mode), int(db.execute("PRAGMA synchronous").fetchone()[0])


def _folder_there(path: Path) -> Path:
    """Return the nearest folder that exists: the journal makes those it lacks."""
    return next(folder for folder in path.parents if folder.exists())


def room(path: Path, config: JournalConfig) -> str:
    """Check that the disk has room for the journal to grow to its limit. Raises Problem."""
    free = shutil.disk_usage(_folder_there(path)).free
    used = path.stat().st_size if path.is_file() else 0
    wanted = max(config.max_bytes - used, LEAST_FREE_BYTES)
    if free < wanted:
        raise Problem(
            f"{free // _MIB} MiB are free and the journal may take {wanted // _MIB} MiB more: "
            "make room, or lower journal.max_bytes"
        )
    return f"{free // _MIB} MiB are free"


def bindings(path: Path, now: float) -> Collection[KeyBinding]:
    """Return which key the journal remembers for which server; empty when the journal cannot be read."""
    if not path.is_file():
        return ()
    try:
        with open_for_reading(path, now) as found:
            rows = found.db.execute("SELECT reference, origin FROM key_bindings").fetchall()
    except (CannotRead, sqlite3.Error):
        return ()
    return frozenset(KeyBinding(*row) for row in rows)


def searchable(path: Path) -> str:
    """Say how memories are found. Blocks. Raises Unclear when full-text search is missing, or the index is damaged."""
    index = SqliteIndex(None)
    missing = index.open()
    index.close()
    if missing:
        raise Unclear(missing)
    file = beside(path, ENDING)
    if file.exists() and (damage := damage_of(file)):
        raise Unclear(f"the index of memories is damaged ({damage}): it is made anew at the next start")
    return "memories are found by their words"
