"""Runs `mud-assistant gateway`: the models of the settings for other programs, without any assistant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred

from assistant.errors import AssistantError, complaint
from assistant.gateway.running import RunningGateway, ready
from assistant.surfaces.trial.converse import TrialOptions
from assistant.surfaces.trial.run import CANNOT_START, Progress, has_journal, service_of


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_gateway(reactor: Any, options: TrialOptions, environment: Mapping[str, str]) -> int:
    """Serve until it is cancelled, and return the exit status. Nothing that it started is left running."""
    progress = Progress(scrub=options.secrets.scrub)
    service = service_of(reactor, options, environment, progress)
    gateway: RunningGateway | None = None
    try:
        if not await has_journal(service, progress):
            return CANNOT_START
        gateway = RunningGateway(service, options.config.gateway)
        address = await gateway.open()
        progress.note(f"{ready(gateway, address)} Ctrl-C ends it.")
        await Deferred()  # fires only when it is cancelled, as Ctrl-C does
    except AssistantError as error:
        progress.note(complaint(error))
        return CANNOT_START
    finally:
        if gateway is not None:
            await gateway.close()
        await service.finish()
    return 0


def with_gateway_port(options: TrialOptions, port: int | None) -> TrialOptions:
    """Return the options with another port for the gateway, None for that of the settings."""
    if port is None:
        return options
    gateway = options.config.gateway.model_copy(update={"port": port})
    return replace(options, config=options.config.model_copy(update={"gateway": gateway}))
