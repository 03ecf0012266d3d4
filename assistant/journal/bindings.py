"""Which key was given for which server, as rows: `key_binding.py` decides by them, over restarts."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from assistant.journal.store import Store
from assistant.key_binding import KeyBinding


class StoredBindings:
    """The bindings of all keys. They belong to the process, not to one assistant, so there is no lease on them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def remember(self, bindings: Collection[KeyBinding]) -> None:
        """Keep these, and no others; one that was kept already keeps its time. JournalUnwritable."""
        wanted, now = frozenset(bindings), self._store.wall()

        def work(db: sqlite3.Connection) -> None:
            for gone in _kept(db) - wanted:
                db.execute("DELETE FROM key_bindings WHERE reference = ? AND origin = ?", (gone.reference, gone.origin))
            rows = [(binding.reference, binding.origin, now) for binding in wanted]
            db.executemany("INSERT OR IGNORE INTO key_bindings VALUES (?, ?, ?)", rows)

        await self._store.write(work)

    async def load(self) -> frozenset[KeyBinding]:
        """All that is remembered. JournalUnreadable."""
        return await self._store.read(_kept)


def _kept(db: sqlite3.Connection) -> frozenset[KeyBinding]:
    return frozenset(KeyBinding(*row) for row in db.execute("SELECT reference, origin FROM key_bindings"))
