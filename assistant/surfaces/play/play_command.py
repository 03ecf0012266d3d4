"""Runs `mud-assistant play`, in whichever of its ways."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.assistant.errors import AssistantError, complaint
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.starting import INTERRUPTED
from mud_assistant.assistant.surfaces.play.asked_first import ask_password, recording_wanted, told_of_recording
from mud_assistant.assistant.surfaces.standalone import CANNOT_START


# Any: the programs take options of their own kinds, and the reactor.
def play(
    options: argparse.Namespace,
    secrets: Secrets,
    standalone: Callable[..., int],
    run: Callable[[Callable[[Any], Coroutine[Deferred[Any], Any, int]]], int],
) -> int:
    """Play, record or replay, and return the exit status.

    `standalone` runs a program outside games, `run` any work that is given the reactor.
    """
    try:
        if options.replay:
            sys.stdout.write(f"{told_of_recording(options)}\n")
            return 0
        if options.record:
            wanted = recording_wanted(options)
            from mud_assistant.assistant.surfaces.play.recorded_session import run_recording  # noqa: PLC0415  (needs a terminal's calls, which not every system has)

            return run(partial(run_recording, wanted=wanted, secrets=secrets))
        typed = ask_password(options)
    except AssistantError as error:
        sys.stderr.write(f"{complaint(error)}\n")
        return CANNOT_START
    except (EOFError, KeyboardInterrupt):
        return INTERRUPTED

    def load() -> tuple[type[Any], Callable[..., Any]]:
        from mud_assistant.assistant.surfaces.play.watched_guest import PlayOptions, run_play  # noqa: PLC0415  (after the reactor is chosen)

        return PlayOptions, run_play

    return standalone(load, is_dry=options.dry, tracing=options.trace, typed_password=typed)
