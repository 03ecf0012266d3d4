"""Opens a journal's file: sound, repaired, only for reading, or not at all. It never silently opens an empty one.

directory, not a database, of another program, newer version  ->  OpeningRefused, and not touched
no file                                                       ->  a new one, Sound
damaged                                                       ->  set aside, what can be read is saved: Recovered
promised writes are missing                                   ->  goes on from what is there: Incomplete
of an older version                                           ->  kept as a copy first, then brought to this version
cannot be written                                             ->  ReadOnly
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mud_assistant.assistant.journal.codec import unseal
from mud_assistant.assistant.journal.errors import BrokenRecord, cause_of, is_outage, primary_code
from mud_assistant.assistant.journal.files import (
    PAGE_BYTES,
    beside,
    compact_file,
    connect,
    create,
    forget_mark,
    go_on_from,
    is_due,
    make_durable,
    missing_writes,
    read_mark,
)
from mud_assistant.assistant.journal.place import Incomplete, Opened, OpeningRefused, ReadOnly, Recovered, Sound
from mud_assistant.assistant.journal.repair.salvage import copy_log_aside, finish_salvage, salvage, set_aside_log
from mud_assistant.assistant.journal.repair.sqlite_format import broken_frames
from mud_assistant.assistant.journal.schema import APPLICATION_ID, MARK, Schema, version_of
from mud_assistant.assistant.journal.sqlite.earlier_copy import drop_old, keep_earlier

_MAGIC = b"SQLite format 3\x00"
#: How many bytes of a file are read to tell what it is; the mark is in the second page.
_LOOKED_AT_BYTES = 65_536
_HEADER_BYTES = 100
#: Up to this size the indexes are compared with the tables as well. For 64 MiB that took 0.25 s, and 0.1 s without.
_LOOKED_THROUGH_BYTES = 64 * 1024 * 1024
#: At least one of these stands in the first two pages of every journal.
_MARKS = (MARK.encode(), b"CREATE TABLE leases (assistant TEXT")
_RECORD = re.compile(rb'\{"v":\d[^#]*\}#[0-9a-f]{8}')
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class _Damaged(Exception):
    """The file needs repair."""


class _NotForUs(Exception):
    """The file is not ours, or of a newer version than this program, and must not be touched."""


class _Checked(NamedTuple):
    """A file that was checked."""

    db: sqlite3.Connection
    #: How many promised writes it lacks, and where the log that should hold them is kept.
    missing: int
    log: Path | None
    #: What is kept of it as it was before its tables were changed, None when they were not.
    copy: Path | None


def open_file(path: Path, schema: Schema, now: float) -> tuple[sqlite3.Connection | None, Opened]:
    """Open the file; return a connection for this thread and the file's state. `now` is in seconds since 1970.

    The connection is None when the file is refused, or can be neither written nor read.
    """
    try:
        return _open(path, schema, now)
    except _NotForUs as reason:
        return None, OpeningRefused(path, str(reason))
    except (sqlite3.Error, OSError) as error:
        return _for_reading(path), ReadOnly(path, _why(error), is_forbidden=_is_forbidden(path))


def _is_forbidden(path: Path) -> bool:
    """Tell whether this user may not write the file, or make one there."""
    return not os.access(path if path.exists() else path.parent, os.W_OK)


def _why(error: sqlite3.Error | OSError) -> str:
    return cause_of(error) if isinstance(error, sqlite3.Error) else error.strerror or type(error).__name__


def _open(path: Path, schema: Schema, now: float) -> tuple[sqlite3.Connection | None, Opened]:
    if path.exists() and not path.is_file():
        raise _NotForUs("it is not a file" if not path.is_dir() else "it is a directory")
    if (aside := finish_salvage(path)) is not None:
        return _open_recovered(path, schema, now, "a repair had been interrupted", aside)
    if not path.exists():
        return _new(path, schema, now)
    try:
        db, missing, log, copy = _open_checked(path, schema, now)
        return db, Incomplete(path, missing, log) if missing else Sound(path, copy=copy)
    except _Damaged as damage:
        found = str(damage)
    try:
        aside = salvage(path, schema, now)
    except (sqlite3.Error, OSError) as error:
        return _for_reading(path), ReadOnly(path, f"it is damaged ({found}) and could not be repaired: {_why(error)}")
    return _open_recovered(path, schema, now, found, aside)


def _new(path: Path, schema: Schema, now: float) -> tuple[sqlite3.Connection, Opened]:
    """Make and open an empty journal. A log found without its file is kept and reported."""
    aside = set_aside_log(path)
    forget_mark(path)
    create(path, schema)
    db, *_ = _open_checked(path, schema, now)
    if aside is None:
        return db, Sound(path, new=True)
    return db, Recovered(path, "only its write-ahead log was there", aside, 0, 1)


def _open_recovered(
    path: Path, schema: Schema, now: float, damage: str, aside: Path
) -> tuple[sqlite3.Connection, Opened]:
    db, *_ = _open_checked(path, schema, now)
    row = db.execute("SELECT value FROM meta WHERE key = 'salvage'").fetchone()
    saved, places = (int(part) for part in row[0].split())
    return db, Recovered(path, damage, aside, saved, places)


def _open_checked(path: Path, schema: Schema, now: float) -> _Checked:
    """Open a file after checking that it is whole, of this version, and can be written."""
    _identify(path)
    mark = read_mark(path)
    log = beside(path, "-wal")
    if broken_frames(log) and (broken := broken_frames(log)):  # twice: another process may be rewriting it just now
        raise _Damaged(f"{broken} pages in the middle of its write-ahead log are garbled")
    db = connect(path)
    try:
        missing = missing_writes(db, mark)
        aside = copy_log_aside(path) if missing else None  # before SQLite overwrites it
        copy = _check(db, path, schema, now)
        drop_old(path, now)
        make_durable(db)
        if missing:
            go_on_from(db, mark)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('opened', ?)", (str(now),))  # proves that it can be written
        if is_due(db):
            with suppress(sqlite3.Error):  # no room: tried again at the next start
                compact_file(db)
    except BaseException as error:
        db.close()
        if isinstance(error, UnicodeError):  # SQLite's message quotes what it found
            raise _Damaged("its list of tables is garbled") from error
        if isinstance(error, sqlite3.Error) and primary_code(error) in _DAMAGE:
            raise _Damaged(str(error)) from error
        raise
    return _Checked(db, missing, aside, copy)


def _check(db: sqlite3.Connection, path: Path, schema: Schema, now: float) -> Path | None:
    """Check the whole file, and migrate it to this version; return the copy that was kept before. None without steps.

    Raises _NotForUs or _Damaged. Without room for the copy, raises OSError, and the file stays as it is.
    """
    version = version_of(db)
    if version > schema.version:
        raise _NotForUs(f"it was written by a newer mud-assistant (version {version}, this one knows {schema.version})")
    size = db.execute("PRAGMA page_count").fetchone()[0] * PAGE_BYTES
    look = "integrity_check" if size <= _LOOKED_THROUGH_BYTES else "quick_check"
    found = db.execute(f"PRAGMA {look}(1)").fetchone()[0]
    if found != "ok":
        raise _Damaged(found.strip().splitlines()[-1])
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise _Damaged("its header is garbled")
    if missing := schema.upto(version).missing(db):
        raise _Damaged(f"it lacks {', '.join(missing[:3])}")
    copy = keep_earlier(db, path, schema.version, now) if 0 < version < schema.version else None
    schema.migrate(db)
    return copy


def _identify(path: Path) -> None:
    """Check by its first bytes that the file is a journal.

    Raises _Damaged when it was a journal, or is empty, and cannot be opened; _NotForUs when it never was one.
    """
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT_BYTES)
    if not head:
        raise _Damaged("it is empty")
    if head.startswith(_MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big"):
        return
    is_stump = len(head) < _HEADER_BYTES and (head.startswith(_MAGIC) or _MAGIC.startswith(head))
    log = beside(path, "-wal")
    rest = log.read_bytes() if log.is_file() else b""
    if is_stump or any(mark in head or mark in rest for mark in _MARKS) or _holds_record(head):
        raise _Damaged("its first page is garbled")
    what = "it is a database of another program" if head.startswith(_MAGIC) else "it is not a database"
    raise _NotForUs(what)


def _holds_record(head: bytes) -> bool:
    """Tell whether the bytes hold a whole record of ours with a correct checksum."""
    for match in _RECORD.finditer(head):
        with suppress(BrokenRecord):
            unseal(match[0])
            return True
    return False


def _for_reading(path: Path) -> sqlite3.Connection | None:
    """Return a connection that can only read, None when not even that works."""
    for how in ("mode=ro", "mode=ro&immutable=1"):
        try:
            db = connect(path, how=how)
        except sqlite3.Error:
            continue
        try:
            db.execute("SELECT count(*) FROM meta").fetchone()
        except sqlite3.Error as error:
            db.close()
            if not is_outage(error):
                return None
        else:
            return db
    return None
