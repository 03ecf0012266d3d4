"""What `play` does before a reactor runs: asks for a password, says what is recorded, shows a recording. Blocks."""

from __future__ import annotations

import argparse
import sys
from getpass import getpass
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
from mud_assistant.assistant.config.world_config import WorldConfig
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.worlds.telnet.game_access import profile_of
from mud_assistant.assistant.worlds.telnet.reading.replaying import RecordingError, replay

#: The variable of this process in which a password is that was typed at the terminal.
TYPED = "MUD_ASSISTANT_TYPED_PASSWORD"

_UNASKED = (
    "the settings name no password, and there is no terminal to ask for one: write --password env:NAME, or password "
    "under [world]"
)
_NO_PROFILE = "a recording is replayed against a profile: name it with --profile, such as --profile diku"
_NO_GAME = "say which game is played: mud-assistant play HOST:PORT --record FILE"


class RecordingWanted(Struct, frozen=True):
    """What is recorded: the game, and the file, which must not be there."""

    world: WorldConfig
    file: Path


def ask_password(options: argparse.Namespace) -> str:
    """Return the password that was typed, and let the options name it.

    It is empty where they or the settings name one, and for none. Raises AssistantError.
    """
    if options.password or _world(options).password:
        return ""
    if not sys.stdin.isatty():
        raise AssistantError(_UNASKED)
    typed = getpass(f"The password of {options.name or 'the character'} (it is not shown): ")
    if typed:
        options.password = f"env:{TYPED}"
    return typed


def recording_wanted(options: argparse.Namespace) -> RecordingWanted:
    """Return what is to be recorded. Raises AssistantError."""
    world = _world(options)
    telnet = options.telnet or world.telnet
    if not telnet:
        raise AssistantError(_NO_GAME)
    try:
        wanted = WorldConfig(telnet=telnet, profile="diku", fingerprint=options.fingerprint or world.fingerprint)
    except ValueError as error:
        raise AssistantError(str(error)) from error
    return RecordingWanted(wanted, options.record)


def told_of_recording(options: argparse.Namespace) -> str:
    """Return what a profile understands of a recording. Raises AssistantError."""
    config = read_settings(options.config, {})
    if not (written := options.profile or config.world.profile):
        raise AssistantError(_NO_PROFILE)
    folder = Path() if options.profile else (options.config or DEFAULT_FILE).absolute().parent
    name = options.name or config.assistant.name
    try:
        recording = options.replay.read_text(encoding="utf-8")
        return "\n".join(replay(recording, profile_of(written, name, folder), name).told())
    except OSError as error:
        raise AssistantError(f"the recording {options.replay} cannot be read: {error.strerror}") from error
    except (RecordingError, UnicodeDecodeError) as error:
        raise AssistantError(f"{options.replay} is no recording: {error}") from error


def _world(options: argparse.Namespace) -> WorldConfig:
    return read_settings(options.config, {}).world
