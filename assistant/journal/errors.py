"""The errors of the journal, a branch of the tree in `assistant/errors.py`.

CannotCopy               a journal cannot be copied, or not to where it was wanted
CannotRead               a journal that is only read, for a person, cannot be
InboxFullError           no room for another event, which was not accepted
JournalError
 +- JournalUnwritable    a write is not on disk: disk full, input/output error, no permission; may be tried again
 +- JournalUnreadable    the file could not be read
 +- JournalRefused       the file is not ours, or of a newer version than this program
 +- JournalClosed        the store is not open yet, or was closed
 +- Fenced               another process has taken over this assistant
 +- HeldElsewhere        another process runs this assistant, and goes on
 +- UnknownRun           no such run is open
 +- AlreadyRecorded      the step already has an answer
 +- NewerRecord          a record is of a kind or version that this program does not know
 +- BrokenRecord         a record is not what was written
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.tools.errors import Away

#: SQLite tells no more of a disk that is full than of one that is broken, unless the system says "no space left".
_NOT_TAKEN = (
    "the disk does not take what is written: a quota or a limit on the size of files is used up, or it is broken "
    "(input/output error)"
)
#: What SQLite's error codes mean to an operator: primary ones, and extended ones that say more.
_CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk reports an input/output error",
    sqlite3.SQLITE_IOERR_SHMSIZE: "the disk is full",
    sqlite3.SQLITE_IOERR_WRITE: _NOT_TAKEN,
    sqlite3.SQLITE_IOERR_FSYNC: _NOT_TAKEN,
    sqlite3.SQLITE_IOERR_TRUNCATE: _NOT_TAKEN,
    sqlite3.SQLITE_READONLY: "the file may not be written",
    sqlite3.SQLITE_PERM: "the file may not be written",
    sqlite3.SQLITE_CANTOPEN: "the file or one beside it cannot be opened",
    sqlite3.SQLITE_BUSY: "another process holds the file",
    sqlite3.SQLITE_LOCKED: "another process holds the file",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; it is repaired at the next start",
    sqlite3.SQLITE_NOTADB: "the file is damaged; it is repaired at the next start",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


class InboxFullError(Exception):
    """The inbox is full. Raised before an event is accepted, never after."""


class CannotCopy(AssistantError):
    """The journal cannot be copied; nothing is left at the target. The message is a sentence for its owner."""


class CannotRead(AssistantError):
    """The journal cannot be read. The message is a sentence for its owner."""


class JournalError(AssistantError, Away):
    """The base of all errors of the journal."""

    consequence = "the journal cannot be used"


class JournalUnwritable(JournalError):
    """A write failed and nothing of it is on disk. The store tries again with the next write."""

    passes = True


class JournalUnreadable(JournalError):
    """The file could not be read."""

    passes = True


class JournalRefused(JournalError):
    """The file is not ours, or of a newer version than this program. It was neither opened nor changed."""


class JournalClosed(JournalError):
    """The store is not open."""


class Fenced(JournalError):
    """A newer process writes for this assistant. `token` is ours, `current` the one that counts."""

    def __init__(self, assistant: str, token: int, current: int) -> None:
        super().__init__(f"another process has taken over {assistant} (its token is {current}, ours {token})")
        self.assistant = assistant
        self.token = token
        self.current = current


class HeldElsewhere(JournalError):
    """Another process runs this assistant. `holder` is its name, `since` when it started, in seconds since 1970."""

    passes = True

    def __init__(self, assistant: str, holder: str, since: float) -> None:
        at = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%d %H:%M UTC")
        super().__init__(f"{assistant} is run by {holder}, which was started at {at}: stop it there first")
        self.assistant = assistant
        self.holder = holder
        self.since = since


class UnknownRun(JournalError):
    """No run of this id is open."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"no run {run_id} is open")
        self.run_id = run_id


class AlreadyRecorded(JournalError):
    """The step of the run already has an answer. An answer that was acted on is never overwritten."""


class NewerRecord(JournalError):
    """A record was written by a newer version of this program."""


class BrokenRecord(JournalError):
    """A record is damaged, or was never a record."""


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code of the error, 0 when it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def cause_of(error: sqlite3.Error) -> str:
    """Return why SQLite failed, in words for an operator."""
    special = _CAUSES.get(getattr(error, "sqlite_errorcode", 0))
    return special or _CAUSES.get(primary_code(error), str(error) or type(error).__name__)


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether the file itself is damaged, which only the next start repairs."""
    return primary_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_outage(error: sqlite3.Error) -> bool:
    """Tell whether the file or the disk is at fault, and not one of our statements."""
    return primary_code(error) in _CAUSES
