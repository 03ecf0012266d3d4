"""Stores which key was given for which server. `key_binding.py` decides by these rows, also after a restart."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from assistant.journal.sqlite.store import Store
from assistant.keys.binding import KeyBinding


class StoredBindings:
    """The stored bindings of all keys. They belong to the process, not to one assistant, so they need no lease."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def remember(self, bindings: Collection[KeyBinding]) -> None:
        """Keep exactly these bindings. One that was kept before keeps its time. Raises JournalUnwritable."""
        wanted, now = frozenset(bindings), self._store.wall()

        def work(db: sqlite3.Connection) -> None:
            for gone in _kept(db) - wanted:
                db.execute("DELETE FROM key_bindings WHERE reference = ? AND origin = ?", (gone.reference, gone.origin))
            rows = [(binding.reference, binding.origin, now) for binding in wanted]
            db.executemany("INSERT OR IGNORE INTO key_bindings VALUES (?, ?, ?)", rows)

        await self._store.write(work)

    async def load(self) -> frozenset[KeyBinding]:
        """Return all remembered bindings. Raises JournalUnreadable."""
        return await self._store.read(_kept)


def _kept(db: sqlite3.Connection) -> frozenset[KeyBinding]:
    return frozenset(KeyBinding(*row) for row in db.execute("SELECT reference, origin FROM key_bindings"))
