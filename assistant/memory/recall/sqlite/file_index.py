"""The index of memories in SQLite: one file for all assistants of a process, beside the journal, or one in memory.

It is derived from the journal. Whatever is wrong with the file, it is deleted, begun anew and filled again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.files import remove
from mud_assistant.assistant.memory.recall.index import RecallIndex, RecallIndexError, hold_all
from mud_assistant.assistant.memory.recall.sqlite.file_tables import FileKnowledge, FileTables
from mud_assistant.assistant.memory.recall.sqlite.files import NO_FULL_TEXT, connect_file, prepare_file
from mud_assistant.assistant.memory.recall.sqlite.full_text import FullTextLists
from mud_assistant.assistant.memory.recall.tables import EVERYBODY
from mud_assistant.assistant.memory.recall.words import ENGLISH


class SqliteIndex(RecallIndex):
    """The memories of all assistants of a process. `path` is None for an index in memory.

    Who meets a RecallIndexError closes it, deletes the file and fills it anew.
    """

    _ASSISTANTS, _BEGIN, _LOCKING = "assistants", "BEGIN IMMEDIATE", ""

    def __init__(
        self,
        path: Path | None,
        language: str = ENGLISH,
        connect: Callable[[Path | None], sqlite3.Connection] = connect_file,
    ) -> None:
        super().__init__(language, hold_all)
        self._path = path
        self._connect = connect
        self._db: sqlite3.Connection | None = None
        self._full_text = True
        self._known = FileKnowledge()

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
        self._known.forget()
        if db is not None:
            db.close()

    def delete(self) -> None:
        """Close the index and delete its file. `open` begins it anew."""
        self.close()
        if self._path is not None:
            remove(self._path)

    def erase(self) -> None:
        """Write the file anew, so that no byte of what was removed stays in it or beside it."""
        with self._writing() as db:
            numbers = [number for (number,) in db.execute("SELECT number FROM assistants")]
            used = {EVERYBODY}
            for tables in [self._tables(db, number) for number in numbers]:
                tables.optimize()
                used.update(key for (key,) in db.execute(f"SELECT DISTINCT audience FROM {tables.lines}"))
            keys = [key for (key,) in db.execute("SELECT audience FROM audiences")]
            for key in (key for key in keys if key not in used):
                db.execute("DELETE FROM audiences WHERE audience = ?", (key,))
                db.execute("DELETE FROM audience_members WHERE audience = ?", (key,))
            self._known.audiences.clear()
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

    def _tables(self, db: Database, number: int) -> FileTables:
        return FileTables(db, number, self._language, self._full_text, self._known)

    def _lists(self, db: Database, number: int) -> FullTextLists:
        return FullTextLists(self._tables(db, number))

    @contextmanager
    def _reading(self) -> Iterator[Database]:
        if self._db is None:
            raise RecallIndexError("the index of memories is not open")
        try:
            yield self._db
        except sqlite3.Error as error:
            raise RecallIndexError(f"the index of memories failed: {error}") from error

    def _undo(self, db: Database) -> None:
        self._known.forget()
        if self._db is not None and self._db.in_transaction:
            db.execute("ROLLBACK")
