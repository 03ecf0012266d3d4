"""Entries of a stream, written without a run."""

from __future__ import annotations

from collections.abc import Sequence

from mud_assistant.assistant.journal import StreamEntry
from mud_assistant.assistant.journal.protocol import StreamChange
from mud_assistant.assistant.journal.tables.lease import Lease
from mud_assistant.assistant.journal.tables.stream import apply, rows_of


async def save_stream(lease: Lease, entries: Sequence[StreamEntry], forget: Sequence[int] = ()) -> tuple[int, ...]:
    """Append the entries in this order and remove those to `forget`, in one write; return the `seq` of each."""
    rows = rows_of(StreamChange(tuple(entries), tuple(forget)))
    return await lease.write(lambda db: apply(db, lease.assistant, rows, forget))
