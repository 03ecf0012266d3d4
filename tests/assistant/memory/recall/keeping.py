"""Memories and indexes to test recall with."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from mud_assistant.assistant.memory.recall import RecallHits, RecallQuery
from mud_assistant.assistant.memory.recall.index import RecallIndex
from mud_assistant.assistant.memory.recall.sqlite.files import connect_file
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.trust import Audience

WHO = "sage"
#: Makes an index that holds some memories of the sage.
Filled = Callable[..., RecallIndex]


def heard(
    memory_id: str,
    who: str,
    text: str,
    *,
    at: float = 0.0,
    audience: Audience = None,
    kind: MemoryKind = MemoryKind.HEARD,
    superseded_by: str = "",
    expires: float | None = None,
) -> Memory:
    """Return a line that somebody said in the inn; without `at` it is at the time of its number (m3: 30 seconds)."""
    when = at or 10.0 * float(memory_id.strip("abcdefghijklmnopqrstuvwxyz") or 0)
    return Memory(
        memory_id, text, kind, when, who, who.title(), place="inn", audience=audience, sources=frozenset({who}),
        superseded_by=superseded_by, expires=expires,
    )  # fmt: skip


def ask(index: RecallIndex, text: str, *hearers: str, limit: int = 5, asker: str = "", now: float = 1e6) -> RecallHits:
    """Ask in the hearing of these; of nobody, as the owner, when there are none."""
    return index.search(WHO, RecallQuery(text, frozenset(hearers), asker, limit, now))


def without_full_text(path: Path | None) -> sqlite3.Connection:
    """Open a database as a SQLite without FTS5 would."""
    db = connect_file(path)

    def decide(action: int, *_: object) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_CREATE_VTABLE else sqlite3.SQLITE_OK

    db.set_authorizer(decide)
    return db
