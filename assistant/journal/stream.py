"""The perception stream of one assistant as rows, one for each entry: appending costs the entry, not the stream."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.journal.codec import exact_json, parse_json, sealed, unsealed
from assistant.journal.errors import BrokenRecord, NewerRecord
from assistant.journal.lease import Lease
from assistant.journal.shapes import MESSAGES
from llm.messages import Message


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """Something perceived, or one whole step, with the ids of the events in it. `seq` is 0 until it was written."""

    messages: tuple[Message, ...]
    importance: int
    event_ids: tuple[str, ...] = ()
    seq: int = 0


@dataclass(frozen=True, slots=True)
class LoadedStream:
    """The entries kept, oldest first, and how many beside them could not be read."""

    entries: tuple[StreamEntry, ...]
    unreadable: int


class StoredStream:
    """What an assistant remembers having perceived and done. Writes raise Fenced and JournalUnwritable."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    async def save_stream(self, entries: Sequence[StreamEntry], forget: Sequence[int] = ()) -> tuple[int, ...]:
        """The `seq` of each entry, appended in this order; those to `forget`, trimmed since, go with the same write."""
        name = self._lease.assistant
        rows = [
            (name, entry.importance, sealed(exact_json(entry.event_ids)), MESSAGES.encode(entry.messages))
            for entry in entries
        ]

        def work(db: sqlite3.Connection) -> tuple[int, ...]:
            db.executemany("DELETE FROM stream WHERE seq = ? AND assistant = ?", [(seq, name) for seq in forget])
            insert = "INSERT INTO stream (assistant, importance, event_ids, payload) VALUES (?, ?, ?, ?)"
            return tuple(db.execute(insert, row).lastrowid or 0 for row in rows)

        return await self._lease.write(work)

    async def load_stream(self, newest: int = 1000) -> LoadedStream:
        """At most the `newest` entries."""

        def work(db: sqlite3.Connection) -> LoadedStream:
            rows = db.execute(
                "SELECT seq, importance, event_ids, payload FROM stream WHERE assistant = ? ORDER BY seq DESC LIMIT ?",
                (self._lease.assistant, newest),
            ).fetchall()
            entries = [_entry(*row) for row in reversed(rows)]
            readable = tuple(entry for entry in entries if entry is not None)
            return LoadedStream(readable, len(entries) - len(readable))

        return await self._lease.read(work)


def _entry(seq: int, importance: int, event_ids: bytes, record: bytes) -> StreamEntry | None:
    try:
        ids = tuple(parse_json(unsealed(event_ids)))
        return StreamEntry(tuple(MESSAGES.decode(record)), importance, ids, seq)
    except (BrokenRecord, NewerRecord, TypeError):
        return None
