"""Reads what the command line and the settings say, and begins the log. Imports the rest of us after a check."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.errors import AssistantError
from assistant.keys.redaction import Secrets
from assistant.running import begin_logging
from assistant.starting import shadowed

if TYPE_CHECKING:
    from assistant.config.schema import Config
    from assistant.surfaces.serve.file import SettingsFile
    from assistant.worlds.embedded.hamlet import Place


def settings_folder(options: argparse.Namespace) -> Path:
    """Return the folder of the settings."""
    return options.config.absolute().parent if options.config else Path.cwd()


def prepare(options: argparse.Namespace, secrets: Secrets) -> tuple[Config, Place, SettingsFile]:
    """Begin the log; return the settings, overridden by the options, the place, and the file with what overrides it.

    Raises AssistantError.
    """
    if in_the_way := shadowed():
        raise AssistantError(in_the_way)
    from assistant.config.playing import play
    from assistant.config.settings import DEFAULT_FILE, log_renamed, read_settings
    from assistant.keys.reference import anchor  # after the check
    from assistant.surfaces.serve.file import SettingsFile
    from assistant.worlds.embedded.hamlet import HAMLET
    from assistant.worlds.embedded.place_file import WrittenPlace, read_place

    if options.key:
        options.key = anchor(options.key, Path.cwd())
    model = {name: getattr(options, name) for name in ("provider", "model", "url", "key") if getattr(options, name)}
    journal = {"file": str(options.journal.absolute()), "url": "", "password": ""} if options.journal else {}
    try:
        written = read_place(options.place) if options.place else WrittenPlace(HAMLET)
        character = {**written.character, **({"name": options.name} if options.name else {})}
        overrides = {"model": model, "assistant": character, "journal": journal}
        renamed: list[str] = []
        config = read_settings(options.config, overrides, renamed.append)
        begin_logging(options.log, secrets)
        for sentence in renamed:  # the log begins only once the settings are known to be valid
            log_renamed(sentence)
        config = play(config, settings_folder(options), name_too=True)
    except OSError as error:
        raise AssistantError(f"the log {options.log} cannot be written: {error.strerror}") from error
    return config, written.place, SettingsFile(options.config or DEFAULT_FILE, overrides)
