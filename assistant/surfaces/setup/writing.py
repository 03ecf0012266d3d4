"""Keeps the answers until the last question. Writes files whole or not at all, and keys closed to other users.

Writing blocks, but briefly.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.toml_edit import Value
from mud_assistant.assistant.durable import write_whole
from mud_assistant.assistant.errors import AssistantError

_KEY_MODE, _FOLDER_MODE, _SETTINGS_MODE = 0o600, 0o700, 0o644


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


class CannotWrite(AssistantError):
    """A file was not written; the message says why, in one sentence."""


def put_settings(path: Path, text: str) -> None:
    """Write the settings. A link stays a link, and an existing file keeps its mode. Raises CannotWrite."""
    target = path.resolve()
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _SETTINGS_MODE
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, text.encode(), mode)
    except OSError as error:
        raise CannotWrite(f"{path} cannot be written: {error.strerror}") from error


def put_key(path: Path, key: str) -> None:
    """Write a key into a file only this user can read, in a folder only they can enter. Raises CannotWrite."""
    folder = path.parent
    try:
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise CannotWrite(
                f"others can change what is in {folder}: close it with: chmod 700, or keep the key elsewhere"
            )
        if not (ignored := folder / ".gitignore").exists():
            write_whole(ignored, b"*\n", _KEY_MODE)  # the settings' folder may be under version control
        write_whole(path, f"{key}\n".encode(), _KEY_MODE)
    except OSError as error:
        raise CannotWrite(f"{path} cannot be written: {error.strerror}") from error
