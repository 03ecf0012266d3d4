"""Opens the journal in PostgreSQL for reading only, also while others write it. Blocks: for a thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
from psycopg.abc import PQGen

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.postgres.connection import JournalConnection, PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.refusals import explain, newer_tables, older_tables
from mud_assistant.assistant.journal.postgres.schema import STEPS, version_of

#: How long the server may take to hear that a statement is not wanted any more, in seconds.
_CANCEL_SECONDS = 2.0


class _ReadingConnection(JournalConnection):
    """A connection whose statement ends with an error soon after `is_over` returns True."""

    is_over: Callable[[], bool] = staticmethod(lambda: False)

    # Any: what the generator returns.
    def wait(self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait until a statement is answered, or is not wanted any more."""
        return super().wait(self._watched(gen), interval, timeout)

    def _watched(self, gen: PQGen[Any]) -> Generator[Any, Any, Any]:
        """Pass on what a generator of psycopg yields, and cancel its statement once the reading is over."""
        is_cancelled = False
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not is_cancelled and self.is_over():
                    is_cancelled = True
                    self.cancel_safe(timeout=_CANCEL_SECONDS)
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value


@contextmanager
def reading(place: PostgresPlace, seconds: float | None, is_over: Callable[[], bool]) -> Iterator[PostgresDatabase]:
    """Open the journal at `place`, as it is at one moment, until the `with` ends. Raises CannotRead.

    So does a statement that takes longer than `seconds`, and one during which `is_over` begins to return True. None is
    no limit. A server that takes no writes will do, unless the address names several.
    """
    try:
        session = "read-write" if "," in place.url else "any"
        db = connect(place.url, place.password(), kind=_ReadingConnection, session=session)
        with closing(db):
            assert isinstance(db.connection, _ReadingConnection)
            limit = 0 if seconds is None else round(seconds * 1000)
            db.run(f"SET statement_timeout = {limit}; SET idle_in_transaction_session_timeout = 0")
            db.connection.is_over = is_over
            db.connection.answer_seconds = None if seconds is None else seconds + 2 * _CANCEL_SECONDS
            db.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            check_version(db, place)
            yield db
            with suppress(psycopg.Error):
                db.run("COMMIT")
    except (psycopg.Error, KeyReferenceError) as error:
        raise CannotRead(f"{place} cannot be read: {explain(error)}") from error


def check_version(db: PostgresDatabase, place: PostgresPlace) -> None:
    """Raise CannotRead unless there is a journal of this version."""
    version, known = version_of(db), len(STEPS)
    if not version:
        raise CannotRead(f"there is no journal in {place}: its database and its search path hold no tables of one")
    if version > known:
        raise CannotRead(f"{place} cannot be read: {newer_tables(version, known)}")
    if version < known:
        raise CannotRead(f"{place} cannot be read: {older_tables(version, known)}")
