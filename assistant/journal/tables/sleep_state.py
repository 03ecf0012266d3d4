"""Stores how far an assistant's sleep came, and what else is kept beside it, as one sealed JSON record."""

from __future__ import annotations

from mud_assistant.assistant.journal.codec import exact_json, parse_json, seal, unseal
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import BrokenRecord


def load_sleep(db: Database, assistant: str) -> object:
    """Return what `save_sleep` wrote last, None when there is nothing that can be read."""
    row = db.execute("SELECT sleep FROM memory_state WHERE assistant = ?", (assistant,)).fetchone()
    try:
        return parse_json(unseal(row[0])) if row and row[0] else None
    except BrokenRecord:
        return None


def save_sleep(db: Database, assistant: str, state: object) -> None:
    """Write down how far the assistant's sleep came; `state` is plain JSON."""
    db.execute(
        """INSERT INTO memory_state VALUES (?, 0, ?)
           ON CONFLICT (assistant) DO UPDATE SET sleep = excluded.sleep""",
        (assistant, seal(exact_json(state))),
    )
