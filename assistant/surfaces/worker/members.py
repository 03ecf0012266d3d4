"""Decides whom a worker runs, with the settings of each. Blocks: for start-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.characters import character_folder, known_characters, read_character
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.standalone import principal_of
from mud_assistant.tools import Principal


class TwoOfOneName(AssistantError):
    """Two assistants of a worker have the same name. The message is a sentence for the owner."""


class Member(Struct, frozen=True):
    """One assistant of a worker. `file` are its settings, with what its name in the list adds to them."""

    me: Principal
    config: Config
    file: SettingsFile


def members_of(config: Config, file: SettingsFile, names: Sequence[str]) -> list[Member]:
    """Return the assistants of these names, or of those of the settings; without any, that of `[assistant]`.

    Raises SettingsError, CharacterError and TwoOfOneName.
    """
    names = names or config.worker.assistants
    if not names:
        return [Member(principal_of(config.assistant), config, file)]
    folder = character_folder(file.folder)
    characters = set(known_characters(folder))
    members: dict[str, Member] = {}
    for name in names:
        said: dict[str, Any] = {"name": name}
        if name in characters:
            said = {"character": name, "name": read_character(folder, name).name}
        own = SettingsFile(file.path, {**file.overrides, "assistant": said})
        theirs = own.config()
        member = Member(principal_of(theirs.assistant), theirs, own)
        if member.me.id in members:
            raise TwoOfOneName(f"two assistants of this worker are called {member.me.name}: leave {name} out")
        members[member.me.id] = member
    return list(members.values())
