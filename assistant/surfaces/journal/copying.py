"""Copies a whole journal from one place to another: from a file into a database, back, or to a new one. Blocks.

The copy has the same rows, bytes and numbers, but for two things. The token of each lease is one higher, so that a
process that still has the old one is not taken for the one that goes on. And where the target is PostgreSQL, whose text
has no NUL, each NUL in a text is replaced by U+FFFD. Records are bytes and stay as they are.

It is one transaction on the target. Before its end every row is read back, and compared with what was read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.journal.database import Database, is_sqlite
from mud_assistant.assistant.journal.errors import CannotCopy, CannotRead, cause_of
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.journal.schema import SCHEMA, version_of
from mud_assistant.assistant.journal.sqlite import copying as in_file

Row = tuple[Any, ...]
#: Keys of `meta` that are of one place: those of a file, and the version of the tables of a database.
OF_ONE_PLACE = ("what", "id", "writes", "opened", "salvage", "schema version")
#: How much is read at once: rows at most, and about so many bytes.
SLICE_ROWS, SLICE_BYTES = 1000, 4 * 1024 * 1024
_NUL, _IN_PLACE_OF_NUL = "\0", "\ufffd"
_DIGEST_BYTES = 16


class CopiedTable(Struct, frozen=True):
    """A table of a copy: how many rows it has, and a checksum over all of them, in any order."""

    name: str
    rows: int
    checksum: str


class CopiedJournal(Struct, frozen=True):
    """A copy that is complete. `changed` counts the texts in which a NUL was replaced."""

    tables: tuple[CopiedTable, ...]
    changed: int


def copy_journal(
    source: JournalPlace,
    target: JournalPlace,
    now: float,
    on_progress: Callable[[str, int, int], None] = lambda *_: None,
    *,
    in_use: bool = False,
) -> CopiedJournal:
    """Copy the journal at `source` to `target`, where there must be none. Raises CannotCopy and CannotRead.

    With `in_use` it is copied as it is at one moment, while others go on writing it: for a backup.
    `now` is in seconds since 1970. `on_progress` is called with a table, and the rows and bytes of it so far.
    """
    try:
        with ExitStack() as stack:
            found = stack.enter_context(_opened(source, now, in_use=in_use))
            copy = stack.enter_context(_empty(target))
            return _Copying(found, copy, on_progress).run()
    except sqlite3.Error as error:
        raise CannotRead(f"{source} cannot be read: {cause_of(error)}") from error


class _Copying:
    """One copy, in open transactions."""

    def __init__(self, source: Database, target: Database, on_progress: Callable[[str, int, int], None]) -> None:
        self._source, self._target, self._on_progress = source, target, on_progress
        self._keeps_nul = is_sqlite(target)
        self._changed = 0

    def run(self) -> CopiedJournal:
        """Copy all tables, and compare."""
        tables = SCHEMA.tables()
        copied = [self._copy(table, columns) for table, columns in tables.items()]
        for (table, columns), wanted in zip(tables.items(), copied, strict=True):
            if (there := self._summed_up(table, columns)) != wanted:
                raise CannotCopy(
                    f"the copy of the table {table} is not what was read ({wanted.rows} rows, {there.rows} there): "
                    "nothing was changed at the target"
                )
            if "seq" in columns:
                _set_last_number(self._target, table, _last_number(self._source, table))
        return CopiedJournal(tuple(copied), self._changed)

    def _copy(self, table: str, columns: Sequence[str]) -> CopiedTable:
        marks = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        summing, size = _Sum(), 0
        for rows in _slices(self._source, table, columns):
            changed = [self._as_copied(table, row) for row in rows]
            self._target.executemany(insert, changed)
            summing.add(changed)
            size += sum(map(_size, changed))
            self._on_progress(table, summing.rows, size)
        return summing.of(table)

    def _as_copied(self, table: str, row: Row) -> Row:
        if table == "leases":
            assistant, token, *rest = row
            row = (assistant, token + 1, *rest)
        if self._keeps_nul or not any(isinstance(value, str) and _NUL in value for value in row):
            return row
        self._changed += sum(isinstance(value, str) and _NUL in value for value in row)
        return tuple(value.replace(_NUL, _IN_PLACE_OF_NUL) if isinstance(value, str) else value for value in row)

    def _summed_up(self, table: str, columns: Sequence[str]) -> CopiedTable:
        summing = _Sum()
        for rows in _slices(self._target, table, columns):
            summing.add(rows)
        return summing.of(table)


class _Sum:
    """A checksum that does not depend on the order of rows, which databases sort differently."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows."""
        self.rows += len(rows)
        self._sum += sum(int.from_bytes(_digest(row)) for row in rows)

    def of(self, table: str) -> CopiedTable:
        """Return the sum as that of a table."""
        return CopiedTable(table, self.rows, f"{self._sum % 2 ** (8 * _DIGEST_BYTES):0{2 * _DIGEST_BYTES}x}")


