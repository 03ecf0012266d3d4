"""What was answered and is not written yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assistant.config import Config
from assistant.setup.toml_edit import Value


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was entered: into `path`, or into the keyring's entry `entry` when there is no path."""

    value: str = field(repr=False)
    path: Path | None = None
    entry: str = ""


@dataclass(slots=True)
class Draft:
    """The settings there are, and what is to become of them; None takes a setting out."""

    #: The folder of the settings, which references of key files start from.
    folder: Path
    before: Config
    environment: Mapping[str, str]
    changes: dict[tuple[str, ...], Value | None] = field(default_factory=dict)
    #: By reference.
    keys: dict[str, NewKey] = field(default_factory=dict)
    #: References that were named or filled just now, whether they were there before or not.
    entered: set[str] = field(default_factory=set)

    def set(self, *path: str, value: Value | None) -> None:
        """Set one setting; an empty text takes it out, so that its default counts."""
        self.changes[path] = None if value == "" else value
