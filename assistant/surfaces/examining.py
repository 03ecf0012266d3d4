"""Puts together what `mud-assistant doctor` examines: the settings, and the world that their character lives in."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.checks.web import PAGE
from mud_assistant.assistant.config.playing import play
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import key_sources
from mud_assistant.assistant.runtime.own_tools import load_tools
from mud_assistant.assistant.surfaces.doctor import DoctorScreen
from mud_assistant.assistant.surfaces.trial.day_ground import keeper_in_trial
from mud_assistant.assistant.worlds.telnet.game_checks import game_checks


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
