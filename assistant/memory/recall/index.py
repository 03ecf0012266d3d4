"""The index of memories: one SQLite file for all assistants of a process, beside the journal.

It is derived from the journal. Whatever is wrong with the file, it is deleted, begun anew and filled again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assistant.journal.files import remove
from assistant.memory.recall.candidates import list_ids, list_without_vector
from assistant.memory.recall.files import NO_FULL_TEXT, connect_file, prepare_file
from assistant.memory.recall.full_text import FullTextLists
from assistant.memory.recall.search import RecallHits, RecallQuery, search_lines
from assistant.memory.recall.tables import EVERYBODY, AssistantTables
from assistant.memory.recall.vectors import SignTable, Vector, read_vector
from assistant.memory.recall.words import ENGLISH
from tools.errors import Away
from tools.memories import Memory
from tools.trust import Audience


class RecallIndexError(Away):
    """Raised when the index cannot be read or written. The caller closes it, deletes the file and fills it anew."""


class RecallIndex:
    """The memories of all assistants of a process, as they are searched. Everything here blocks.

    It is used on one thread at a time, never on the reactor's. `path` is None for an index in memory. `language` is
    the language of the owner. Every method but `open` raises RecallIndexError when the file cannot be used.
    """

    def __init__(
        self,
        path: Path | None,
        language: str = ENGLISH,
        connect: Callable[[Path | None], sqlite3.Connection] = connect_file,
    ) -> None:
        self._path = path
        self._language = language.casefold()
        self._connect = connect
        self._db: sqlite3.Connection | None = None
        self._full_text = True
        self._tables: dict[str, AssistantTables] = {}
        self._signs: dict[str, SignTable] = {}
        self._audiences: dict[Audience, int] = {}

    def open(self) -> str:
        """Open the file, or begin it anew when it is broken, foreign or of a newer version.

        Return what is missing or what was wrong, as a sentence; empty when all is well.
        """
        problem = ""
        try:
            self._begin()
        except sqlite3.Error as error:
            problem = f"The index of memories could not be read ({error}), so it was begun anew."
        if problem:
            problem = self._begin_anew(problem)
        if self._db is not None and not self._full_text:
            return f"{problem} {NO_FULL_TEXT}".strip()
        return problem

    def close(self) -> None:
        """Close the file. No effect when it is closed."""
        db, self._db = self._db, None
        self._tables, self._signs, self._audiences = {}, {}, {}
        if db is not None:
            db.close()

    def delete(self) -> None:
        """Close the index and delete its file. `open` begins it anew."""
        self.close()
        if self._path is not None:
            remove(self._path)

    def state(self, assistant: str) -> tuple[int, int]:
        """Return the number of the last record that was indexed, and the count of deletions it has seen."""
        with self._reading() as db:
            row = db.execute("SELECT seq, deletions FROM assistants WHERE name = ?", (assistant,)).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def add(self, assistant: str, rows: Iterable[tuple[int, Memory]]) -> None:
        """Index memories, each with the number of its record; one whose id is known is renewed. All or none."""
        with self._writing() as db:
            tables = self._tables_of(db, assistant)
            last = 0
            for seq, memory in rows:
                last = max(last, seq)
                audience = self._key_of(db, memory.audience)
                if tables.put(memory, audience) is not None:
                    self._signs.pop(assistant, None)
            db.execute("UPDATE assistants SET seq = MAX(seq, ?) WHERE name = ?", (last, assistant))

    def remove(self, assistant: str, ids: Iterable[str], deletions: int | None = None) -> None:
        """Remove memories, their vectors, and their words in the neighbourhood of others.

        `deletions` is the count of deletions in the journal after this one. Call `erase` to leave no byte of them.
        """
        with self._writing() as db:
            tables = self._tables_of(db, assistant)
            rows = tables.find_rows(ids)
            tables.remove(rows)
            if deletions is not None:
                db.execute("UPDATE assistants SET deletions = ? WHERE name = ?", (deletions, assistant))
            for row in rows if assistant in self._signs else ():
                self._signs[assistant].remove(row)

    def clear(self, assistant: str) -> None:
        """Remove everything of an assistant. Call `erase` to leave no byte of it."""
        with self._writing() as db:
            tables = self._tables_of(db, assistant)
            tables.drop()
            db.execute("DELETE FROM assistants WHERE name = ?", (assistant,))
        self._tables.pop(assistant, None)
        self._signs.pop(assistant, None)

    def search(self, assistant: str, query: RecallQuery) -> RecallHits:
        """Return what fits a query and may be heard, best first."""
        with self._reading() as db:
            tables = self._known_tables(db, assistant)
            if tables is None:
                return RecallHits()
            signs = None if query.vector is None else self._signs_of(tables, assistant, query.vector)
            return search_lines(FullTextLists(tables, self._language, signs), query)

    def count(self, assistant: str) -> int:
        """Return how many memories of an assistant are indexed."""
        with self._reading() as db:
            tables = self._known_tables(db, assistant)
            return 0 if tables is None else int(db.execute(f"SELECT COUNT(*) FROM {tables.lines}").fetchone()[0])

    def ids(self, assistant: str) -> frozenset[str]:
        """Return the ids of all memories of an assistant that are indexed."""
        with self._reading() as db:
            tables = self._known_tables(db, assistant)
            return list_ids(tables) if tables is not None else frozenset()

    def vectors_missing(self, assistant: str, model: str, limit: int) -> list[tuple[str, str]]:
        """Return the ids and texts (`name: text`, the name in lower case) of memories without a vector, newest first.

        `model` is the one whose vectors are wanted.
        """
        with self._reading() as db:
            tables = self._known_tables(db, assistant)
            return list_without_vector(tables, model, limit) if tables is not None else []

    def put_vectors(self, assistant: str, model: str, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep the vectors of memories, by id. Those of other models go, and so does one whose memory is gone."""
        with self._writing() as db:
            tables = self._tables_of(db, assistant)
            signs = self._signs.get(assistant)
            for memory_id, vector in vectors:
                known = db.execute(f"SELECT row, audience FROM {tables.lines} WHERE id = ?", (memory_id,)).fetchone()
                if known is None or vector.model != model:
                    continue
                db.execute(f"DELETE FROM {tables.vectors} WHERE row = ?", (known[0],))
                db.execute(
                    f"INSERT INTO {tables.vectors} (row, model, numbers) VALUES (?, ?, ?)",
                    (known[0], model, vector.numbers.tobytes()),
                )
                if signs is not None and signs.model == model and signs.size == len(vector.numbers):
                    signs.put(known[0], known[1], vector.signs)

    def erase(self) -> None:
        """Write the file anew, so that no byte of what was removed stays in it or beside it."""
        with self._writing() as db:
            names = [name for (name,) in db.execute("SELECT name FROM assistants")]
            used = {EVERYBODY}
            for tables in [self._tables_of(db, name) for name in names]:
                tables.optimize()
                used.update(key for (key,) in db.execute(f"SELECT DISTINCT audience FROM {tables.lines}"))
            keys = [key for (key,) in db.execute("SELECT audience FROM audiences")]
            for key in (key for key in keys if key not in used):
                db.execute("DELETE FROM audiences WHERE audience = ?", (key,))
                db.execute("DELETE FROM audience_members WHERE audience = ?", (key,))
            self._audiences = {}
        with self._reading() as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _begin_anew(self, problem: str) -> str:
        try:
            self.delete()
            self._begin()
        except (OSError, sqlite3.Error) as error:
            self.close()
            return f"There is no index of memories: {error}."
        return problem

    def _begin(self) -> None:
        self.close()
        db = self._db = self._connect(self._path)
        self._full_text = prepare_file(db, self._language)

    def _tables_of(self, db: sqlite3.Connection, assistant: str) -> AssistantTables:
        known = self._known_tables(db, assistant)
        if known is not None:
            return known
        number = db.execute(
            "INSERT INTO assistants (name, language) VALUES (?, ?)", (assistant, self._language)
        ).lastrowid
        tables = AssistantTables(db, number or 0, self._full_text)
        tables.create(self._language)
        self._tables[assistant] = tables
        return tables

    def _known_tables(self, db: sqlite3.Connection, assistant: str) -> AssistantTables | None:
        if assistant not in self._tables:
            row = db.execute("SELECT number FROM assistants WHERE name = ?", (assistant,)).fetchone()
            if row is None:
                return None
            self._tables[assistant] = AssistantTables(db, row[0], self._full_text)
        return self._tables[assistant]

    def _key_of(self, db: sqlite3.Connection, audience: Audience) -> int:
        if audience is None:
            return EVERYBODY
        if audience not in self._audiences:
            members = json.dumps(sorted(audience))
            db.execute("INSERT OR IGNORE INTO audiences (members) VALUES (?)", (members,))
            key = db.execute("SELECT audience FROM audiences WHERE members = ?", (members,)).fetchone()[0]
            db.executemany("INSERT OR IGNORE INTO audience_members VALUES (?, ?)", [(who, key) for who in audience])
            self._audiences[audience] = key
        return self._audiences[audience]

    def _signs_of(self, tables: AssistantTables, assistant: str, like: Vector) -> SignTable:
        known = self._signs.get(assistant)
        if known is None or known.model != like.model or known.size != len(like.numbers):
            known = self._signs[assistant] = SignTable(like.model, len(like.numbers))
            for row, audience, numbers in tables.db.execute(
                f"""SELECT v.row, lines.audience, v.numbers FROM {tables.vectors} AS v
                JOIN {tables.lines} AS lines ON lines.row = v.row WHERE v.model = ? AND length(v.numbers) = ?""",
                (like.model, len(like.numbers)),
            ):
                vector = read_vector(like.model, numbers)
                if vector is not None:
                    known.put(row, audience, vector.signs)
        return known

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if self._db is None:
            raise RecallIndexError("the index of memories is not open")
        try:
            yield self._db
        except sqlite3.Error as error:
            raise RecallIndexError(f"the index of memories failed: {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write in one transaction. What was not committed is forgotten, in memory as well."""
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                self._tables, self._signs, self._audiences = {}, {}, {}
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
