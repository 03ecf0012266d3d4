"""Stores the perception stream of one assistant, one row an entry: the cost of appending is that of the new entry."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from assistant.journal.codec import exact_json, parse_json, seal, unseal
from assistant.journal.entries import StreamChange, StreamEntry
from assistant.journal.errors import BrokenRecord, NewerRecord
from assistant.journal.records import MESSAGES
from assistant.journal.tables.lease import Lease
from assistant.journal.tables.older import with_audiences
from tools.trust import Audience

#: How many records of names are cached for the next entries.
_KEPT_RECORDS = 64

#: The values of a new row: importance, event ids, messages, authority, sources, audience.
Row = tuple[int, bytes, bytes, int, bytes, bytes]


@dataclass(frozen=True, slots=True)
class LoadedStream:
    """The readable entries, oldest first, and how many others could not be read."""

    entries: tuple[StreamEntry, ...]
    unreadable: int


class StoredStream:
    """What an assistant remembers of what it perceived and did. Writes raise Fenced and JournalUnwritable."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    async def save_stream(self, entries: Sequence[StreamEntry], forget: Sequence[int] = ()) -> tuple[int, ...]:
        """Append the entries in this order and remove those to `forget`, in one write; return the `seq` of each."""
        change, name = StreamChange(tuple(entries), tuple(forget)), self._lease.assistant
        rows = rows_of(change)
        return await self._lease.write(lambda db: apply(db, name, rows, change.forget))

    async def load_stream(self, newest: int = 1000) -> LoadedStream:
        """Return at most the `newest` entries. Raises JournalUnreadable."""

        def work(db: sqlite3.Connection) -> LoadedStream:
            rows = db.execute(
                """SELECT seq, importance, event_ids, payload, authority, sources, audience FROM stream
                   WHERE assistant = ? ORDER BY seq DESC LIMIT ?""",
                (self._lease.assistant, newest),
            ).fetchall()
            entries = [_entry(row) for row in reversed(rows)]
            readable = tuple(entry for entry in entries if entry is not None)
            old = frozenset(row[0] for row in rows if not row[-1])
            return LoadedStream(with_audiences(readable, old), len(entries) - len(readable))

        return await self._lease.read(work)


def rows_of(change: StreamChange) -> list[Row]:
    """Return the new entries as rows. Pure, for the reactor's thread."""
    return [
        (
            entry.importance,
            _record_of(entry.event_ids),
            MESSAGES.encode(entry.messages),
            entry.authority,
            _record_of(entry.sources),
            _EVERYBODY if entry.audience is None else _audience_record(entry),
        )
        for entry in change.new
    ]


def apply(db: sqlite3.Connection, assistant: str, rows: Sequence[Row], forget: Sequence[int]) -> tuple[int, ...]:
    """Remove the rows to `forget` and append the new ones; return the numbers of the new rows."""
    db.executemany("DELETE FROM stream WHERE seq = ? AND assistant = ?", [(seq, assistant) for seq in forget])
    insert = """INSERT INTO stream (assistant, importance, event_ids, payload, authority, sources, audience)
                VALUES (?, ?, ?, ?, ?, ?, ?)"""
    return tuple(db.execute(insert, (assistant, *row)).lastrowid or 0 for row in rows)


@lru_cache(maxsize=_KEPT_RECORDS)
def _record_of(names: tuple[str, ...]) -> bytes:
    """Return the names as a record. Cached, as mostly there are none, or the same people as a moment ago."""
    return seal(exact_json(names))


def names_in(record: bytes) -> tuple[str, ...]:
    """Return the names in a record of `event_ids` or `sources`. Raises BrokenRecord."""
    return tuple(parse_json(unseal(record)))


def _audience_record(entry: StreamEntry) -> bytes:
    return seal(exact_json([sorted(entry.audience or ()), entry.others_see]))


#: The audience record of an entry that everybody may be told of.
_EVERYBODY = seal(b"[]")


def _entry(row: tuple[int, int, bytes, bytes, int, bytes, bytes]) -> StreamEntry | None:
    """Return the entry of a row, None when it cannot be read.

    An entry of version 2 has no record of its audience; `with_audiences` finds it later.
    """
    seq, importance, event_ids, record, authority, sources, audience = row
    try:
        messages = tuple(MESSAGES.decode(record))
        hearers, others_see = _audience_in(audience)
        names = names_in(event_ids), authority, names_in(sources)
        return StreamEntry(messages, importance, *names, seq, hearers, others_see)
    except (BrokenRecord, NewerRecord, TypeError, ValueError):
        return None


def _audience_in(record: bytes) -> tuple[Audience, str]:
    if not record or record == _EVERYBODY:
        return None, ""
    hearers, others_see = parse_json(unseal(record))
    return frozenset(hearers), str(others_see)
