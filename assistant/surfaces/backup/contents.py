"""Finds what belongs into a backup: the settings, the journal, the characters, and the files that the settings name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.characters import character_folder
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.journal.places import PlaceFinder
from mud_assistant.assistant.worlds.evennia.install import CONFIG, JOURNAL

#: Where setup puts keys, beside the settings.
KEY_FOLDER = "keys"
#: What the journal is called in a backup when its place is none within the folder.
JOURNAL_NAME = "restored.journal"
#: What is in no backup, in sentences that the command and the manifest show.
NO_ENVIRONMENT = "keys of the environment (env:) and of a keyring (keyring:) are not in it"
NO_KEYS = "files of keys are not in it (--keys puts them in)"
NO_DATABASE = "the game's own database is not in it: copy server/evennia.db3, or dump the database of the game, as well"


class CannotBackUp(AssistantError):
    """The backup cannot be made or used; the message says why and what to do."""


class Contents(Struct, frozen=True):
    """What a backup holds. `base` is the folder that all names of files are relative to."""

    base: Path
    #: The settings, by their name; empty when there is no file of them.
    settings: str
    #: The files but for the journal, by name.
    files: Mapping[str, Path]
    journal: JournalPlace | None
    #: The name that the journal has in the backup and gets where it is restored, empty when there is none.
    journal_name: str
    left_out: tuple[str, ...]


class BackupOptions(Struct, frozen=True):
    """The options of the command line."""

    folder: Path | None
    to: Path
    config: Path | None = None
    journal: Path | None = None
    keys: bool = False
    overwrite: bool = False


def find_contents(options: BackupOptions, environment: Mapping[str, str], secrets: Secrets) -> Contents:
    """Return what belongs into the backup. Raises CannotBackUp, SettingsError and NoSuchPlace. Blocks."""
    base, settings = _places(options)
    is_game = (base / CONFIG).parent == settings.parent
    if not settings.is_file() and not is_game and options.journal is None:
        raise CannotBackUp(f"there is no {settings}: name the folder with assistant.toml, or --config FILE")
    config = read_settings(settings, {}) if settings.is_file() else Config()
    journal = options.journal or PlaceFinder(config.journal, settings.parent, environment, secrets).of_settings()
    if journal is None and is_game:
        journal = base / JOURNAL
    files = {_name(path, base): path for path in _files(config, settings, keys=options.keys) if _is_in(path, base)}
    left_out = (NO_ENVIRONMENT, *(() if options.keys else (NO_KEYS,)), *((NO_DATABASE,) if is_game else ()))
    name = _name(settings, base) if settings.is_file() else ""
    return Contents(base, name, files, journal, _journal_name(journal, base), left_out)


def _places(options: BackupOptions) -> tuple[Path, Path]:
    """Return the folder that is backed up, and its settings. Raises CannotBackUp."""
    folder = (options.folder or Path()).absolute()
    if not folder.is_dir():
        raise CannotBackUp(f"there is no folder {folder}")
    if options.config is not None:
        settings = options.config.absolute()
        is_games = settings.parts[-3:-1] == Path(CONFIG).parts[:-1]
        return (settings.parents[2] if is_games else settings.parent), settings
    is_game = (folder / CONFIG).parent.is_dir() and not (folder / DEFAULT_FILE).is_file()
    return folder, folder / (CONFIG if is_game else DEFAULT_FILE)


def _files(config: Config, settings: Path, *, keys: bool) -> Iterator[Path]:
    """Yield the files of an installation but for its journal."""
    if settings.is_file():
        yield settings
    yield from _all_in(character_folder(settings.parent))
    secret = settings.parent / config.gateway.keys
    named = {settings.parent / text for text in _texts(config.model_dump()) if text}
    own = {secret, settings.parent / config.journal.file}
    yield from (path for path in sorted(named - own) if path.is_file())
    if keys:
        yield from _all_in(settings.parent / KEY_FOLDER)
        if secret.is_file():
            yield secret


def _all_in(folder: Path) -> Iterator[Path]:
    yield from (path for path in sorted(folder.rglob("*")) if path.is_file())


# Any: what a model dumps.
def _texts(value: Any) -> Iterator[str]:
    """Yield every text in the values of settings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _journal_name(journal: JournalPlace | None, base: Path) -> str:
    if journal is None:
        return ""
    if isinstance(journal, PostgresPlace) or not _is_in(journal, base):
        return JOURNAL_NAME
    return _name(journal, base)


def _is_in(path: Path, base: Path) -> bool:
    return path.resolve().is_relative_to(base.resolve())


def _name(path: Path, base: Path) -> str:
    return path.resolve().relative_to(base.resolve()).as_posix()
