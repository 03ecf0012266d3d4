"""Says where the character of a trial lives, for the doctor that looks at its day."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mud_assistant.assistant.characters import character_folder, read_days
from mud_assistant.assistant.checks.day_places import DayKeeper
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.surfaces.standalone import principal_of
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, Place
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld, LocalClock
from mud_assistant.resilience.background import in_daemon_thread

#: How long reading the character's file may take, in seconds.
READ_SECONDS = 30.0


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
