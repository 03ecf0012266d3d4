"""Stores the players that an assistant does not hear."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.tables.lease import MemoryRows
from mud_assistant.assistant.journal.tables.memory_row import storable
from mud_assistant.tools.trust import Principal


class Muted(Struct, frozen=True):
    """A muted player, with the name they had when they were muted; `at` is in seconds since 1970."""

    principal_id: str
    name: str
    at: float


class StoredMutes:
    """The players that one assistant does not hear. Writes raise Fenced and JournalUnwritable.

    `wall` gives seconds since 1970.
    """

    __slots__ = ("_rows", "_wall")

    def __init__(self, stored: MemoryRows, wall: Callable[[], float]) -> None:
        self._rows = stored
        self._wall = wall

    async def mute(self, who: Principal) -> bool:
        """Mute a player. Return False, and change nothing, when they were already muted."""
        row = (self._rows.assistant, who.id, storable(who.name), self._wall())
        return await self._rows.write(
            lambda db: db.execute("INSERT INTO muted VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row).rowcount > 0
        )

    async def unmute(self, principal_id: str) -> bool:
        """End the mute of a player. Return False when they were not muted."""
        key = (self._rows.assistant, principal_id)
        return await self._rows.write(
            lambda db: db.execute("DELETE FROM muted WHERE assistant = ? AND principal = ?", key).rowcount > 0
        )

    async def muted(self) -> tuple[Muted, ...]:
        """Return all muted players, the latest last."""

        def work(db: Database) -> tuple[Muted, ...]:
            query = "SELECT principal, name, at FROM muted WHERE assistant = ? ORDER BY at, principal"
            return tuple(Muted(*row) for row in db.execute(query, (self._rows.assistant,)))

        return await self._rows.read(work)
