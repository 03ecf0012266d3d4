"""What a search index of memories does, wherever it keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from assistant.memory.recall.search import RecallHits, RecallQuery
from assistant.memory.recall.vectors import Vector
from tools.memories import Memory


class MemoryIndex(Protocol):
    """The memories of all assistants, as they are searched. Everything blocks, and may raise RecallIndexError.

    It is used on one thread at a time, never on the reactor's.
    """

    def open(self) -> str:
        """Open it, and return what is missing or what was wrong, as a sentence; empty when all is well."""
        ...

    def close(self) -> None:
        """Close it. No effect when it is closed."""
        ...

    def state(self, assistant: str) -> tuple[int, int]:
        """Return the number of the last record that was indexed, and the count of deletions it has seen."""
        ...

    def add(self, assistant: str, rows: Iterable[tuple[int, Memory]]) -> None:
        """Index memories, each with the number of its record; one whose id is known is renewed. All or none."""
        ...

    def remove(self, assistant: str, ids: Iterable[str], deletions: int | None = None) -> None:
        """Remove memories, their vectors, and their words in the neighbourhood of others.

        `deletions` is the count of deletions in the journal after this one. Call `erase` to leave no byte of them.
        """
        ...

    def clear(self, assistant: str) -> None:
        """Remove everything of an assistant. Call `erase` to leave no byte of it."""
        ...

    def search(self, assistant: str, query: RecallQuery) -> RecallHits:
        """Return what fits a query and may be heard, best first."""
        ...

    def count(self, assistant: str) -> int:
        """Return how many memories of an assistant are indexed."""
        ...

    def ids(self, assistant: str) -> frozenset[str]:
        """Return the ids of all memories of an assistant that are indexed."""
        ...

    def vectors_missing(self, assistant: str, model: str, limit: int) -> list[tuple[str, str]]:
        """Return the ids and texts (`name: text`, the name in lower case) of memories without a vector, newest first.

        `model` is the one whose vectors are wanted.
        """
        ...

    def put_vectors(self, assistant: str, model: str, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep the vectors of memories, by id. Those of other models go, and so does one whose memory is gone."""
        ...

    def erase(self) -> None:
        """Leave of what was removed as little as the database can."""
        ...
