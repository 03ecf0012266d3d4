"""Copies the rows of a damaged database into a sound one, skipping what cannot be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.journal.repair.sqlite_format import Pages, Value

#: The most queries for one table; rows not found by then count as unreadable.
MAX_LOOKS = 5000
#: When the table's end is unreadable: how far beyond the last row found to look for rows.
_BEYOND = 10_000
_ALL = 2**62
_TYPES: Mapping[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,)}


class _Table(Struct, frozen=True):
    """A table of the new file. `number` is the index of the column that is the row's number, None without one.

    `defaults` are the defaults of the last columns: a row written before these were added has fewer values in its page.
    """

    name: str
    types: tuple[str, ...]
    needed: tuple[bool, ...]
    defaults: tuple[Value, ...]
    number: int | None
    insert: str

    def takes(self, values: Sequence[object]) -> bool:
        """Tell whether the values can be a row of this table."""
        return len(values) == len(self.types) and all(
            isinstance(value, _TYPES[kind]) if value is not None else not needed
            for value, kind, needed in zip(values, self.types, self.needed, strict=True)
        )

    def row_of(self, rowid: int, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the values of a row in a page as SQLite gives them; empty when they are of another table."""
        missing = len(self.types) - len(values)
        if not 0 <= missing <= len(self.defaults):
            return ()
        values = (*values, *self.defaults[len(self.defaults) - missing :])
        if self.number is None:
            return values
        if values[self.number] is not None:
            return ()
        return (*values[: self.number], rowid, *values[self.number + 1 :])


class Rows:
    """Copies rows into `target` and counts them. The transaction is the caller's."""

    def __init__(self, target: sqlite3.Connection) -> None:
        self._target = target
        self._tables = [_table(target, name) for name in _names(target)]
        self.saved = 0
        #: How many stretches of rows could not be read, or were no rows of their table.
        self.places = 0
        self._looks = 0
        self._last_bad = -2

    def carry_tables(self, source: sqlite3.Connection, tables: Mapping[str, Sequence[str]]) -> None:
        """Copy the rows of all these tables as far as SQLite can read them; `tables` gives the columns of each."""
        for table in self._tables:
            self._carry(source, table, tables[table.name])

    def carry_found(self, pages: Pages) -> None:
        """Copy the rows that are found in the pages and are not in the target yet.

        A page may hold an older form of a row, and the first form copied stays. So forms that are dealt with are copied
        first, and nothing is done again.
        """
        found = list(pages.rows())
        for is_settled in (True, False):
            for row in found:
                for table in self._tables:
                    values = table.row_of(row.rowid, row.values)
                    if table.takes(values) and _is_settled(table.name, values) == is_settled:
                        self.saved += self._insert(table, values)
        self.places += bool(pages.broken)

    def _carry(self, source: sqlite3.Connection, table: _Table, columns: Sequence[str]) -> None:
        """Copy one table, reading ever smaller stretches around what cannot be read."""
        self._looks = 0
        self._last_bad = -2
        read = (
            f"SELECT rowid, {', '.join(columns)} FROM {table.name} NOT INDEXED "  # our own names
            "WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        )
        stack = [(-_ALL, _ALL)]
        while stack:
            low, high = stack.pop()
            reached = self._stretch(source, read, table, low, high)
            if reached is not None:
                high = _end(source, table.name, reached) if high == _ALL else high
                middle = (reached + high) // 2
                stack += [(middle + 1, high), (reached, middle)] if reached < high else [(reached, reached)]

    def _stretch(self, source: sqlite3.Connection, read: str, table: _Table, low: int, high: int) -> int | None:
        """Copy one stretch; return None when it is finished, else the first row number that was not reached."""
        self._looks += 1
        reached = low
        try:
            for rowid, *values in source.execute(read, (low, high)):
                reached = rowid + 1
                if table.takes(values):
                    self.saved += self._insert(table, values)
                else:
                    self._note_bad(rowid)
        except (sqlite3.DatabaseError, UnicodeError):
            if low < high and reached <= high and self._looks < MAX_LOOKS:
                return max(reached, 0)
            self._note_bad(high)
        return None

    def _insert(self, table: _Table, values: Sequence[object]) -> bool:
        try:
            return self._target.execute(table.insert, values).rowcount > 0
        except (sqlite3.IntegrityError, OverflowError, UnicodeError):
            return False

    def _note_bad(self, rowid: int) -> None:
        if rowid != self._last_bad + 1:
            self.places += 1
        self._last_bad = rowid


def _names(db: sqlite3.Connection) -> list[str]:
    rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [name for (name,) in rows]


def _table(db: sqlite3.Connection, name: str) -> _Table:
    columns = db.execute(f"PRAGMA table_info({name})").fetchall()
    keys = [place for place, column in enumerate(columns) if column[5]]
    number = keys[0] if len(keys) == 1 and columns[keys[0]][2] == "INTEGER" else None
    return _Table(
        name,
        tuple(column[2] for column in columns),
        tuple(bool(column[3]) for column in columns),
        tuple(db.execute(f"SELECT {column[4]}").fetchone()[0] for column in columns[_first_default(columns) :]),
        number,
        f"INSERT OR IGNORE INTO {name} VALUES ({', '.join('?' * len(columns))})",  # our own names
    )


def _first_default(columns: Sequence[tuple[Any, ...]]) -> int:
    """Return the index of the first column from which on all columns have a default."""
    return max((place + 1 for place, column in enumerate(columns) if column[4] is None), default=0)


def _is_settled(table: str, values: Sequence[Value]) -> bool:
    """Tell whether the row is of something finished: a closed run, a goal that ended, an event that is not pending."""
    if table == "runs":
        return values[4] is not None
    if table == "goals":
        return values[4] != "open"
    return table != "events" or values[8] != "pending"


def _end(source: sqlite3.Connection, table: str, reached: int) -> int:
    """Return the last row number worth looking for."""
    for statement in (
        f"SELECT max(rowid) FROM {table} NOT INDEXED",  # our own names
        f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'",
    ):
        try:
            row = source.execute(statement).fetchone()
        except (sqlite3.DatabaseError, UnicodeError):
            continue
        if row is not None and isinstance(row[0], int):
            return max(reached, min(row[0], reached + 100 * _BEYOND))
    return reached + _BEYOND
