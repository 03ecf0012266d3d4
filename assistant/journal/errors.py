"""What the durable journal cannot do.

JournalError
 +- JournalUnwritable    not on disk: disk full, input/output error, no permission; worth trying again
 +- JournalUnreadable    could not be read from the file
 +- JournalRefused       the file is not ours, or of a newer version than this program
 +- JournalClosed        the store is not open, or not open any more
 +- Fenced               another process has taken over this assistant
 +- UnknownRun           no such run is open
 +- AlreadyRecorded      the step has an answer already
 +- NewerRecord          a record of a kind or version that this program does not know
 +- BrokenRecord         a record that is not what was written
"""

from __future__ import annotations

import sqlite3

#: What SQLite's primary error codes mean to an operator.
_CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk reports an input/output error",
    sqlite3.SQLITE_READONLY: "the file may not be written",
    sqlite3.SQLITE_PERM: "the file may not be written",
    sqlite3.SQLITE_CANTOPEN: "the file or one beside it cannot be opened",
    sqlite3.SQLITE_BUSY: "another process holds the file",
    sqlite3.SQLITE_LOCKED: "another process holds the file",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; it is repaired at the next start",
    sqlite3.SQLITE_NOTADB: "the file is damaged; it is repaired at the next start",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


class JournalError(Exception):
    """Anything the journal can say about itself."""


class JournalUnwritable(JournalError):
    """Nothing of this write is on disk. The store goes on trying with the next one."""


class JournalUnreadable(JournalError):
    """The file could not be read."""


class JournalRefused(JournalError):
    """The file was not opened, and not touched."""


class JournalClosed(JournalError):
    """The store is not open."""


class Fenced(JournalError):
    """A newer process writes for this assistant; `token` is ours and `current` the one that counts."""

    def __init__(self, assistant: str, token: int, current: int) -> None:
        super().__init__(f"another process has taken over {assistant} (its token is {current}, ours {token})")
        self.assistant = assistant
        self.token = token
        self.current = current


class UnknownRun(JournalError):
    """No run of this id is open."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"no run {run_id} is open")
        self.run_id = run_id


class AlreadyRecorded(JournalError):
    """The step of the run has an answer; what was acted on is not written over."""


class NewerRecord(JournalError):
    """A record that a newer version of this program wrote."""


class BrokenRecord(JournalError):
    """A record that is not what was written, or never was one."""


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code of the error, 0 when it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def cause_of(error: sqlite3.Error) -> str:
    """Why SQLite failed, in words for an operator."""
    return _CAUSES.get(primary_code(error), str(error) or type(error).__name__)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is damaged, which only the next start repairs."""
    return primary_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_outage(error: sqlite3.Error) -> bool:
    """Whether the file or the disk is at fault, and not a statement of ours."""
    return primary_code(error) in _CAUSES
