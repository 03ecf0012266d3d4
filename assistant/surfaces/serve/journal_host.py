"""The world of a journal that is only looked at: its assistants are known by name, and nothing can be done to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from assistant.checks.finding import Finding, FindingState
from assistant.config.schema import ModelConfig
from assistant.journal.database import Database
from assistant.journal.tables.lease import NAME_OF
from assistant.page.ports import KnownAssistant, NotAllowed, Unavailable
from assistant.page.reading.reader import JournalReader
from assistant.page.values.actions import CharacterView, LorePreview, NewModel, SettingChanged
from assistant.page.values.assistants import SettingLine

_ONLY_LOOKED_AT = (
    "this journal is only looked at: nothing can be changed here. In the game itself, or without --read-only, it can"
)


class JournalHost:
    """The assistants of a journal. Call `load` first; it may be called again."""

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

    async def start(self, assistant: str) -> str:
        """Raise NotAllowed."""
        _refuse()

    async def stay_off(self, assistant: str) -> None:
        """Do nothing: nobody runs here."""

    async def settings(self, assistant: str) -> Sequence[SettingLine]:
        """Return none: a journal keeps no settings."""
        return ()

    async def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> SettingChanged:
        """Raise NotAllowed."""
        _refuse()

    async def create(self, name: str, persona: str) -> str:
        """Raise NotAllowed."""
        _refuse()

    async def model_with(self, assistant: str, wanted: NewModel) -> ModelConfig:
        """Raise NotAllowed."""
        _refuse()

    async def keep_model(self, assistant: str, wanted: NewModel) -> str:
        """Raise NotAllowed."""
        _refuse()

    async def character(self, assistant: str) -> CharacterView:
        """Return the name, which is all that is known."""
        return CharacterView(assistant=assistant, name=self._names.get(assistant, assistant), persona="")

    async def set_persona(self, assistant: str, text: str) -> str:
        """Raise NotAllowed."""
        _refuse()

    async def add_lore(self, assistant: str, title: str, keys: Sequence[str], text: str) -> str:
        """Raise NotAllowed."""
        _refuse()

    async def delete_lore(self, assistant: str, number: int) -> str:
        """Raise NotAllowed."""
        _refuse()

    async def preview_lore(self, assistant: str, line: str) -> LorePreview:
        """Return nothing: a journal keeps no lore."""
        return LorePreview(line=line, pieces=())

    async def findings(self) -> Sequence[Finding]:
        """Say that the journal is only looked at."""
        return [Finding("journal", FindingState.OK, "the journal is only looked at; nobody runs here")]


def _refuse() -> NoReturn:
    raise NotAllowed(_ONLY_LOOKED_AT)


def _assistants(db: Database) -> dict[str, str]:
    ids = [row[0] for row in db.execute("SELECT assistant FROM leases UNION SELECT DISTINCT assistant FROM runs")]
    named = dict(db.execute("SELECT key, value FROM meta WHERE key LIKE ?", (f"{NAME_OF}%",)))
    return {id_: str(named.get(NAME_OF + id_, id_)) for id_ in ids}
