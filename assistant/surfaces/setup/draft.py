"""The answers that are not written yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assistant.config.schema import Config
from assistant.config.toml_edit import Value


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was entered. It goes into the file `path`, or without a path into the keyring's entry `entry`."""

    value: str = field(repr=False)
    path: Path | None = None
    entry: str = ""


@dataclass(slots=True)
class SettingsDraft:
    """The present settings and the changes to them; the value None removes a setting."""

    #: The folder of the settings; references of key files are relative to it.
    folder: Path
    before: Config
    environment: Mapping[str, str]
    changes: dict[tuple[str, ...], Value | None] = field(default_factory=dict)
    #: Keys that were entered, by reference.
    keys: dict[str, NewKey] = field(default_factory=dict)
    #: References that were named or filled in this dialogue, whether they existed before or not.
    entered: set[str] = field(default_factory=set)

    def set(self, *path: str, value: Value | None) -> None:
        """Set one setting. An empty text removes it, so that its default applies."""
        self.changes[path] = None if value == "" else value
