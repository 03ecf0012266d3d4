"""The connection that a work on the journal gets, in SQL that SQLite and PostgreSQL both understand. Pure.

Placeholders are `?`, or `:name` with a mapping. Flags are whole numbers. What the two write differently stands in the
functions here, and what they do differently has a module of its own in `postgres/`.

On PostgreSQL each answer costs a journey to the server and back. So works are first done in a `PipelinedDatabase`,
which sends their statements without waiting for answers. There a work says with `require` what it expects, and goes on
as if it were so. When it is not so, everything is undone, and the works are done again on a connection that waits.
"""

from __future__ import annotations

import json
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, TypeGuard

#: The most values of one statement: psycopg reads one with more than 50 anew each time.
_MOST_VALUES = 48
#: The values of one statement: for `?`, or by name.
Values = Sequence[Any] | Mapping[str, Any]


class FoundRows(Protocol):
    """What a statement found or did."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        ...

    # Any: the values of a row are of the types of its columns.
    def fetchone(self) -> Any:
        """Return the next row, None when there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows that are left."""
        ...


class Database(Protocol):
    """A connection to the tables of the journal. `sqlite3.Connection` is one."""

    def execute(self, sql: str, values: Values = ..., /) -> FoundRows:
        """Run one statement."""
        ...

    def executemany(self, sql: str, rows: Iterable[Values], /) -> FoundRows:
        """Run a statement once for each of these rows."""
        ...


class PipelinedDatabase(Database):
    """A `Database` that sends statements without waiting for answers. Reading their rows is possible, and waits."""

    @abstractmethod
    def expect(self, rows: FoundRows, *, some: bool) -> None:
        """Say whether a statement finds or changes rows. When it is not so, the work is done again elsewhere."""

    @abstractmethod
    def next_number(self, table: str) -> int:
        """Return a `seq` for a new row, greater than that of every row that the row's assistant has."""


class DuplicateKey(Exception):
    """Raised for a row that is there already. SQLite raises its own IntegrityError."""


def is_sqlite(db: Database) -> TypeGuard[sqlite3.Connection]:
    """Tell whether the tables are in SQLite."""
    return isinstance(db, sqlite3.Connection)


def insert(db: Database, sql: str, values: Sequence[Any]) -> int:
    """Insert one row and return its number."""
    if isinstance(db, sqlite3.Connection):
        return db.execute(sql, values).lastrowid or 0
    if isinstance(db, PipelinedDatabase):
        number: int = db.next_number(_table_of(sql))
        db.expect(db.execute(f"{_numbered(sql)} ON CONFLICT DO NOTHING", (number, *values)), some=True)
        return number
    returned: int = db.execute(f"{sql} RETURNING seq", values).fetchone()[0]
    return returned


def insert_all(db: Database, sql: str, rows: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    """Insert rows and return the `seq` of each."""
    if not isinstance(db, PipelinedDatabase):
        return tuple(insert(db, sql, row) for row in rows)
    begin, _, one = _numbered(sql).partition("VALUES ")
    table = _table_of(sql)
    numbered = [(db.next_number(table), *row) for row in rows]
    most = _MOST_VALUES // one.count("?")
    for some in (numbered[at : at + most] for at in range(0, len(rows), most)):
        db.execute(f"{begin}VALUES {', '.join([one] * len(some))}", list(chain.from_iterable(some)))
    return tuple(number for number, *_ in numbered)


def _table_of(sql: str) -> str:
    """Return the table of an INSERT."""
    return sql.split()[2]


def _numbered(sql: str) -> str:
    """Return an INSERT that is given the `seq` as its first value."""
    return sql.replace("(", "(seq, ", 1).replace("VALUES (", "VALUES (?, ", 1)


def delete_all(db: Database, table: str, assistant: str, numbers: Sequence[int]) -> None:
    """Delete the rows of an assistant with these `seq`, as far as they are there."""
    if is_sqlite(db):
        db.executemany(f"DELETE FROM {table} WHERE seq = ? AND assistant = ?", [(one, assistant) for one in numbers])
    elif numbers:
        sql = f"DELETE FROM {table} WHERE seq = ANY(CAST(? AS bigint[])) AND assistant = ?"
        db.execute(sql, (list(numbers), assistant))


def require(db: Database, rows: FoundRows, error: Callable[[], Exception]) -> None:
    """Raise the `error` when a statement changed no row."""
    if isinstance(db, PipelinedDatabase):
        db.expect(rows, some=True)
    elif not rows.rowcount:
        raise error()


def finds_any(db: Database, rows: FoundRows) -> bool:
    """Tell whether a SELECT found a row, which it rarely does."""
    if isinstance(db, PipelinedDatabase):
        db.expect(rows, some=False)
        return False
    return rows.fetchone() is not None


def holds(db: Database, column: str, placeholder: str = "?") -> str:
    """Return SQL that tells whether the bytes of `column` hold the bytes of a placeholder."""
    return f"instr({column}, {placeholder}) > 0" if is_sqlite(db) else f"position({placeholder} IN {column}) > 0"


def listed(db: Database, placeholder: str = "?") -> str:
    """Return SQL of the whole numbers in a placeholder's JSON array, as a table of one column."""
    if is_sqlite(db):
        return f"(SELECT value FROM json_each({placeholder}))"
    return f"(SELECT value::bigint FROM json_array_elements_text(CAST({placeholder} AS json)))"


def listed_texts(db: Database, placeholder: str = "?") -> str:
    """Return SQL of the texts in a placeholder's JSON array, as a table with the column `value`."""
    if is_sqlite(db):
        return f"(SELECT value FROM json_each({placeholder})) AS listed"
    return f"(SELECT value FROM json_array_elements_text(CAST({placeholder} AS json)) AS texts(value)) AS listed"


def among(db: Database, column: str) -> str:
    """Return SQL that tells whether `column` is one of a placeholder's values, which `as_list` gives."""
    return f"{column} IN {listed(db)}" if is_sqlite(db) else f"{column} = ANY(?)"


def as_list(db: Database, values: Iterable[str | int]) -> object:
    """Return whole numbers or texts as the value of one placeholder."""
    return json.dumps(list(values)) if is_sqlite(db) else list(values)


def locking(db: Database) -> str:
    """Return SQL that keeps the rows of a SELECT as they are until the transaction ends. SQLite has one writer."""
    return "" if is_sqlite(db) else " FOR SHARE"


#: This key stands in `meta` until the deleted data is gone from the disk as well.
OWED = "compact"
_PUT = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


def put_meta(db: Database, key: str, value: str) -> None:
    """Write a value down, in place of the one before."""
    db.execute(_PUT, (key, value))


def owe(db: Database) -> None:
    """Request that deleted data is made unreadable, at the next start at the latest. Part of a work that deletes."""
    put_meta(db, OWED, "1")


def is_owed(db: Database) -> bool:
    """Tell whether deleted data is still to be made unreadable."""
    return db.execute("SELECT 1 FROM meta WHERE key = ?", (OWED,)).fetchone() is not None
