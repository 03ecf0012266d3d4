"""The world of a journal that is only looked at: its assistants are known by name, and nothing can be done to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from assistant.journal.database import Database
from assistant.journal.tables.lease import NAME_OF
from assistant.page.ports import KnownAssistant, Unavailable
from assistant.page.reading.reader import JournalReader
from assistant.page.values.actions import FindingView


class JournalHost:
    """The assistants of a journal. Call `load` first; it may be called again."""

    #: Nothing can be changed.
    store = None

    def __init__(self, reader: JournalReader) -> None:
        self._reader = reader
        self._names: dict[str, str] = {}

    async def load(self) -> None:
        """Read which assistants the journal knows. Raises Unavailable."""
        self._names = await self._reader.read(_assistants)

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return the assistants of the journal. None of them runs here."""
        return [KnownAssistant(id_, name, is_off=True) for id_, name in sorted(self._names.items())]

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names of assistants; those of players stand in the runs."""
        with suppress(Unavailable):  # those that were known before do
            await self.load()
        return {id_: self._names[id_] for id_ in ids if id_ in self._names}

    async def findings(self) -> Sequence[FindingView]:
        """Say that the journal is only looked at."""
        return [FindingView(check="journal", state="ok", sentence="the journal is only looked at; nobody runs here")]


def _assistants(db: Database) -> dict[str, str]:
    ids = [row[0] for row in db.execute("SELECT assistant FROM leases UNION SELECT DISTINCT assistant FROM runs")]
    named = dict(db.execute("SELECT key, value FROM meta WHERE key LIKE ?", (f"{NAME_OF}%",)))
    return {id_: str(named.get(NAME_OF + id_, id_)) for id_ in ids}
