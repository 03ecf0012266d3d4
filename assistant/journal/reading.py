"""Opens a journal for reading only, wherever it is kept, also while another process writes it. Blocks: for a thread.

psycopg is loaded for a journal in PostgreSQL alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace, ReadableJournal
from mud_assistant.assistant.journal.sqlite import reading as file_reading


@contextmanager
def open_for_reading(place: JournalPlace, now: float) -> Iterator[ReadableJournal]:
    """Open the journal at `place`, as it is at one moment, until the `with` ends. Raises CannotRead.

    `now` is in seconds since 1970. Of a damaged file a repaired copy is opened. Statements raise sqlite3.Error for a
    file, and CannotRead for a database.
    """
    if isinstance(place, PostgresPlace):
        with open_database(place) as db:
            yield ReadableJournal(db)
    else:
        with file_reading.open_for_reading(place, now) as found:
            yield found


def open_database(
    place: PostgresPlace, seconds: float | None = None, is_over: Callable[[], bool] = lambda: False
) -> AbstractContextManager[Database]:
    """Open a journal in PostgreSQL, as it is at one moment, until the `with` ends. Raises CannotRead.

    So does a statement that takes longer than `seconds`, and one during which `is_over`, which is called often, begins
    to return True. None is no limit.
    """
    try:
        from mud_assistant.assistant.journal.postgres.reading import reading  # noqa: PLC0415  (only where one is set)
    except ImportError as error:
        from mud_assistant.assistant.journal.postgres.refusals import NO_DRIVER  # noqa: PLC0415  (as above)

        raise CannotRead(NO_DRIVER) from error
    return reading(place, seconds, is_over)
