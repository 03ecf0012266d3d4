"""Whom an assistant does not heed, as rows."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from assistant.journal.lease import Lease
from assistant.journal.notes import storable
from tools.context import Principal


@dataclass(frozen=True, slots=True)
class Muted:
    """One who is not heeded, by the name he had then; `at` in seconds since 1970."""

    principal_id: str
    name: str
    at: float


class StoredMutes:
    """The mutes of one assistant on disk. Writes raise Fenced and JournalUnwritable."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    async def mute(self, who: Principal) -> bool:
        """Heed him no more; False when he was muted already, and then it stays as it was."""
        row = (self._lease.assistant, who.id, storable(who.name), self._lease.store.wall())
        return await self._lease.write(
            lambda db: db.execute("INSERT OR IGNORE INTO muted VALUES (?, ?, ?, ?)", row).rowcount > 0
        )

    async def unmute(self, principal_id: str) -> bool:
        """Heed him again; False when he was not muted."""
        key = (self._lease.assistant, principal_id)
        return await self._lease.write(
            lambda db: db.execute("DELETE FROM muted WHERE assistant = ? AND principal = ?", key).rowcount > 0
        )

    async def muted(self) -> tuple[Muted, ...]:
        """All who are muted, the latest last."""

        def work(db: sqlite3.Connection) -> tuple[Muted, ...]:
            query = "SELECT principal, name, at FROM muted WHERE assistant = ? ORDER BY at, principal"
            return tuple(Muted(*row) for row in db.execute(query, (self._lease.assistant,)))

        return await self._lease.read(work)
