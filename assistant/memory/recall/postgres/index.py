"""The index of memories in PostgreSQL: the same for every process that works with the database.

What is forgotten leaves no row here, and no word of it in the rows of its neighbours. The tables and their indexes are
then written anew, without its bytes. The server's log, its replicas and its backups keep it until they roll over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.connection import DATABASE_ERRORS, PostgresDatabase
from mud_assistant.assistant.journal.postgres.rewriting import rewrite
from mud_assistant.assistant.memory.recall.index import Hold, RecallIndex, RecallIndexError, hold_all
from mud_assistant.assistant.memory.recall.postgres.lists import BIT_COUNT, OLD_BIT_COUNT, PostgresLists
from mud_assistant.assistant.memory.recall.postgres.schema import ALL_TABLES, prepare_schema
from mud_assistant.assistant.memory.recall.postgres.tables import PostgresTables
from mud_assistant.tools.memories import Memory

#: Every statement is made for an index: a plan by a guess would read the lines of all assistants.
_SETTINGS = "SET enable_seqscan = off; SET jit = off"
#: From so many new rows on the server looks at the tables at once: plans made for empty ones read all lines.
_MANY = 500
#: The first server with `bit_count`, as servers count.
_HAS_BIT_COUNT = 140_000


class PostgresIndex(RecallIndex):
    """The memories of all assistants, on a connection that `connect` makes.

    A process that does not know yet that it lost an assistant must not bring back what was forgotten since: `hold` sees
    to that. What failed may be called again, after `open`.
    """

    _ASSISTANTS, _BEGIN, _LOCKING = "recall_assistants", "BEGIN", " FOR UPDATE"

    def __init__(self, connect: Callable[[], PostgresDatabase], language: str, hold: Hold = hold_all) -> None:
        super().__init__(language, hold)
        self._connect = connect
        self._db: PostgresDatabase | None = None
        self._ones = BIT_COUNT

    def open(self) -> str:
        """Connect, and make the tables where there are none. Return what was wrong with them, as a sentence."""
        self.close()
        with _as_index_errors():
            self._db = self._connect()
            self._db.run(_SETTINGS)
            self._ones = BIT_COUNT if self._db.connection.info.server_version >= _HAS_BIT_COUNT else OLD_BIT_COUNT
            with self._writing() as db:
                return prepare_schema(db)

    def close(self) -> None:
        """Close the connection. No effect when it is closed."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def erase(self) -> None:
        """Leave no byte of what was removed in the files of the tables. See above for what PostgreSQL still keeps.

        Of a table that is busy or too large only the room is freed.
        """
        with self._reading() as db:
            rewrite(db, ALL_TABLES)

    def add(self, assistant: str, rows: Iterable[tuple[int, Memory]]) -> None:
        """Index memories, each with the number of its record; one whose id is known is renewed. All or none."""
        new = list(rows)
        super().add(assistant, new)
        if len(new) >= _MANY:
            with self._reading() as db:
                db.run("ANALYZE (SKIP_LOCKED) recall_lines, recall_passages")

    def _tables(self, db: Database, number: int) -> PostgresTables:
        return PostgresTables(db, number, self._language)

    def _lists(self, db: Database, number: int) -> PostgresLists:
        return PostgresLists(self._tables(db, number), self._ones)

    @contextmanager
    def _reading(self) -> Iterator[PostgresDatabase]:
        if self._db is None:
            raise RecallIndexError("the index of memories is not open")
        with _as_index_errors():
            yield self._db

    def _undo(self, db: Database) -> None:
        if self._db is not None and not self._db.is_broken:
            db.execute("ROLLBACK")


@contextmanager
def _as_index_errors() -> Iterator[None]:
    try:
        yield
    except DATABASE_ERRORS as error:
        raise RecallIndexError(f"the index of memories failed: {error}") from error
