"""Reads what the command line and the settings say, and begins the log. Imports the rest of us when called."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.running import begin_logging
from mud_assistant.assistant.starting import loading
from mud_assistant.assistant.surfaces.serve.arguments import ANY_PORT

if TYPE_CHECKING:
    from mud_assistant.assistant.config.schema import Config
    from mud_assistant.assistant.surfaces.serve.file import SettingsFile
    from mud_assistant.assistant.surfaces.standalone import StandaloneOptions
    from mud_assistant.assistant.worlds.embedded.hamlet import Place

ProgramOptions = TypeVar("ProgramOptions", bound="StandaloneOptions")


class Prepared(NamedTuple):
    """What a program outside games begins with. `file` overrides itself with what the command line says."""

    config: Config
    file: SettingsFile
    place: Place


def prepare(options: argparse.Namespace, secrets: Secrets) -> Prepared:
    """Begin the log; return the settings, overridden by the options, their file, and the place. Raises AssistantError.

    An option that a command does not have is None.
    """
    from mud_assistant.assistant.config.playing import play
    from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
    from mud_assistant.assistant.keys.reference import anchor
    from mud_assistant.assistant.surfaces.agreeing import require_agreement
    from mud_assistant.assistant.surfaces.serve.file import SettingsFile
    from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
    from mud_assistant.assistant.worlds.embedded.place_file import WrittenPlace, read_place

    require_agreement(options.model or "", os.environ, agreed=options.yes)
    if options.key:
        options.key = anchor(options.key, Path.cwd())
    given = vars(options).get
    model = {name: given(name) for name in ("provider", "model", "url", "key") if given(name)}
    file_of_journal: Path | None = given("journal")
    journal = {"file": str(file_of_journal.absolute()), "url": "", "password": ""} if file_of_journal else {}
    said = {name: given(name) for name in ("telnet", "profile", "account", "permission", "fingerprint") if given(name)}
    if given("password"):
        said["password"] = anchor(options.password, Path.cwd())
    ports = {table: {"port": given(table)} for table in ("page", "gateway") if given(table) not in {None, ANY_PORT}}
    file = SettingsFile(options.config or DEFAULT_FILE)
    try:
        written = read_place(options.place) if given("place") else WrittenPlace(HAMLET)
        character = {**written.character, **({"name": options.name} if given("name") else {})}
        file.overrides = {"model": model, "assistant": character, "journal": journal, "world": said, **ports}
        config = read_settings(options.config, file.overrides)
        begin_logging(options.log, secrets)  # the log begins only once the settings are known to be valid
        config = play(config, file.folder, name_too=True)
    except OSError as error:
        raise AssistantError(f"the log {options.log} cannot be written: {error.strerror}") from error
    return Prepared(config, file, written.place)


# Any: further options of a program, which are checked where they are taken.
def program_options(
    kind: type[ProgramOptions],
    options: argparse.Namespace,
    prepared: Prepared,
    secrets: Secrets,
    wall: Callable[[], float],
    **more: Any,
) -> ProgramOptions:
    """Return what the command runs, with the owner's own tools, whose modules are imported here.

    Call it once the reactor is chosen, since such a module may import it, and before it runs. `wall` gives seconds
    since 1970.
    """
    with loading():
        from mud_assistant.assistant.runtime.own_tools import OwnTools, load_tools

        config, file, place = prepared
        has_assistants = options.command != "gateway"
        own_tools = load_tools(config.tools.modules, file.folder) if has_assistants else OwnTools()
    key = options.key or ""
    return kind(config, file, wall, secrets=secrets, entered_key=key, place=place, own_tools=own_tools, **more)
