"""Stores whom an assistant has greeted, and when, beside the record of its sleep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.journal.database import Database
from assistant.journal.tables.lease import MemoryRows
from assistant.journal.tables.sleep_state import load_sleep, save_sleep
from assistant.journal.tables.told_topics import StoredTold

#: How many people are kept; those who were greeted longest ago go first.
MAX_GREETED = 1000
_KEY = "greeted"


class StoredGreetings:
    """The people one assistant has greeted, in its rows. Writes raise Fenced and JournalUnwritable."""

    __slots__ = ("_rows",)

    def __init__(self, stored: MemoryRows) -> None:
        self._rows = stored

    @property
    def told(self) -> StoredTold:
        """What the assistant has said of its topics, in the same rows."""
        return StoredTold(self._rows)

    async def last(self, principal_id: str) -> float | None:
        """Return when a person was greeted last, in clock seconds; None for one who never was."""
        whose = self._rows.assistant
        return await self._rows.read(lambda db: _greeted(_kept(db, whose)).get(principal_id))

    async def add(self, principal_id: str, at: float) -> None:
        """Keep that a person was greeted at this time."""
        whose = self._rows.assistant
        await self._rows.write(lambda db: _add(db, whose, principal_id, at))


def forget_greeted(db: Database, assistant: str, principal_id: str) -> None:
    """Remove that a person was greeted."""
    kept = _kept(db, assistant)
    if (greeted := _greeted(kept)).pop(principal_id, None) is not None:
        save_sleep(db, assistant, {**kept, _KEY: greeted})


def _add(db: Database, assistant: str, principal_id: str, at: float) -> None:
    kept = _kept(db, assistant)
    greeted = _greeted(kept)
    greeted[principal_id] = at
    latest = sorted(greeted.items(), key=lambda one: one[1])[-MAX_GREETED:]
    save_sleep(db, assistant, {**kept, _KEY: dict(latest)})


def _kept(db: Database, assistant: str) -> dict[str, Any]:
    kept = load_sleep(db, assistant)
    return dict(kept) if isinstance(kept, Mapping) else {}


def _greeted(kept: Mapping[str, Any]) -> dict[str, float]:
    """Return the times by person; what cannot be read counts as none."""
    known = kept.get(_KEY)
    if not isinstance(known, Mapping):
        return {}
    return {str(who): float(at) for who, at in known.items() if isinstance(at, int | float)}
