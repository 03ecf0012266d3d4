"""The notes of a character in its own words, with whom each note came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tools.errors import ToolFailed
from tools.trust import Audience, Principal, may_hear

MAX_NOTES = 200
MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Note:
    """One remembered sentence. `about_*` is the person it was noted for, empty for none; `at` is clock seconds.

    `trust` is the level it was written under (`tools/trust.py`): the lowest of all that was in view. `sources`
    are the ids of the others whose words are in it. `audience` is who may be told of it. Where that is not known, as in
    a note of an older version, only the person it was noted for may be told.
    """

    text: str
    about_id: str
    about_name: str
    at: float
    trust: int = 0
    sources: frozenset[str] = frozenset()
    audience: Audience = frozenset()

    @property
    def size_bytes(self) -> int:
        """The room the note takes in the store, in bytes of UTF-8."""
        return len(self.text.encode(errors="replace")) + len(self.about_name.encode(errors="replace"))

    def is_from(self, principal_id: str) -> bool:
        """Tell whether the note came from this principal."""
        return principal_id == self.about_id or principal_id in self.sources

    def is_for(self, hearers: Audience) -> bool:
        """Tell whether each of the hearers may be told of it."""
        if self.audience is None or not (self.about_id or self.audience):
            return True
        return may_hear(self.audience or frozenset({self.about_id}), hearers)


@dataclass(frozen=True, slots=True)
class Added:
    """A stored note, and the older ones that were dropped to make room for it."""

    note: Note
    dropped: tuple[Note, ...] = ()


class Notes(Protocol):
    """A character's memory."""

    async def add(
        self,
        text: str,
        about: Principal | None = None,
        trust: int = 0,
        *,
        sources: Collection[str] = (),
        audience: Audience = None,
    ) -> Added:
        """Store `text` as learned from `about` and the `sources`. Return it with the old notes that were dropped.

        Raises ToolFailed when it cannot fit.
        """
        ...

    async def search(self, query: str, limit: int = 5, *, about_id: str | None = None) -> Sequence[Note]:
        """Return at most `limit` notes that fit `query` best; an empty query fits everything, newest first.

        With `about_id`, only notes that came from that principal or from nobody.
        """
        ...

    async def about(self, principal_id: str) -> Sequence[Note]:
        """Return every note that came from this principal, newest first: what a player may see."""
        ...

    async def forget(self, principal_id: str) -> int:
        """Delete the notes that came from this principal. Return how many there were."""
        ...


class MemoryNotes:
    """Notes in memory, at most `max_notes` and `max_bytes` of UTF-8. `now` gives clock seconds."""

    def __init__(self, now: Callable[[], float], *, max_notes: int = MAX_NOTES, max_bytes: int = MAX_BYTES) -> None:
        self._now = now
        self._max_notes = max_notes
        self._max_bytes = max_bytes
        self._notes: list[Note] = []

    async def add(
        self,
        text: str,
        about: Principal | None = None,
        trust: int = 0,
        *,
        sources: Collection[str] = (),
        audience: Audience = None,
    ) -> Added:
        """Store `text`; the same note again only becomes newer. The oldest notes are dropped when there is no room."""
        whose, name = (about.id, about.name) if about else ("", "")
        note = Note(text, whose, name, self._now(), trust, frozenset(sources) - {whose}, audience)
        if note.size_bytes > self._max_bytes:
            raise ToolFailed(f"That is too long to remember: at most {self._max_bytes} bytes.")
        for old in self._notes:
            if (old.text, old.about_id) == (note.text, note.about_id):
                note = replace(note, sources=note.sources | old.sources)
        self._notes = [old for old in self._notes if (old.text, old.about_id) != (note.text, note.about_id)]
        self._notes.append(note)
        return Added(note, self._make_room())

    async def search(self, query: str, limit: int = 5, *, about_id: str | None = None) -> Sequence[Note]:
        """Return the notes that share most words with `query`, newest first among equals."""
        return best_fitting(concerning(self._notes[::-1], about_id), query, limit)

    async def about(self, principal_id: str) -> Sequence[Note]:
        """Return every note that came from this principal, newest first."""
        return [note for note in reversed(self._notes) if note.is_from(principal_id)]

    async def forget(self, principal_id: str) -> int:
        """Delete the notes that came from this principal. Return how many there were."""
        kept = [note for note in self._notes if not note.is_from(principal_id)]
        gone, self._notes = len(self._notes) - len(kept), kept
        return gone

    def _make_room(self) -> tuple[Note, ...]:
        """Remove the oldest notes until the rest fits. Return them."""
        size = sum(note.size_bytes for note in self._notes)
        over = 0
        while len(self._notes) - over > self._max_notes or size > self._max_bytes:
            size -= self._notes[over].size_bytes
            over += 1
        dropped, self._notes = self._notes[:over], self._notes[over:]
        return tuple(dropped)


def concerning(notes: Sequence[Note], principal_id: str | None) -> list[Note]:
    """Return the notes that came from this principal or from nobody; all of them for None."""
    return [note for note in notes if principal_id is None or not note.about_id or note.is_from(principal_id)]


def best_fitting(newest_first: Sequence[Note], query: str, limit: int) -> Sequence[Note]:
    """Return at most `limit` notes that share words with `query`, most words first; an empty query fits everything."""
    wanted = _words(query)
    if not wanted:
        return newest_first[:limit]
    scored = [(len(wanted & _words(f"{note.text} {note.about_name}")), note) for note in newest_first]
    fitting = [pair for pair in scored if pair[0]]
    fitting.sort(key=lambda pair: -pair[0])  # stable: the newest stay first among equals
    return [note for _, note in fitting[:limit]]


def _words(text: str) -> frozenset[str]:
    """Return the words of `text` in lower case."""
    return frozenset(re.findall(r"\w+", text.casefold()))
