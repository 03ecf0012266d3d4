"""Opens a journal for reading only, also while another process writes it, and leaves it unchanged.

A sound file is read in place. Any other is copied, and the copy is repaired as at a start, so that everything readable
is shown.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.files import PAGE_BYTES, beside, connect, missing_writes, read_mark
from mud_assistant.assistant.journal.place import Incomplete, OpeningRefused, ReadableJournal, ReadOnly, Recovered
from mud_assistant.assistant.journal.repair.sqlite_format import broken_frames
from mud_assistant.assistant.journal.schema import APPLICATION_ID, SCHEMA, version_of
from mud_assistant.assistant.journal.sqlite.opening import open_file

_MAGIC = b"SQLite format 3\x00"
#: Up to this size the indexes are compared with the tables as well, as at a start (opening.py).
_LOOKED_THROUGH_BYTES = 64 * 1024 * 1024


@contextmanager
def open_for_reading(path: Path, now: float) -> Iterator[ReadableJournal]:
    """Open the journal at `path`, as it is at one moment, until the `with` ends. Raises CannotRead.

    `now` is in seconds since 1970.
    """
    if not path.exists():
        raise CannotRead(f"there is no file {path}")
    if not path.is_file():
        raise CannotRead(f"{path} is not a journal: it is {'a directory' if path.is_dir() else 'not a file'}")
    mark = read_mark(path)
    db = _in_place(path)
    if db is not None:
        with closing(db):
            missing = missing_writes(db, mark)
            yield _incomplete(db, Incomplete(path, missing)) if missing else ReadableJournal(db)
        return
    with TemporaryDirectory(prefix="mud-assistant-") as folder:
        copy = Path(folder, path.name)
        db, found = _open_copy(path, copy, now)
        with closing(db):
            yield found


def _in_place(path: Path) -> sqlite3.Connection | None:
    """Return a connection to a file that is sound and of this version or an older one, None for any other file.

    A file without a log beside it has no writer, and reading it leaves no file beside it either.
    """
    try:
        with path.open("rb") as file:
            head = file.read(72)
        if not head.startswith(_MAGIC) or head[68:] != APPLICATION_ID.to_bytes(4, "big"):
            return None
        log = beside(path, "-wal")
        is_written = log.exists() and log.stat().st_size > 0
        if is_written and not beside(path, "-shm").exists():
            return None  # SQLite would make that file; without it no process is writing, so a copy is as good
        if broken_frames(log) and broken_frames(log):  # twice: its writer may be rewriting it just now
            return None
        db = connect(path, how="mode=ro" if is_written else "mode=ro&immutable=1")
    except (sqlite3.Error, OSError):
        return None
    try:
        if _is_sound(db):
            db.execute("BEGIN")  # everything is read as of one moment
            return db
    except (sqlite3.Error, UnicodeError):
        pass
    db.close()
    return None


def _is_sound(db: sqlite3.Connection) -> bool:
    version = version_of(db)
    if not 0 < version <= SCHEMA.version or SCHEMA.upto(version).missing(db):
        return False
    size = db.execute("PRAGMA page_count").fetchone()[0] * PAGE_BYTES
    look = "integrity_check" if size <= _LOOKED_THROUGH_BYTES else "quick_check"
    return bool(db.execute(f"PRAGMA {look}(1)").fetchone()[0] == "ok")


def _open_copy(path: Path, copy: Path, now: float) -> tuple[sqlite3.Connection, ReadableJournal]:
    """Copy the file and open the copy, repaired if necessary.

    Raises CannotRead when the file cannot be copied, is no journal, or is of a newer version.
    """
    try:
        for ending in ("", "-wal", "-mark"):
            if beside(path, ending).exists():
                shutil.copyfile(beside(path, ending), beside(copy, ending))
    except OSError as error:
        raise CannotRead(f"{path} cannot be read: {error.strerror}") from error
    db, state = open_file(copy, SCHEMA, now)
    if db is None or isinstance(state, OpeningRefused | ReadOnly):
        if db is not None:
            db.close()
        cause = state.cause if isinstance(state, OpeningRefused | ReadOnly) else "it cannot be opened"
        raise CannotRead(f"{path} cannot be read as a journal: {cause}")
    if isinstance(state, Incomplete):
        return db, _incomplete(db, state)
    return db, ReadableJournal(db, _damage(state) if isinstance(state, Recovered) else "")


def _incomplete(db: sqlite3.Connection, state: Incomplete) -> ReadableJournal:
    return ReadableJournal(db, state.damage, "the next start goes on from what is there")


def _damage(state: Recovered) -> str:
    lost = f"{state.places} places in it could not be read" if state.places else "nothing that was found is unreadable"
    return f"it is damaged ({state.damage}): {lost}"
