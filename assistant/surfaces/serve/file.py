"""Reads and changes the settings in assistant.toml, under what was said on the command line. Blocks: for a thread."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.playing import play
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import SettingsError, read_tables
from mud_assistant.assistant.config.toml_edit import CannotEdit, Value, edited
from mud_assistant.assistant.surfaces.setup.writing import put_settings

#: New values by the path of table and name; None takes a setting back.
Changes = Mapping[tuple[str, ...], Value | None]
_STYLE = "{path} is written in a way that cannot be changed line by line: change {option} there by hand"


@dataclass(slots=True)
class SettingsFile:
    """The file of the settings, which need not exist, and what the command line sets beyond it, by table."""

    path: Path
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder of the file, where relative paths start."""
        return self.path.absolute().parent

    def tables(self) -> dict[str, Any]:
        """Return what the file sets, and over it what the command line sets. Raises SettingsError."""
        tables = self._file_tables(self._text())
        for table, values in self.overrides.items():
            tables[table] = {**tables.get(table, {}), **values}
        return tables

    def config(self) -> Config:
        """Return the settings, with the character that they name. Raises SettingsError and CharacterError."""
        return play(merged(self.tables()), self.folder)

    def with_changes(self, changes: Changes) -> Config:
        """Return the settings as they would be. Raises SettingsError and CharacterError, and writes nothing."""
        return self._check(self._edited(changes), changes)

    def change(self, changes: Changes) -> Config:
        """Write these settings into the file; None removes one. What the command line said of them counts no more.

        Raises SettingsError and CannotWrite, and then writes nothing.
        """
        text = self._edited(changes)
        config = self._check(text, changes)
        put_settings(self.path, text)
        for table, name in changes:
            self.overrides.get(table, {}).pop(name, None)
        return config

    def _check(self, text: str, changes: Changes) -> Config:
        said = {
            table: {name: value for name, value in values.items() if (table, name) not in changes}
            for table, values in self.overrides.items()
        }
        return play(merged(self._file_tables(text), said), self.folder)

    def _edited(self, changes: Changes) -> str:
        try:
            return edited(self._text(), changes)
        except CannotEdit as error:
            raise SettingsError(_STYLE.format(path=self.path, option=error)) from error
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{self.path} cannot be read: {error}") from error

    def _file_tables(self, text: str) -> dict[str, Any]:
        try:
            return read_tables(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{self.path} cannot be read: {error}") from error

    def _text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{self.path} cannot be read") from error
