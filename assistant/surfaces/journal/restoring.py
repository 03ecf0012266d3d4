"""Notes that an older state of a journal was put back, so that what was written to the newer one is not gone on with.

Blocks.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from assistant.journal.errors import CannotRead, cause_of
from assistant.journal.files import GAP, connect, skip_numbers
from assistant.journal.place import JournalPlace, PostgresPlace
from assistant.journal.schema import APPLICATION_ID
from assistant.journal.sqlite.copying import is_open_elsewhere


def note_restored(place: JournalPlace) -> int:
    """Let nobody go on with what they had of this journal; return how many assistants it has. Raises CannotRead."""
    return _in_database(place) if isinstance(place, PostgresPlace) else _in_file(place)


def _in_database(place: PostgresPlace) -> int:
    try:
        from assistant.journal.postgres.restoring import fence_all  # noqa: PLC0415  (needs psycopg)
    except ImportError as error:
        from assistant.journal.postgres.refusals import NO_DRIVER  # noqa: PLC0415  (only where it is used)

        raise CannotRead(NO_DRIVER) from error
    return fence_all(place)


def _in_file(path: Path) -> int:
    """Raise the counters and the tokens of a file. That its log is missing is noticed by the next start, as ever."""
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
