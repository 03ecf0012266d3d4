"""The rights of a player towards an assistant: to see what it remembers of them, to be muted, to be forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from assistant.journal import Forgotten, Muted
from assistant.memory.history import History
from tools import Note, Notes, Principal


@dataclass(frozen=True, slots=True)
class Remembered:
    """An assistant's memory of a player: its notes, and how many entries of its stream name them."""

    notes: tuple[Note, ...]
    entries: int


#: Shared by all assistants: most of them have muted no player.
_NOBODY: frozenset[str] = frozenset()


class Mutes(Protocol):
    """The players that an assistant does not hear, kept for good."""

    def mute(self, who: Principal) -> Awaitable[bool]:
        """Stop hearing a player. Return False when they were muted already."""
        ...

    def unmute(self, principal_id: str) -> Awaitable[bool]:
        """Hear a player again. Return False when they were not muted."""
        ...

    def muted(self) -> Awaitable[Sequence[Muted]]:
        """Return the muted players."""
        ...


class MemoryMutes:
    """The players that an assistant does not hear, kept until the process ends. `now` gives clock seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._muted: dict[str, Muted] = {}

    async def mute(self, who: Principal) -> bool:
        """Stop hearing a player. Return False when they were muted already."""
        is_new = who.id not in self._muted
        self._muted.setdefault(who.id, Muted(who.id, who.name, self._now()))
        return is_new

    async def unmute(self, principal_id: str) -> bool:
        """Hear a player again. Return False when they were not muted."""
        return self._muted.pop(principal_id, None) is not None

    async def muted(self) -> Sequence[Muted]:
        """Return the muted players."""
        return tuple(self._muted.values())


class Past(Protocol):
    """The records about players."""

    def forget_player(self, who_id: str) -> Awaitable[Forgotten]:
        """Delete the records about a player, and return how much was deleted."""
        ...


class Rights:
    """The rights of players towards one assistant. The composition root calls these for a player's own command."""

    def __init__(self, history: History, notes: Notes, mutes: Mutes, past: Past) -> None:
        self._history = history
        self._notes = notes
        self._mutes = mutes
        self._past = past
        #: The ids of the muted players. `load` fills it.
        self.muted = _NOBODY

    async def load(self) -> None:
        """Read the players who were muted before."""
        self.muted = frozenset(muted.principal_id for muted in await self._mutes.muted()) or _NOBODY

    async def see(self, who: Principal) -> Remembered:
        """Return what is remembered of a player, without what others told in private."""
        notes = await self._notes.about(who.id)
        return Remembered(
            tuple(note for note in notes if note.is_for(frozenset({who.id}))), self._history.naming(who.id)
        )

    async def mute(self, who: Principal) -> None:
        """Stop hearing a player, and remember nothing they say from now on."""
        await self._mutes.mute(who)
        self.muted |= {who.id}

    async def unmute(self, who: Principal) -> None:
        """Hear a player again."""
        await self._mutes.unmute(who.id)
        self.muted -= {who.id}

    async def forget(self, who: Principal) -> Forgotten:
        """Delete what is remembered of a player. Do not call it during a run (`Assistant.forget` waits for its end)."""
        entries = self._history.forget(who.id)
        notes = await self._notes.forget(who.id)
        forgotten = await self._past.forget_player(who.id)
        return replace(forgotten, notes=forgotten.notes + notes, entries=max(forgotten.entries, entries))
