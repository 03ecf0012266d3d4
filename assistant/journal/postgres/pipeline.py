"""Sends the statements of many works to PostgreSQL without waiting for the answers in between. For the writer's thread.

An answer costs a journey to the server and back, and two switches between processes. So works are first done on a
`PostgresPipeline`, in hope: what each of them expects is looked at when all answers are there, before the commit. When
anything is not as expected, an error included, all is rolled back; the caller then does the works one after the other
on a connection that waits, which finds out whose error it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import psycopg

from mud_assistant.assistant.journal.database import FoundRows, PipelinedDatabase, Values
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase, translated
from mud_assistant.assistant.journal.postgres.numbers import Numbers

Work = Callable[["PostgresPipeline"], object]
_rollbacks = count()


class PipelinedRows:
    """The rows of a statement whose answer may not be here yet. Looking at them waits for it. Raises psycopg.Error."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]], arrive: Callable[[], None]) -> None:
        self.cursor = cursor
        self._arrive = arrive

    @property
    def rowcount(self) -> int:
        """How many rows it found or changed."""
        self._arrive()
        return self.cursor.rowcount

    # Any: the values of a row are of the types of its columns.
    def fetchone(self) -> Any:
        """Return the next row, None when there is none."""
        return self.cursor.fetchone()

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        return self.cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows that are left."""
        return iter(self.cursor)


class ManyRows(PipelinedRows):
    """What a statement did that was run several times; only their count can be asked."""

    def __init__(self, parts: Sequence[FoundRows]) -> None:
        self._parts = parts

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        return sum(part.rowcount for part in self._parts)


class PostgresPipeline(PostgresDatabase, PipelinedDatabase):
    """The connection of `db` while it is in psycopg's pipeline mode."""

    def __init__(self, db: PostgresDatabase, numbers: Numbers, pipeline: psycopg.Pipeline) -> None:
        super().__init__(db.connection)
        self._numbers = numbers
        self._pipeline = pipeline
        self._expected: list[tuple[psycopg.Cursor[tuple[Any, ...]], bool]] = []

    def execute(self, sql: str, values: Values = (), /) -> FoundRows:
        """Send one statement. Raises psycopg.Error when the server has refused one by now."""
        return PipelinedRows(self.connection.send(translated(sql), values), self._pipeline.sync)

    def run(self, sql: str) -> None:
        """Send one statement without values. Raises psycopg.Error when the server has refused one by now."""
        self.connection.send(sql)

    def run_for_one(self, sql: str) -> None:
        """Send one statement without values, and expect that it changes a row. Raises as `run` does."""
        self._expected.append((self.connection.send(sql), True))

    def executemany(self, sql: str, rows: Iterable[Values], /) -> FoundRows:
        """Send a statement once for each of these rows. Raises psycopg.Error when the server has refused one by now."""
        # Not psycopg's own, which waits for the answers.
        return ManyRows([self.execute(sql, row) for row in rows])

    def expect(self, rows: FoundRows, *, some: bool) -> None:
        """Say whether a statement finds or changes rows."""
        assert isinstance(rows, PipelinedRows)
        self._expected.append((rows.cursor, some))

    def next_number(self, table: str) -> int:
        """Return a `seq` for a new row, greater than that of every row that the row's assistant has."""
        return self._numbers.take(self, table)

    @property
    def is_as_expected(self) -> bool:
        """Whether all rows are as expected. Ask when all answers are there."""
        return all((cursor.rowcount > 0) == some for cursor, some in self._expected)


def do_at_once(db: PostgresDatabase, numbers: Numbers, count: str, works: Sequence[Work]) -> list[Any] | None:
    """Do these works in a new transaction, begun with `count`, which changes one row; return what each returned.

    The transaction is left open. When anything is not as expected, it is rolled back, and None is returned. Raises
    psycopg.Error when the connection is broken.
    """
    if not works or not psycopg.Pipeline.is_supported():
        return None
    try:
        with db.connection.pipeline() as mode:
            pipeline = PostgresPipeline(db, numbers, mode)
            values, error = _do(pipeline, count, works)
        if error is None and pipeline.is_as_expected:
            return values
    except psycopg.Error:
        if db.is_broken:
            raise
    # psycopg takes the statements after an error for prepared. It forgets them when it sees a ROLLBACK for the first
    # time, so none is written as another before.
    db.run(f"ROLLBACK -- {next(_rollbacks)}")
    return None


def _do(pipeline: PostgresPipeline, count: str, works: Sequence[Work]) -> tuple[list[Any], Exception | None]:
    """Return what the works returned, and what one of them raised: psycopg writes to the log what leaves its block."""
    try:
        pipeline.run("BEGIN")
        pipeline.run_for_one(count)
        return [work(pipeline) for work in works], None
    except Exception as error:  # noqa: BLE001  (done again, and told, by who waits for each answer)
        return [], error
