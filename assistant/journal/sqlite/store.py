"""The journal in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.files import compact_file
from mud_assistant.assistant.journal.schema import SCHEMA, Schema
from mud_assistant.assistant.journal.sqlite.earlier_copy import drop_copies
from mud_assistant.assistant.journal.sqlite.writer import Writer
from mud_assistant.assistant.journal.store import Job, JournalStore

_NEXT = """SELECT max(coalesce((SELECT token FROM leases WHERE assistant = ?), 0),
                            coalesce((SELECT max(token) FROM runs WHERE assistant = ?), 0)) + 1"""


def _nobody(_: str) -> None:
    """Ignore a trouble: the default of `on_trouble`."""


class Store(JournalStore):
    """The journal's file at `path`. Who starts an assistant takes it from the process that had it."""

    def __init__(
        self,
        path: Path,
        reactor: IReactorFromThreads,
        wall: Callable[[], float],
        schema: Schema = SCHEMA,
        *,
        on_trouble: Callable[[str], None] = _nobody,
    ) -> None:
        self.path = path
        self._schema = schema
        super().__init__(reactor, wall, on_trouble)

    def _make_writer(self) -> Writer:
        return Writer(self.path, self._schema, self.wall, self._tell)

    @property
    def place(self) -> Path:
        """The file."""
        return self.path

    def take_lease(self, db: Database, assistant: str) -> int:
        """Write down the next token of an assistant and return it. Part of a work."""
        token: int = db.execute(_NEXT, (assistant, assistant)).fetchone()[0]
        db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (assistant, token, self.wall()))
        return token

    def token_of(self, db: Database, assistant: str) -> int:
        """Return the token that may write for an assistant, 0 when there is none. Part of a work."""
        row = db.execute("SELECT token FROM leases WHERE assistant = ?", (assistant,)).fetchone()
        return row[0] if row else 0

    def compact(self) -> Deferred[bool]:
        """Rewrite the file, so that no deleted data is left in it or its log. Raises JournalUnwritable.

        Copies of the file as it was before its tables were changed go. Return False when deleted data is left, for
        example as another process reads the log. The writer does nothing else meanwhile.
        """
        return self._put(Job(self._compact, writes=False, alone=True))

    def _compact(self, db: Database) -> bool:
        return drop_copies(self.path) & compact_file(cast(sqlite3.Connection, db))