def _digest(row: Row) -> bytes:
    """Return a checksum of the values and their types."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for value in row:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(f"{type(value).__name__} {len(data)} ".encode())
        digest.update(data)
    return digest.digest()


def _size(row: Row) -> int:
    """Return about how many bytes the row takes."""
    return sum(len(value) if isinstance(value, bytes | str) else 8 for value in row)


def _slices(db: Database, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
    """Yield the rows of a table in slices, without ever holding the whole table."""
    left_out = f" WHERE key NOT IN {OF_ONE_PLACE}" if table == "meta" else ""
    select = f"SELECT {', '.join(columns)} FROM {table}{left_out}"
    if is_sqlite(db):
        yield from _fetched(db.execute(select).fetchmany)
        return
    db.execute(f"DECLARE copying NO SCROLL CURSOR FOR {select}")
    yield from _fetched(lambda count: db.execute(f"FETCH FORWARD {count} FROM copying").fetchall())
    db.execute("CLOSE copying")


def _fetched(fetch: Callable[[int], list[Row]]) -> Iterator[list[Row]]:
    count = 1
    while rows := fetch(count):
        yield rows
        each = max(1, sum(map(_size, rows)) // len(rows))
        count = max(1, min(SLICE_ROWS, 4 * count, SLICE_BYTES // each))


@contextmanager
def _opened(place: JournalPlace, now: float, *, in_use: bool) -> Iterator[Database]:
    """Return the source, as it is at one moment. Raises CannotCopy for one that is in use, damaged or older."""
    if not in_use and not isinstance(place, PostgresPlace) and in_file.is_open_elsewhere(place):
        raise CannotCopy(f"{place} is in use: stop the program that writes it, then copy it")
    with open_for_reading(place, now) as found:
        db = found.db
        if found.damage:
            raise CannotCopy(f"{place} cannot be copied: {found.damage}; {found.remedy}")
        if is_sqlite(db):
            if (version := version_of(db)) != SCHEMA.version:
                raise CannotCopy(
                    f"{place} is of version {version}, and this program copies version {SCHEMA.version}: open it once "
                    "with mud-assistant serve or trial, which brings it up to date"
                )
        elif not in_use:
            _check_is_free(db, place)
        yield db


def _check_is_free(db: Database, place: JournalPlace) -> None:
    from mud_assistant.assistant.journal.postgres.sharing.watch import current_holders  # noqa: PLC0415  (only where one is named)

    if names := sorted({process for _, process, *_ in current_holders(db)}):
        raise CannotCopy(f"{place} is in use by {', '.join(names)}: stop it; after a crash wait 15 seconds")


def _empty(place: JournalPlace) -> AbstractContextManager[Database]:
    """Return the target, in a transaction."""
    if not isinstance(place, PostgresPlace):
        return in_file.new_file(place)
    try:
        from mud_assistant.assistant.journal.postgres.copying import empty_database  # noqa: PLC0415  (only where one is named)
    except ImportError as error:
        from mud_assistant.assistant.journal.postgres.refusals import NO_DRIVER  # noqa: PLC0415  (the same)

        raise CannotCopy(NO_DRIVER) from error
    return empty_database(place)


def _last_number(db: Database, table: str) -> int:
    if is_sqlite(db):
        return in_file.last_number(db, table)
    from mud_assistant.assistant.journal.postgres import copying  # noqa: PLC0415  (only where one is named)

    return copying.last_number(db, table)


def _set_last_number(db: Database, table: str, number: int) -> None:
    if not number:
        return
    if is_sqlite(db):
        in_file.set_last_number(db, table, number)
        return
    from mud_assistant.assistant.journal.postgres import copying  # noqa: PLC0415  (only where one is named)

    copying.set_last_number(db, table, number)
