"""An index on a connection that is overheard, to see where vectors are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assistant.journal.database import FoundRows, Values
from assistant.journal.postgres.connection import JournalConnection, PostgresDatabase, connect
from assistant.memory.recall import RecallHits, RecallQuery, Vector, make_vector
from assistant.memory.recall.postgres.index import PostgresIndex
from tests.assistant.memory.recall.keeping import WHO
from tools.memories import Memory

MODEL = "mini"


class Overheard(PostgresDatabase):
    """A connection that notes what is asked, and how many bytes come back."""

    def __init__(self, connection: JournalConnection) -> None:
        super().__init__(connection)
        self.asked: list[str] = []
        self.bytes = 0

    def execute(self, sql: str, values: Values = (), /) -> FoundRows:
        found = super().execute(sql, values)
        self.asked.append(sql)
        cursor: Any = found
        result = cursor.pgresult
        for row in range(result.ntuples):
            self.bytes += sum(len(result.get_value(row, column) or b"") for column in range(result.nfields))
        return found


class Process:
    """An index as a process has it, on a connection that is overheard."""

    def __init__(self, url: str) -> None:
        self.db: Overheard | None = None
        self._url = url
        self.index = PostgresIndex(self._connect, "english")
        assert self.index.open() == ""

    def _connect(self) -> PostgresDatabase:
        self.db = Overheard(connect(self._url).connection)
        return self.db

    def put(self, *memories: Memory, **vectors: list[float]) -> None:
        """Index memories, and give them their vectors, by id."""
        self.index.add(WHO, enumerate(memories, 1))
        self.index.put_vectors(WHO, MODEL, [(key, given(*numbers)) for key, numbers in vectors.items()])

    def find(self, *numbers: float, hearers: str = "", text: str = "zebra") -> tuple[str, ...]:
        """Return the ids of what means that, nearest first."""
        return search(self.index, given(*numbers), text, hearers).ids

    def uses_pgvector(self, *numbers: float) -> bool:
        """Search, and tell whether the server compared."""
        assert self.db is not None
        self.db.asked.clear()
        self.find(*numbers)
        *_, last = (sql for sql in self.db.asked if "signs #" in sql)
        return ".<=>)" in last


Start = Callable[..., Process]


def given(*numbers: float, model: str = MODEL) -> Vector:
    vector = make_vector(model, numbers)
    assert vector is not None
    return vector


def search(index: Any, vector: Vector, text: str, hearers: str = "") -> RecallHits:
    found: RecallHits = index.search(
        WHO, RecallQuery(text, frozenset(hearers.split()), hearers, 10, 1e6, vector=vector)
    )
    return found
