"""Memories kept in a list and found by shared words: for tests of what uses memories, not of how they are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from mud_assistant.tools.memories import RECALLED, KeptMemory, Memory, Recalled
from mud_assistant.tools.trust import TOP, Audience, may_hear


class ListedMemories:
    """Memories in a list, oldest first; at most `most` of them."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self.kept: list[Memory] = []

    async def keep(self, memory: Memory) -> KeptMemory:
        """Keep a memory; one with the same id only becomes newer. The oldest go when there are too many."""
        known = [one for one in self.kept if one.id == memory.id]
        memory = replace(memory, sources=memory.sources.union(*(one.sources for one in known)))
        self.kept = [*(one for one in self.kept if one.id != memory.id), memory]
        over = len(self.kept) - self._most
        dropped, self.kept = self.kept[: max(0, over)], self.kept[max(0, over) :]
        return KeptMemory(memory, not known, tuple(dropped))

    async def recall(self, query: str, *, hearers: Audience, asker: str = "", limit: int = RECALLED) -> Recalled:
        """Return those that share most words with the query, newest first among equals."""
        wanted = _words(query)
        scored = [(len(wanted & _words(f"{one.name} {one.text}")), one) for one in reversed(self.kept)]
        fitting = [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score or not wanted]
        told = [one for one in fitting if may_hear(one.audience, hearers) and not one.superseded_by]
        theirs = [one for one in fitting if one not in told and may_hear(one.audience, frozenset({asker}))]
        return Recalled(tuple(told[:limit]), len(theirs) if asker else 0)

    async def about(self, principal_id: str) -> Sequence[Memory]:
        """Return what came from this principal or is about them, newest first."""
        return [one for one in reversed(self.kept) if one.is_from(principal_id) or principal_id in one.about]

    async def drop(self, memory_id: str) -> int:
        """Delete a memory and what was made of it."""
        return self._remove(lambda one: one.id == memory_id or memory_id in one.made_of)

    async def forget(self, principal_id: str) -> int:
        """Delete what came from this principal."""
        return self._remove(lambda one: one.is_from(principal_id))

    async def clear(self) -> int:
        """Delete everything."""
        return self._remove(lambda _: True)

    async def supersede(self, old_id: str, new: Memory) -> bool:
        """Keep `new` and mark the old one, which is from the same person unless an operator corrects it."""
        places = [
            at for at, one in enumerate(self.kept) if one.id == old_id and (one.who == new.who or new.authority >= TOP)
        ]
        for at in places:
            self.kept[at] = replace(self.kept[at], superseded_by=new.id)
            await self.keep(new)
        return bool(places)

    def _remove(self, goes: Callable[[Memory], bool]) -> int:
        left = [one for one in self.kept if not goes(one)]
        gone, self.kept = len(self.kept) - len(left), left
        return gone


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))
