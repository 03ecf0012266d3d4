"""Reads what the command line and the settings say, and begins the log. Imports the rest of us after a check."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.errors import AssistantError
from assistant.keys.redaction import Secrets
from assistant.running import begin_logging
from assistant.starting import loading, shadowed

if TYPE_CHECKING:
    from assistant.config.schema import Config
    from assistant.surfaces.serve.file import SettingsFile
    from assistant.surfaces.trial.converse import TrialOptions
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
    from assistant.config.settings import DEFAULT_FILE, read_settings
    from assistant.keys.reference import anchor  # after the check
    from assistant.surfaces.agreeing import require_agreement
    from assistant.surfaces.serve.file import SettingsFile
    from assistant.worlds.embedded.hamlet import HAMLET
    from assistant.worlds.embedded.place_file import WrittenPlace, read_place

    require_agreement(options.model or "", os.environ, agreed=options.yes)
    if options.key:
        options.key = anchor(options.key, Path.cwd())
    model = {name: getattr(options, name) for name in ("provider", "model", "url", "key") if getattr(options, name)}
    journal = {"file": str(options.journal.absolute()), "url": "", "password": ""} if options.journal else {}
    try:
        written = read_place(options.place) if options.place else WrittenPlace(HAMLET)
        character = {**written.character, **({"name": options.name} if options.name else {})}
        overrides = {"model": model, "assistant": character, "journal": journal}
        config = read_settings(options.config, overrides)
        begin_logging(options.log, secrets)  # the log begins only once the settings are known to be valid
        config = play(config, settings_folder(options), name_too=True)
    except OSError as error:
        raise AssistantError(f"the log {options.log} cannot be written: {error.strerror}") from error
    return config, written.place, SettingsFile(options.config or DEFAULT_FILE, overrides)


# Any: further options of a trial, which are checked where they are taken.
def trial_options(
    options: argparse.Namespace,
    config: Config,
    place: Place,
    secrets: Secrets,
    wall: Callable[[], float],
    **more: Any,
) -> TrialOptions:
    """Return what the command runs, with the owner's own tools, whose modules are imported here.

    Call it once the reactor is chosen, since such a module may import it, and before it runs. `wall` gives seconds
    since 1970.
    """
    with loading():
        from assistant.runtime.own_tools import OwnTools, load_tools
        from assistant.surfaces.trial.converse import TrialOptions

        folder = settings_folder(options)
        has_assistants = options.command != "gateway"
        own_tools = load_tools(config.tools.modules, folder) if has_assistants else OwnTools()
    key = options.key or ""
    return TrialOptions(
        config, wall, folder=folder, secrets=secrets, entered_key=key, place=place, own_tools=own_tools, **more
    )
