"""What a player may ask of an assistant: to see what it remembers of him, to be left alone, to be forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from assistant.history import History
from assistant.journal import Forgotten, Muted
from tools import Note, Notes, Principal


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an assistant remembers of a player: its notes, and how many entries of its stream name him."""

    notes: tuple[Note, ...]
    entries: int


#: The same for all: one who hears everybody is the usual case.
_NOBODY: frozenset[str] = frozenset()


class Mutes(Protocol):
    """Who is not to be heard, for good."""

    def mute(self, who: Principal) -> Awaitable[bool]:
        """Hear him no more; False when he was muted already."""
        ...

    def unmute(self, principal_id: str) -> Awaitable[bool]:
        """Hear him again; False when he was not muted."""
        ...

    def muted(self) -> Awaitable[Sequence[Muted]]:
        """Those who are not heard."""
        ...


class MemoryMutes:
    """Who is not to be heard, for as long as the process lives. `now` gives clock seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._muted: dict[str, Muted] = {}

    async def mute(self, who: Principal) -> bool:
        """Hear him no more; False when he was muted already."""
        is_new = who.id not in self._muted
        self._muted.setdefault(who.id, Muted(who.id, who.name, self._now()))
        return is_new

    async def unmute(self, principal_id: str) -> bool:
        """Hear him again; False when he was not muted."""
        return self._muted.pop(principal_id, None) is not None

    async def muted(self) -> Sequence[Muted]:
        """Those who are not heard."""
        return tuple(self._muted.values())


class Past(Protocol):
    """What was written down of a player."""

    def forget_player(self, who_id: str) -> Awaitable[Forgotten]:
        """What was deleted."""
        ...


class Rights:
    """The rights of players towards one assistant. The composition root calls these for a player's own command."""

    def __init__(self, history: History, notes: Notes, mutes: Mutes, past: Past) -> None:
        self._history = history
        self._notes = notes
        self._mutes = mutes
        self._past = past
        #: The ids of those who are not heard; `load` fills it.
        self.muted = _NOBODY

    async def load(self) -> None:
        """Learn who was muted before."""
        self.muted = frozenset(muted.principal_id for muted in await self._mutes.muted()) or _NOBODY

    async def see(self, who: Principal) -> Remembered:
        """Return what is remembered of a player, less what was told in private by somebody else."""
        notes = await self._notes.about(who.id)
        return Remembered(
            tuple(note for note in notes if note.is_for(frozenset({who.id}))), self._history.naming(who.id)
        )

    async def mute(self, who: Principal) -> None:
        """Neither hear him nor remember what he says from now on."""
        await self._mutes.mute(who)
        self.muted |= {who.id}

    async def unmute(self, who: Principal) -> None:
        """Hear him again."""
        await self._mutes.unmute(who.id)
        self.muted -= {who.id}

    async def forget(self, who: Principal) -> Forgotten:
        """Delete what is remembered of him; not to be called while a run goes (`Assistant.forget` waits)."""
        entries = self._history.forget(who.id)
        notes = await self._notes.forget(who.id)
        forgotten = await self._past.forget_player(who.id)
        return replace(forgotten, notes=forgotten.notes + notes, entries=max(forgotten.entries, entries))
