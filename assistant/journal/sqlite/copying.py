"""Makes a journal's file for a copy, whole or not at all, copies one, and lets one that was put back go on. Blocks.

It also tells whether a process has one open.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from mud_assistant.assistant.durable import put_in_place
from mud_assistant.assistant.journal.errors import CannotCopy, CannotRead, cause_of
from mud_assistant.assistant.journal.files import GAP, beside, build, connect, remove, skip_numbers
from mud_assistant.assistant.journal.schema import APPLICATION_ID, SCHEMA

if sys.platform != "win32":
    import fcntl

#: The bytes that a process that has the file open holds a lock on: https://www.sqlite.org/src/file/src/os.h
_FIRST, _COUNT = 0x4000_0002, 510
#: Room that must be left beside copies of a journal, in bytes.
SPARE_BYTES = 16 * 1024 * 1024
_MIB = 1024 * 1024


def is_open_elsewhere(path: Path) -> bool:
    """Tell whether another process has the journal open; False where the system does not tell.

    Call it while this process has not: closing the file ends its own locks on it.
    """
    if sys.platform == "win32" or not beside(path, "-shm").exists():
        return False
    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _COUNT, _FIRST)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Return an empty journal to fill in one transaction, which gets its name at the end. Raises CannotCopy.

    Nothing is left of it when the block raises.
    """
    if any(beside(path, ending).exists() for ending in ("", "-wal", "-mark")):
        raise CannotCopy(f"{path} is there already: a journal is copied to a new file")
    new = beside(path, ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(build(new, SCHEMA)) as db:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        put_in_place(new, path)
    except sqlite3.Error as error:
        raise CannotCopy(f"{path} cannot be written: {cause_of(error)}") from error
    except OSError as error:
        raise CannotCopy(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            remove(new)


def lacking_room(path: Path, what: str, folder: Path | None = None, copies: int = 1) -> str:
    """Return that `what` lacks room for so many copies of the journal, beside it or in a folder; empty when there is.

    Raises OSError.
    """
    size = sum(found.stat().st_size for found in (path, beside(path, "-wal")) if found.exists())
    needed, free = copies * size + SPARE_BYTES, shutil.disk_usage(folder or path.parent).free
    where = f" in {folder}" if folder else ""
    return "" if free >= needed else f"{free // _MIB} MiB are free{where}, and {what} needs {-(-needed // _MIB)} MiB"


def copy_open(
    db: sqlite3.Connection, new: Path, pages: int = -1, progress: Callable[[int, int, int], object] | None = None
) -> None:
    """Copy a journal that is open, as it is at one moment, into a new file for its owner alone.

    `pages` and `progress` are those of `sqlite3.Connection.backup`. Raises OSError and sqlite3.Error.
    """
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(connect(new)) as target:
        db.backup(target, pages=pages, progress=progress)
        target.execute("PRAGMA journal_mode = DELETE").fetchone()  # one file, without a log beside it


def last_number(db: sqlite3.Connection, table: str) -> int:
    """Return the highest `seq` that a row of the table ever had."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return row[0] if row else 0


def set_last_number(db: sqlite3.Connection, table: str, number: int) -> None:
    """Let the next row of the table get a number above this one."""
    if not db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (number, table)).rowcount:
        db.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number))


def note_restored(path: Path) -> int:
    """Raise the counters and the tokens of a journal that was put back; return how many assistants it has.

    So no number is given twice, and whoever wrote to the newer one writes no more. That its log is missing is noticed
    by the next start, as ever. Raises CannotRead.
    """
    if not path.is_file():
        raise CannotRead(f"there is no journal {path}")
    if is_open_elsewhere(path):
        raise CannotRead(f"{path} is in use: stop the program that writes it first")
    try:
        with closing(connect(path)) as db:
            if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise CannotRead(f"{path} is not a journal")
            db.execute("BEGIN IMMEDIATE")
            skip_numbers(db)
            raised = db.execute("UPDATE leases SET token = token + ?", (GAP,)).rowcount
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise CannotRead(f"{path} cannot be written: {cause_of(error)}") from error
    return raised
