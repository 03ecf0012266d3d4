"""Works with the index of memories that is in PostgreSQL, on a connection and a thread of its own.

It is in the database of the journal, so an assistant that moves to another process finds its memories there at once. A
long search holds up no commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from assistant.journal.database import Database
from assistant.journal.postgres.connection import PostgresDatabase
from assistant.memory.recall.index import RecallIndex, RecallIndexError
from assistant.memory.recall.postgres.index import PostgresIndex
from assistant.memory.recall_file import RecallThread
from resilience.background import FromThread

T = TypeVar("T")


class RecallPostgres(RecallThread):
    """The index in the database that `connect` connects to: that of the journal. `language` is the owner's."""

    def __init__(self, connect: Callable[[], PostgresDatabase], reactor: FromThread, language: str) -> None:
        super().__init__(PostgresIndex(connect, language, _hold), reactor)

    def _recover(self, work: Callable[[RecallIndex], T], broken: RecallIndexError) -> T:
        """Connect anew, and do the work once more: it may have been done, and nothing is the worse for it."""
        self._is_open = False
        self._open()
        return work(self._index)


def _hold(db: Database, assistant: str, ids: Sequence[str]) -> Collection[str]:
    """Return which of these memories the journal has, and keep them there until the transaction ends."""
    found = db.execute(
        "SELECT id FROM memories WHERE assistant = ? AND id = ANY(?) ORDER BY id FOR KEY SHARE", (assistant, list(ids))
    )
    return {each for (each,) in found}
