"""The rights of a player towards an assistant: to see what it remembers of them, to be muted, to be forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.journal import Cleared, Forgotten, Muted, StoredMutes
from mud_assistant.assistant.journal.tables.memories import SHOWN
from mud_assistant.assistant.memory.acquaintance.known_people import Acquaintance, FoundPeople, KnownPeople
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.tools import Memories, Memory, Principal
from mud_assistant.tools.trust import may_hear


class Remembered(Struct, frozen=True):
    """An assistant's memory of a player: what came from them or is about them, newest first.

    `entries` is how many entries of its stream name them, `met` what it knows of their visits, None for nothing.
    """

    memories: tuple[Memory, ...]
    entries: int
    met: Acquaintance | None = None


#: Shared by all assistants: most of them have muted no player.
_NOBODY: frozenset[str] = frozenset()


class Past(Protocol):
    """The records about players and what they said."""

    def forget_player(self, who_id: str) -> Awaitable[Forgotten]:
        """Delete the records about a player, all or none, and return how much was deleted."""
        ...

    def clear_mind(self, *, memories: bool) -> Awaitable[Cleared]:
        """Delete the records of what the assistant has in mind, with its memories if told to."""
        ...

    def forget_event(self, event_id: str, memory_id: str) -> Awaitable[int]:
        """Delete the records about one thing that was said or done, with its memory, all or none.

        Return how many memories were deleted.
        """
        ...


class Rights:
    """The rights of players towards one assistant. The composition root calls these for a player's own command."""

    def __init__(
        self, history: History, memories: Memories, mutes: StoredMutes, past: Past, people: KnownPeople | None = None
    ) -> None:
        self._history = history
        self._people = people
        self._memories = memories
        self._mutes = mutes
        self._past = past
        #: The ids of the muted players. `load` fills it.
        self.muted = _NOBODY

    async def load(self) -> None:
        """Read the players who were muted before."""
        self.muted = frozenset(muted.principal_id for muted in await self._mutes.muted()) or _NOBODY

    async def list_muted(self) -> Sequence[Muted]:
        """Return the muted players. Raises JournalError."""
        return await self._mutes.muted()

    async def see(self, who: Principal) -> Remembered:
        """Return what is remembered of a player, without what others told in private."""
        told = frozenset({who.id})
        known = await self._memories.about(who.id)
        found = await self._people.find(who.id) if self._people is not None else FoundPeople()
        return Remembered(
            tuple(memory for memory in known if may_hear(memory.audience, told)),
            self._history.naming(who.id),
            found.asker,
        )

    async def knows(self, who: Principal) -> bool:
        """Tell whether anything is remembered of a principal."""
        return self._history.naming(who.id) > 0 or bool(await self._memories.about(who.id))

    async def drop(self, who: Principal, memory_id: str) -> int:
        """Delete one memory that the player may see, with its line and what was derived from it. Return how many.

        Do not call it during a run (`Assistant.drop` waits for its end).
        """
        meant = [memory for memory in (await self.see(who)).memories if memory.id == memory_id]
        if not meant:
            return 0
        derived = [memory for memory in await self._memories.about(who.id) if memory_id in memory.made_of]
        event = meant[0].event
        shown = (SHOWN + memory.id for memory in (*meant, *derived))
        self._history.forget_events(frozenset(filter(None, (event, *shown))))
        dropped = await self._past.forget_event(event, memory_id)
        return dropped + await self._memories.drop(memory_id)

    async def mute(self, who: Principal) -> None:
        """Stop hearing a player, and remember nothing they say from now on."""
        await self._mutes.mute(who)
        self.muted |= {who.id}

    async def unmute(self, who: Principal) -> None:
        """Hear a player again."""
        await self._mutes.unmute(who.id)
        self.muted -= {who.id}

    async def forget(self, who: Principal) -> Forgotten:
        """Delete what is remembered of a player. Do not call it during a run (`Assistant.forget` waits for its end).

        What a journal holds goes in one write. A process that is killed meanwhile has forgotten all of it or nothing.
        """
        entries = self._history.forget(who.id)
        forgotten = await self._past.forget_player(who.id)
        memories = await self._memories.forget(who.id)
        return replace(forgotten, memories=forgotten.memories + memories, entries=max(forgotten.entries, entries))

    async def clear_mind(self, *, memories: bool) -> Cleared:
        """Delete the stream with its summaries, and all memories if told to: the owner's right, and no player's.

        Do not call it during a run (`Assistant.clear_mind` waits for its end).
        """
        entries = self._history.clear()
        cleared = await self._past.clear_mind(memories=memories)
        gone = await self._memories.clear() if memories else 0
        return replace(cleared, entries=max(cleared.entries, entries), memories=cleared.memories + gone)
