"""Puts together what `mud-assistant doctor` examines: the settings, and the world that their character lives in."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mud_assistant.assistant.characters import character_folder, read_days
from mud_assistant.assistant.checks.day_places import DayKeeper
from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.checks.web import PAGE
from mud_assistant.assistant.config.playing import play
from mud_assistant.assistant.config.schema import AssistantConfig, Config
from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import key_sources
from mud_assistant.assistant.runtime.own_tools import load_tools
from mud_assistant.assistant.surfaces.doctor import DoctorScreen
from mud_assistant.assistant.surfaces.standalone import principal_of
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, Place
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld, LocalClock
from mud_assistant.assistant.worlds.telnet.game_checks import game_checks
from mud_assistant.resilience.background import in_daemon_thread

#: How long reading the character's file may take, in seconds.
READ_SECONDS = 30.0


def examined_settings(options: argparse.Namespace, screen: DoctorScreen) -> Config | None:
    """Return the settings, and show whether they are valid; None when they are not. Blocks."""
    path = options.config or DEFAULT_FILE
    try:
        config = play(read_settings(options.config, {}), path.absolute().parent)
    except AssistantError as error:
        screen.show(Finding("settings", FindingState.WRONG, str(error)))
        return None
    there = f"{path} is valid" if path.exists() else f"there is no {path} here, so the defaults are used"
    screen.show(Finding("settings", FindingState.OK, there))
    return config


# Any: the reactor has no one interface for time, network and threads.
async def run_doctor(
    reactor: Any,
    options: argparse.Namespace,
    config: Config,
    environment: Mapping[str, str],
    *,
    wall: Callable[[], float],
    screen: DoctorScreen,
    secrets: Secrets,
) -> int:
    """Run all checks and return the exit status. `wall` gives seconds since 1970."""
    folder = (options.config or DEFAULT_FILE).absolute().parent
    keys = key_sources(reactor, environment, folder, secrets)
    world = tuple(game_checks(reactor, config, folder, keys, tries_login=options.login))
    request = DoctorRequest(
        config,
        folder,
        environment,
        wall,
        screen.show,
        screen.waiting,
        secrets,
        options.web,
        options.page or PAGE,
        load_tools(config.tools.modules, folder),
        None if world else keeper_in_trial(reactor, config.assistant, folder, wall),
        world,
    )
    return await examine(reactor, request)


# Any: the reactor has no one interface for time, network and threads.
def keeper_in_trial(
    reactor: Any, settings: AssistantConfig, folder: Path, wall: Callable[[], float], place: Place = HAMLET
) -> DayKeeper:
    """Return the character of a trial, in the first room of a place of its own.

    `folder` is that of the settings, `wall` gives seconds since 1970.
    """
    read = partial(read_days, character_folder(folder), settings.character)
    body = EmbeddedWorld(place, LocalClock(wall)).add(principal_of(settings))
    return DayKeeper(settings.name, partial(in_daemon_thread, reactor, READ_SECONDS, read), body, settings.tools)
