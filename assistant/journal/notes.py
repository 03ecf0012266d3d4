"""What a character remembers, as rows: the same rules as `MemoryNotes`, and it outlives the process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from assistant.journal.lease import Lease
from tools.context import Principal
from tools.errors import ToolFailed
from tools.notes import MAX_BYTES, MAX_NOTES, Added, Note, best_fitting

_NEWEST_FIRST = "SELECT text, about_id, about_name, at, trust, seq FROM notes WHERE assistant = ? ORDER BY seq DESC"


class StoredNotes:
    """Notes on disk, at most `max_notes` and `max_bytes` of UTF-8. `now` gives clock seconds. Writes may be Fenced."""

    def __init__(
        self, lease: Lease, now: Callable[[], float], *, max_notes: int = MAX_NOTES, max_bytes: int = MAX_BYTES
    ) -> None:
        self._lease = lease
        self._now = now
        self._max_notes = max_notes
        self._max_bytes = max_bytes

    async def add(self, text: str, about: Principal | None = None, trust: int = 0) -> Added:
        """Keep `text`; the same note again only becomes newer. The oldest go when there is no room. ToolFailed."""
        about_name = storable(about.name) if about else ""
        note = Note(storable(text), about.id if about else "", about_name, self._now(), trust)
        if note.size_bytes > self._max_bytes:
            raise ToolFailed(f"That is too long to remember: at most {self._max_bytes} bytes.")

        def work(db: sqlite3.Connection) -> Added:
            name = self._lease.assistant
            same = (name, note.text, note.about_id)
            db.execute("DELETE FROM notes WHERE assistant = ? AND text = ? AND about_id = ?", same)
            db.execute(
                "INSERT INTO notes (assistant, text, about_id, about_name, at, trust) VALUES (?, ?, ?, ?, ?, ?)",
                (*same, note.about_name, note.at, note.trust),
            )
            return Added(note, self._make_room(db))

        return await self._lease.write(work)

    async def search(self, query: str, limit: int = 5, *, about_id: str | None = None) -> Sequence[Note]:
        """The notes that share most words with `query`, newest first among equals."""
        notes = await self._newest_first()
        return best_fitting(
            [note for note in notes if about_id is None or note.about_id in {"", about_id}], query, limit
        )

    async def about(self, principal_id: str) -> Sequence[Note]:
        """All notes of that principal, newest first."""
        return [note for note in await self._newest_first() if note.about_id == principal_id]

    async def forget(self, principal_id: str) -> int:
        """How many notes of that principal there were; they are gone."""
        return await self._lease.write(lambda db: forget_notes(db, self._lease.assistant, principal_id))

    async def _newest_first(self) -> list[Note]:
        """All notes; there are never many."""

        def work(db: sqlite3.Connection) -> list[Note]:
            return [Note(*row[:-1]) for row in db.execute(_NEWEST_FIRST, (self._lease.assistant,))]

        return await self._lease.read(work)

    def _make_room(self, db: sqlite3.Connection) -> tuple[Note, ...]:
        """The oldest notes, removed until the rest fits; oldest first."""
        dropped: list[Note] = []
        size = 0
        for place, (*values, seq) in enumerate(db.execute(_NEWEST_FIRST, (self._lease.assistant,)).fetchall()):
            note = Note(*values)
            size += note.size_bytes
            if dropped or place >= self._max_notes or size > self._max_bytes:
                dropped.append(note)
                db.execute("DELETE FROM notes WHERE seq = ?", (seq,))
        return tuple(reversed(dropped))


def forget_notes(db: sqlite3.Connection, assistant: str, principal_id: str) -> int:
    """How many notes of the principal there were; they are gone."""
    return db.execute("DELETE FROM notes WHERE assistant = ? AND about_id = ?", (assistant, principal_id)).rowcount


def storable(text: str) -> str:
    """The text without lone surrogates, which are in no encoding."""
    return text.encode(errors="replace").decode()
