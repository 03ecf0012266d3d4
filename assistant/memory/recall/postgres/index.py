"""The index of memories in PostgreSQL: the same for every process that works with the database.

What is forgotten leaves no row here, and no word of it in the rows of its neighbours. The tables and their indexes are
then written anew, without its bytes. The server's log, its replicas and its backups keep it until they roll over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from assistant.journal.database import Database
from assistant.journal.postgres.connection import DATABASE_ERRORS, PostgresDatabase
from assistant.journal.postgres.rewriting import rewrite
from assistant.memory.recall.candidates import list_ids, list_without_vector
from assistant.memory.recall.index import RecallIndexError
from assistant.memory.recall.postgres.lists import BIT_COUNT, OLD_BIT_COUNT, PostgresLists
from assistant.memory.recall.postgres.schema import TABLES, prepare_schema
from assistant.memory.recall.postgres.tables import PostgresTables
from assistant.memory.recall.search import RecallHits, RecallQuery, search_lines
from assistant.memory.recall.vectors import Vector
from tools.memories import Memory

#: Every statement is made for an index: a plan by a guess would read the lines of all assistants.
_SETTINGS = "SET enable_seqscan = off; SET jit = off"
#: From so many new rows on the server looks at the tables at once: plans made for empty ones read all lines.
_MANY = 500
#: The first server with `bit_count`, as servers count.
_HAS_BIT_COUNT = 140_000
#: Tells which of some memories of an assistant are there still, and keeps them until the transaction ends.
Hold = Callable[[Database, str, Sequence[str]], Collection[str]]


class PostgresIndex:
    """The memories of all assistants, as they are searched. It has the interface of `RecallIndex`. Everything blocks.

    It is used on one thread, with the connection that `connect` makes. `hold` is asked before memories are indexed: a
    process that does not know yet that it lost an assistant must not bring back what was forgotten since. Every method
    raises RecallIndexError when the database cannot be used; each may be called again then, after `open`.
    """

    def __init__(
        self,
        connect: Callable[[], PostgresDatabase],
        language: str,
        hold: Hold = lambda _db, _assistant, ids: frozenset(ids),
    ) -> None:
        self._connect = connect
        self._language = language.casefold()
        self._hold = hold
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

    def state(self, assistant: str) -> tuple[int, int]:
        """Return the number of the last record that was indexed, and the count of deletions it has seen."""
        with self._reading() as db:
            row = db.execute(
                "SELECT seq, deletions FROM recall_assistants WHERE name = ? AND language = ?",
                (assistant, self._language),
            ).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def add(self, assistant: str, rows: Iterable[tuple[int, Memory]]) -> None:
        """Index memories, each with the number of its record; one whose id is known is renewed. All or none."""
        with self._writing() as db:
            tables = self._lock(db, assistant)
            new = list(rows)
            there = self._hold(db, assistant, [memory.id for _, memory in new])
            known = tables.find_known(there)
            for _, memory in new:
                if memory.id in there:
                    tables.put(memory, known, self._language)
            tables.count()
            last = max((seq for seq, _ in new), default=0)
            db.execute("UPDATE recall_assistants SET seq = greatest(seq, ?) WHERE number = ?", (last, tables.number))
        if len(new) >= _MANY:
            with self._reading() as db:
                db.run("ANALYZE (SKIP_LOCKED) recall_lines, recall_passages")

    def remove(self, assistant: str, ids: Iterable[str], deletions: int | None = None) -> None:
        """Remove memories, their vectors, and their words in the neighbourhood of others.

        `deletions` is the count of deletions in the journal after this one.
        """
        with self._writing() as db:
            tables = self._lock(db, assistant)
            tables.remove(tables.find_rows(ids), self._language)
            tables.remove_audiences()
            tables.count()
            if deletions is not None:
                db.execute("UPDATE recall_assistants SET deletions = ? WHERE number = ?", (deletions, tables.number))

    def clear(self, assistant: str) -> None:
        """Remove everything of an assistant."""
        with self._writing() as db:
            self._clear(db, self._lock(db, assistant).number)

    def search(self, assistant: str, query: RecallQuery) -> RecallHits:
        """Return what fits a query and may be heard, best first."""
        with self._reading() as db:
            tables = self._known(db, assistant)
            if tables is None:
                return RecallHits()
            return search_lines(PostgresLists(tables, self._language, self._ones), query)

    def count(self, assistant: str) -> int:
        """Return how many memories of an assistant are indexed."""
        return len(self.ids(assistant))

    def ids(self, assistant: str) -> frozenset[str]:
        """Return the ids of all memories of an assistant that are indexed."""
        with self._reading() as db:
            tables = self._known(db, assistant)
            return list_ids(tables) if tables is not None else frozenset()

    def vectors_missing(self, assistant: str, model: str, limit: int) -> list[tuple[str, str]]:
        """Return the ids and texts (`name: text`, the name in lower case) of memories without a vector, newest first.

        `model` is the one whose vectors are wanted.
        """
        with self._reading() as db:
            tables = self._known(db, assistant)
            return list_without_vector(tables, model, limit) if tables is not None else []

    def put_vectors(self, assistant: str, model: str, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep the vectors of memories, by id. Those of other models go, and so does one whose memory is gone."""
        with self._writing() as db:
            number = self._lock(db, assistant).number
            db.executemany(
                """INSERT INTO recall_vectors (assistant, row, model, audience, signs, numbers)
                SELECT assistant, row, ?, audience, CAST(? AS varbit), ? FROM recall_lines
                WHERE assistant = ? AND id = ?
                ON CONFLICT (assistant, row) DO UPDATE
                SET model = excluded.model, signs = excluded.signs, numbers = excluded.numbers""",
                [
                    (model, f"{one.signs:0{len(one.numbers)}b}", one.numbers.tobytes(), number, memory_id)
                    for memory_id, one in vectors
                    if one.model == model
                ],
            )

    def erase(self) -> None:
        """Leave no byte of what was removed in the files of the tables. See above for what PostgreSQL still keeps.

        Of a table that is busy or too large only the room is freed.
        """
        with self._reading() as db:
            rewrite(db, TABLES)

    def _lock(self, db: Database, assistant: str) -> PostgresTables:
        """Return the tables of an assistant, and let nobody else write to them until the transaction ends.

        What is in another language than the owner's is removed.
        """
        db.execute(
            "INSERT INTO recall_assistants (name, language) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (assistant, self._language),
        )
        query = "SELECT number, language FROM recall_assistants WHERE name = ? FOR UPDATE"
        number, language = db.execute(query, (assistant,)).fetchone()
        if language == self._language:
            return PostgresTables(db, number)
        self._clear(db, number)
        return self._lock(db, assistant)

    def _known(self, db: Database, assistant: str) -> PostgresTables | None:
        row = db.execute(
            "SELECT number FROM recall_assistants WHERE name = ? AND language = ?", (assistant, self._language)
        ).fetchone()
        return None if row is None else PostgresTables(db, row[0])

    def _clear(self, db: Database, number: int) -> None:
        for table in TABLES:
            column = "number" if table == "recall_assistants" else "assistant"
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (number,))

    @contextmanager
    def _reading(self) -> Iterator[PostgresDatabase]:
        if self._db is None:
            raise RecallIndexError("the index of memories is not open")
        with _as_index_errors():
            yield self._db

    @contextmanager
    def _writing(self) -> Iterator[PostgresDatabase]:
        """Write in one transaction."""
        with self._reading() as db:
            db.run("BEGIN")
            try:
                yield db
                db.run("COMMIT")
            except BaseException:
                if not db.is_broken:
                    db.run("ROLLBACK")
                raise


@contextmanager
def _as_index_errors() -> Iterator[None]:
    try:
        yield
    except DATABASE_ERRORS as error:
        raise RecallIndexError(f"the index of memories failed: {error}") from error
