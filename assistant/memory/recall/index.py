"""The index of memories: what it does, wherever it keeps them. `sqlite/` and `postgres/` say what differs there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.memory.recall.candidates import CandidateLists, list_ids, list_without_vector
from mud_assistant.assistant.memory.recall.search import RecallHits, RecallQuery, search_lines
from mud_assistant.assistant.memory.recall.tables import LineTables
from mud_assistant.assistant.memory.recall.vectors import Vector
from mud_assistant.tools.errors import Away
from mud_assistant.tools.memories import Memory

#: Tells which of some memories of an assistant are there still, and keeps them until the transaction ends.
Hold = Callable[[Database, str, Sequence[str]], Collection[str]]


def hold_all(_db: Database, _assistant: str, ids: Sequence[str]) -> Collection[str]:
    """Return all of them: nobody removes memories meanwhile."""
    return frozenset(ids)


class RecallIndexError(Away):
    """Raised when the index cannot be read or written."""


class RecallIndex(ABC):
    """The memories of all assistants, as they are searched. Everything blocks, and may raise RecallIndexError.

    It is used on one thread at a time, never on the reactor's. `language` is that of the owner. `hold` is asked before
    memories are indexed.
    """

    #: The table of the assistants, what begins a transaction, and what keeps a row until its end.
    _ASSISTANTS: ClassVar[str]
    _BEGIN: ClassVar[str]
    _LOCKING: ClassVar[str]

    def __init__(self, language: str, hold: Hold) -> None:
        self._language = language.casefold()
        self._hold = hold

    @abstractmethod
    def open(self) -> str:
        """Open it, and return what is missing or what was wrong, as a sentence; empty when all is well."""

    @abstractmethod
    def close(self) -> None:
        """Close it. No effect when it is closed."""

    @abstractmethod
    def erase(self) -> None:
        """Leave of what was removed as little as the database can."""

    def state(self, assistant: str) -> tuple[int, int]:
        """Return the number of the last record that was indexed, and the count of deletions it has seen."""
        with self._reading() as db:
            row = self._find(db, "seq, deletions", assistant)
        return (row[0], row[1]) if row else (0, 0)

    def add(self, assistant: str, rows: Iterable[tuple[int, Memory]]) -> None:
        """Index memories, each with the number of its record; one whose id is known is renewed. All or none."""
        with self._writing() as db:
            tables, new = self._lock(db, assistant), list(rows)
            there = self._hold(db, assistant, [memory.id for _, memory in new])
            tables.put([memory for _, memory in new if memory.id in there])
            last = max((seq for seq, _ in new), default=0)
            db.execute(
                f"UPDATE {self._ASSISTANTS} SET seq = ? WHERE number = ? AND seq < ?", (last, tables.number, last)
            )

    def remove(self, assistant: str, ids: Iterable[str], deletions: int | None = None) -> None:
        """Remove memories, their vectors, and their words in the neighbourhood of others.

        `deletions` is the count of deletions in the journal after this one. Call `erase` to leave no byte of them.
        """
        with self._writing() as db:
            tables = self._lock(db, assistant)
            tables.remove(tables.find_rows(ids))
            if deletions is not None:
                db.execute(f"UPDATE {self._ASSISTANTS} SET deletions = ? WHERE number = ?", (deletions, tables.number))

    def clear(self, assistant: str) -> None:
        """Remove everything of an assistant. Call `erase` to leave no byte of it."""
        with self._writing() as db:
            self._clear(db, self._lock(db, assistant))

    def search(self, assistant: str, query: RecallQuery) -> RecallHits:
        """Return what fits a query and may be heard, best first."""
        with self._reading() as db:
            number = self._number_of(db, assistant)
            return RecallHits() if number is None else search_lines(self._lists(db, number), query)

    def ids(self, assistant: str) -> frozenset[str]:
        """Return the ids of all memories of an assistant that are indexed."""
        with self._reading() as db:
            number = self._number_of(db, assistant)
            return frozenset() if number is None else list_ids(self._tables(db, number))

    def vectors_missing(self, assistant: str, model: str, limit: int) -> list[tuple[str, str]]:
        """Return the ids and texts (`name: text`, the name in lower case) of memories without a vector, newest first.

        `model` is the one whose vectors are wanted.
        """
        with self._reading() as db:
            number = self._number_of(db, assistant)
            return [] if number is None else list_without_vector(self._tables(db, number), model, limit)

    def put_vectors(self, assistant: str, model: str, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep the vectors of memories, by id. Those of other models go, and so does one whose memory is gone."""
        with self._writing() as db:
            self._lock(db, assistant).put_vectors(model, [one for one in vectors if one[1].model == model])

    @abstractmethod
    def _tables(self, db: Database, number: int) -> LineTables:
        """Return the tables of the assistant with this number."""

    @abstractmethod
    def _lists(self, db: Database, number: int) -> CandidateLists:
        """Return the lines of the assistant with this number, to search in."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Database]:
        """Return the connection, whose errors become RecallIndexErrors in the block."""

    @abstractmethod
    def _undo(self, db: Database) -> None:
        """End a transaction without what it wrote, and forget what was known of that."""

    def _number_of(self, db: Database, assistant: str) -> int | None:
        row = self._find(db, "number", assistant)
        return None if row is None else int(row[0])

    # Any: the values of a row are of the types of its columns.
    def _find(self, db: Database, columns: str, assistant: str) -> Any:
        """Return these columns of an assistant whose memories are in the owner's language, None where it has none."""
        query = f"SELECT {columns} FROM {self._ASSISTANTS} WHERE name = ? AND language = ?"
        return db.execute(query, (assistant, self._language)).fetchone()

    def _lock(self, db: Database, assistant: str) -> LineTables:
        """Return the tables of an assistant, new ones where it has none; nobody else writes to them meanwhile.

        What is in another language than the owner's is removed.
        """
        query = f"SELECT number, language FROM {self._ASSISTANTS} WHERE name = ?{self._LOCKING}"
        found = db.execute(query, (assistant,)).fetchone()
        if found is None:
            db.execute(
                f"INSERT INTO {self._ASSISTANTS} (name, language) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (assistant, self._language),
            )
            tables = self._tables(db, db.execute(query, (assistant,)).fetchone()[0])
            tables.create()
            return tables
        tables = self._tables(db, found[0])
        if found[1] == self._language:
            return tables
        self._clear(db, tables)
        return self._lock(db, assistant)

    def _clear(self, db: Database, tables: LineTables) -> None:
        tables.drop()
        db.execute(f"DELETE FROM {self._ASSISTANTS} WHERE number = ?", (tables.number,))

    @contextmanager
    def _writing(self) -> Iterator[Database]:
        """Write in one transaction."""
        with self._reading() as db:
            db.execute(self._BEGIN)
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                self._undo(db)
                raise
