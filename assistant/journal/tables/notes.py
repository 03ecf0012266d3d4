"""Stores what an assistant was told to remember, beyond the end of the process: its notes, and the players it muted.

Notes are kept by the same rules as those of `MemoryNotes`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from assistant.journal.codec import exact_json, parse_json, seal, unseal
from assistant.journal.errors import BrokenRecord
from assistant.journal.tables.lease import Lease
from tools.errors import ToolFailed
from tools.notes import MAX_BYTES, MAX_NOTES, Added, Note, best_fitting, concerning
from tools.trust import Audience, Principal

_NEWEST_FIRST = """SELECT text, about_id, about_name, at, trust, origin, seq FROM notes
                   WHERE assistant = ? ORDER BY seq DESC"""
_Row = tuple[str, str, str, float, int, bytes, int]


@dataclass(frozen=True, slots=True)
class Muted:
    """A muted player, with the name they had when they were muted; `at` is in seconds since 1970."""

    principal_id: str
    name: str
    at: float


class StoredNotes:
    """Notes on disk, at most `max_notes` and `max_bytes` of UTF-8. `now` gives clock seconds. Writes raise Fenced."""

    def __init__(
        self, lease: Lease, now: Callable[[], float], *, max_notes: int = MAX_NOTES, max_bytes: int = MAX_BYTES
    ) -> None:
        self._lease = lease
        self._now = now
        self._max_notes = max_notes
        self._max_bytes = max_bytes

    async def add(
        self,
        text: str,
        about: Principal | None = None,
        trust: int = 0,
        *,
        sources: Collection[str] = (),
        audience: Audience = None,
    ) -> Added:
        """Keep `text`; a note that is already kept only becomes newer. The oldest are dropped when room is short.

        Raises ToolFailed when `text` alone is larger than `max_bytes`.
        """
        whose, name = (about.id, storable(about.name)) if about else ("", "")
        note = Note(storable(text), whose, name, self._now(), trust, frozenset(sources) - {whose}, audience)
        if note.size_bytes > self._max_bytes:
            raise ToolFailed(f"That is too long to remember: at most {self._max_bytes} bytes.")

        def work(db: sqlite3.Connection) -> Added:
            name = self._lease.assistant
            same = (name, note.text, note.about_id)
            kept = [_note(row) for row in db.execute(_NEWEST_FIRST, (name,))]
            before = [old.sources for old in kept if (old.text, old.about_id) == same[1:]]
            added = replace(note, sources=note.sources.union(*before))
            db.execute("DELETE FROM notes WHERE assistant = ? AND text = ? AND about_id = ?", same)
            db.execute(
                """INSERT INTO notes (assistant, text, about_id, about_name, at, trust, origin)
                   VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (*same, note.about_name, note.at, note.trust, _origin(added)),
            )
            return Added(added, self._make_room(db))

        return await self._lease.write(work)

    async def search(self, query: str, limit: int = 5, *, about_id: str | None = None) -> Sequence[Note]:
        """Return the notes that share most words with `query`, newest first among equals."""
        return best_fitting(concerning(await self._newest_first(), about_id), query, limit)

    async def about(self, principal_id: str) -> Sequence[Note]:
        """Return all notes of that principal, newest first."""
        return [note for note in await self._newest_first() if note.is_from(principal_id)]

    async def forget(self, principal_id: str) -> int:
        """Remove the notes of that principal; return how many."""
        return await self._lease.write(lambda db: forget_notes(db, self._lease.assistant, principal_id))

    async def _newest_first(self) -> list[Note]:
        """Return all notes, newest first; there are never many."""

        def work(db: sqlite3.Connection) -> list[Note]:
            return [_note(row) for row in db.execute(_NEWEST_FIRST, (self._lease.assistant,))]

        return await self._lease.read(work)

    def _make_room(self, db: sqlite3.Connection) -> tuple[Note, ...]:
        """Remove the oldest notes until the rest fits; return them, oldest first."""
        dropped: list[Note] = []
        size = 0
        for place, row in enumerate(db.execute(_NEWEST_FIRST, (self._lease.assistant,)).fetchall()):
            note = _note(row)
            size += note.size_bytes
            if dropped or place >= self._max_notes or size > self._max_bytes:
                dropped.append(note)
                db.execute("DELETE FROM notes WHERE seq = ?", (row[-1],))
        return tuple(reversed(dropped))


class StoredMutes:
    """The mutes of one assistant on disk. Writes raise Fenced and JournalUnwritable."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    async def mute(self, who: Principal) -> bool:
        """Mute a player. Return False, and change nothing, when they were already muted."""
        row = (self._lease.assistant, who.id, storable(who.name), self._lease.store.wall())
        return await self._lease.write(
            lambda db: db.execute("INSERT OR IGNORE INTO muted VALUES (?, ?, ?, ?)", row).rowcount > 0
        )

    async def unmute(self, principal_id: str) -> bool:
        """End the mute of a player. Return False when they were not muted."""
        key = (self._lease.assistant, principal_id)
        return await self._lease.write(
            lambda db: db.execute("DELETE FROM muted WHERE assistant = ? AND principal = ?", key).rowcount > 0
        )

    async def muted(self) -> tuple[Muted, ...]:
        """Return all muted players, the latest last."""

        def work(db: sqlite3.Connection) -> tuple[Muted, ...]:
            query = "SELECT principal, name, at FROM muted WHERE assistant = ? ORDER BY at, principal"
            return tuple(Muted(*row) for row in db.execute(query, (self._lease.assistant,)))

        return await self._lease.read(work)


def forget_notes(db: sqlite3.Connection, assistant: str, principal_id: str) -> int:
    """Remove the notes that came, or may have come, from the principal; return how many."""
    rows = db.execute(_NEWEST_FIRST, (assistant,)).fetchall()
    gone = [(row[-1],) for row in rows if not _is_readable(row[-2]) or _note(row).is_from(principal_id)]
    db.executemany("DELETE FROM notes WHERE seq = ?", gone)
    return len(gone)


def _origin(note: Note) -> bytes:
    """Return a record of the other sources of a note, and of who may be told of it."""
    audience = None if note.audience is None else sorted(note.audience)
    return seal(exact_json([sorted(note.sources), audience]))


def _note(row: _Row) -> Note:
    """Return the note of a row.

    A note of an older version, or one with a damaged record, may be told only to the person it is about.
    """
    text, about_id, about_name, at, trust, origin, _ = row
    note = Note(text, about_id, about_name, at, trust)
    if not origin or not _is_readable(origin):
        return note
    sources, audience = parse_json(unseal(origin))
    return replace(note, sources=frozenset(sources), audience=None if audience is None else frozenset(audience))


def _is_readable(origin: bytes) -> bool:
    try:
        return not origin or len(parse_json(unseal(origin))) == len(("sources", "audience"))
    except (BrokenRecord, TypeError):
        return False


def storable(text: str) -> str:
    """Return the text with `?` for lone surrogates, which no encoding has."""
    return text.encode(errors="replace").decode()
