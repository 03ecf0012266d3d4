"""Finds the journal that an owner names: a file, the address of a database, or that of the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import KeySources, read_key


class NoSuchPlace(AssistantError):
    """What was named is no place of a journal. The message is a sentence for the owner."""


class PlaceFinder(Struct, frozen=True):
    """Finds journals and their passwords, which `secrets` learns. Paths start from `folder`, that of the settings."""

    config: JournalConfig
    folder: Path
    environment: Mapping[str, str]
    secrets: Secrets

    def named(self, name: Path | str, password: str = "") -> JournalPlace:
        """Return the journal at a path or an address. Raises NoSuchPlace.

        `password` is a reference. Without one, the address of the settings has that of the settings.
        """
        if isinstance(name, Path):
            if password:
                raise NoSuchPlace(f"a password is that of a database, and {name} is a file")
            return name
        from mud_assistant.assistant.config.postgres_url import parse_postgres_url  # noqa: PLC0415  (only where one is named)

        try:
            parse_postgres_url(name)
        except ValueError as error:
            raise NoSuchPlace(f"this is no address of a journal: {error}") from error
        if not password and name == self.config.url:
            password = self.config.password
        return PostgresPlace(name, partial(self._password, password))

    def of_settings(self) -> JournalPlace | None:
        """Return the journal of the settings, None when nothing is kept."""
        if self.config.url:
            return self.named(self.config.url)
        return self.folder / self.config.file if self.config.file else None

    def _password(self, reference: str) -> str | None:
        """Return the password behind a reference, None for an empty one. Raises KeyReferenceError. Blocks."""
        return read_key(reference, KeySources(self.environment, _nowhere, self.folder, self.secrets)) or None


async def _nowhere(_: Callable[[], str]) -> str:
    raise NotImplementedError  # the calling thread reads
