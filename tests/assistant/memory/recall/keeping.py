"""Memories and indexes to test recall with."""

from __future__ import annotations

from collections.abc import Callable

from assistant.memory.recall import RecallHits, RecallQuery
from assistant.memory.recall.index import RecallIndex
from tools.memories import Memory, MemoryKind
from tools.trust import Audience

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
