"""What was spent today, as rows: the budget ledger's export, so that a restart does not give the day's money twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from assistant.journal.store import Store


class StoredUsage:
    """The ledger's memory. It belongs to the process, not to one assistant, so there is no lease on it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def save_usage(self, exported: Mapping[str, Any]) -> None:
        """Keep what `Ledger.export` gave, in place of what was kept of that day."""
        day = exported["day"]
        rows = [
            (day, account, spent["calls"], spent["tokens"], float(spent["money"]))
            for account, spent in exported["spent"].items()
        ]

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM usage WHERE day = ?", (day,))
            db.executemany("INSERT INTO usage VALUES (?, ?, ?, ?, ?)", rows)

        await self._store.write(work)

    async def load_usage(self) -> dict[str, Any] | None:
        """The newest day kept, for `Ledger.restore`; None when none is."""

        def work(db: sqlite3.Connection) -> dict[str, Any] | None:
            day = db.execute("SELECT max(day) FROM usage").fetchone()[0]
            if day is None:
                return None
            rows = db.execute("SELECT account, calls, tokens, money FROM usage WHERE day = ?", (day,))
            spent = {
                account: {"calls": calls, "tokens": tokens, "money": money} for account, calls, tokens, money in rows
            }
            return {"day": day, "spent": spent}

        return await self._store.read(work)
