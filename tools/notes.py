"""The memories of a character by their name of the version before, for tools that use `context.notes`. One release."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from tools.memories import Memories, Memory, MemoryKind, memory_id
from tools.trust import Audience, Principal


class Note(Struct, frozen=True):
    """A memory with the fields that a note had."""

    text: str
    about_id: str
    about_name: str
    at: float
    trust: int = 0
    sources: frozenset[str] = frozenset()
    audience: Audience = frozenset()


class Notes:
    """The methods that notes had, over `memories`. `now` gives seconds since 1970."""

    def __init__(self, memories: Memories, now: Callable[[], float]) -> None:
        self._memories = memories
        self._now = now

    async def add(
        self,
        text: str,
        about: Principal | None = None,
        trust: int = 0,
        *,
        sources: Collection[str] = (),
        audience: Audience = None,
    ) -> Note:
        """Remember `text` as learned from `about` and the `sources`. Raises ToolFailed when it cannot fit."""
        who, name = (about.id, about.name) if about else ("", "")
        kept = await self._memories.keep(
            Memory(
                memory_id(MemoryKind.FACT, who, text, audience),
                text,
                MemoryKind.FACT,
                self._now(),
                who,
                name,
                importance=9,
                authority=trust,
                sources=frozenset(sources) | ({who} if who else frozenset()),
                audience=audience,
            )
        )
        return _note(kept.memory)

    async def search(self, query: str, limit: int = 5, *, about_id: str | None = None) -> Sequence[Note]:
        """Return at most `limit` memories that fit `query` and that `about_id` may be told, best first."""
        hearers = frozenset({about_id} if about_id else ())
        recalled = await self._memories.recall(query, hearers=hearers, limit=limit)
        return [_note(memory) for memory in recalled.memories]

    async def about(self, principal_id: str) -> Sequence[Note]:
        """Return what came from this principal, newest first."""
        return [_note(memory) for memory in await self._memories.about(principal_id)]

    async def forget(self, principal_id: str) -> int:
        """Delete what came from this principal. Return how many there were."""
        return await self._memories.forget(principal_id)


def _note(memory: Memory) -> Note:
    others = memory.sources - {memory.who}
    return Note(memory.text, memory.who, memory.name, memory.at, memory.authority, others, memory.audience)
