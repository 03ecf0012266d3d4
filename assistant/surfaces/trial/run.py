"""Runs one whole trial: a service of one assistant in the embedded world, with a visitor beside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from mud_assistant.assistant.models import offer
from mud_assistant.assistant.surfaces.standalone import Standalone, run_standalone
from mud_assistant.assistant.surfaces.trial.converse import Trial, TrialOptions


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_trial(
    reactor: Any,
    options: TrialOptions,
    environment: Mapping[str, str],
    beside: Callable[[Standalone, Trial], None] = lambda *_: None,
) -> int:
    """Run a trial and return its exit status. Cancelling ends it cleanly: nothing it started is left running.

    `beside` opens what runs as long as the trial does; it may raise AssistantError.
    """

    async def converse(program: Standalone) -> int:
        trial, progress = Trial(reactor, options, program.service), program.progress
        progress.tell_aside = trial.tell
        beside(program, trial)
        models = await trial.start()
        progress.note(f"{trial.assistant_name} thinks with {models[0].why}.")
        for model in models[1:]:
            progress.note(f"When that fails: {model.why}.")
        return await trial.converse()

    environment = offer.deciding(environment, is_watched=sys.stdin.isatty())
    return await run_standalone(reactor, options, environment, converse)
